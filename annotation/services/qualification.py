"""The qualification: pairs with a known answer that an annotator rates, with feedback, before the first HIT."""

import math
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.errors import ClaimRefused
from annotation.keys import new_seed
from annotation.models import Annotator, Assignment, Batch, Hit, QualificationResult
from annotation.services.scoring import expected_verdict, first_verdicts, screen_name

_TEXTS = ("pair__generation_a", "pair__generation_b")
_SYSTEMS = ("pair__matchup__system_a", "pair__matchup__system_b")
QUALIFICATION = Assignment.Purpose.QUALIFICATION


@dataclass(frozen=True)
class Standing:
    """Where an annotator is with the study's qualification.

    required      : there is one, and it isn't passed yet
    awaits_retry  : an attempt failed, another is allowed and not begun
    """

    required: bool
    passed: bool
    attempts_used: int
    attempts_left: int
    last: QualificationResult | None
    awaits_retry: bool


@dataclass(frozen=True)
class Feedback:
    """One pair of a qualification HIT, on the sides that its annotator saw. Choices are left, none or right."""

    place: int
    left: str
    right: str
    chosen: str | None
    expected: str | None
    is_right: bool
    why: str


def standing(annotator: Annotator) -> Standing:
    """Return an annotator's standing."""
    results = list(annotator.qualification_results.order_by("attempt"))
    passed = any(result.passed for result in results)
    left = max(annotator.study.qualification_attempts - len(results), 0)
    return Standing(
        required=not passed and qualification_hits(annotator).exists(),
        passed=passed,
        attempts_used=len(results),
        attempts_left=left,
        last=results[-1] if results else None,
        awaits_retry=bool(results) and not passed and left > 0 and not _attempt(annotator, len(results) + 1).exists(),
    )


def qualification_hits(annotator: Annotator) -> QuerySet[Hit]:
    """Return the study's qualification HITs, in the order in which everybody gets them."""
    open_ones = Batch.objects.open().filter(study_id=annotator.study_id, purpose=Batch.Purpose.QUALIFICATION)
    return Hit.objects.filter(batch__in=open_ones).order_by("batch_id", "position")


def next_assignment(annotator: Annotator, at: datetime) -> Assignment | None:
    """Return the qualification HIT that this (locked) annotator is to rate next; None when nothing more is needed.

    Raises: ClaimRefused when the qualification wasn't passed.
    """
    found = standing(annotator)
    if not found.required:
        return None
    if found.awaits_retry or found.attempts_left == 0:
        raise ClaimRefused(_("The first HITs did not come out as this study needs it."))
    number = found.attempts_used + 1
    following = _following(annotator, number)
    if following is None:  # the set became smaller while they were at it
        settle(annotator, number, at)
        return next_assignment(annotator, at)
    return following


def _following(annotator: Annotator, number: int) -> Assignment | None:
    begun = {assignment.hit_id: assignment for assignment in _attempt(annotator, number)}
    for hit in qualification_hits(annotator).select_related("batch__study", "matchup__instance"):
        assignment = begun.get(hit.pk)
        if assignment is None:
            return Assignment(hit=hit, annotator=annotator, purpose=QUALIFICATION, attempt=number, seed=new_seed())
        if assignment.state != Assignment.State.SUBMITTED:
            return assignment
    return None


@transaction.atomic
def begin_attempt(*, annotator: Annotator, at: datetime) -> Assignment:
    """Open another attempt; its first HIT is the next that the annotator claims.

    Raises: ClaimRefused when none is allowed or none is due.
    """
    annotator = Annotator.objects.select_for_update(of=("self",)).select_related("study").get(pk=annotator.pk)
    found = standing(annotator)
    if not found.required or not found.awaits_retry:
        raise ClaimRefused(_("There is nothing to try again."))
    assignment = _following(annotator, found.attempts_used + 1)
    if assignment is None:
        raise ClaimRefused(_("There is nothing to try again."))
    assignment.state, assignment.claimed_at = Assignment.State.EXPIRED, at  # waits to be claimed
    assignment.save()
    return assignment


def settle(annotator: Annotator, number: int, at: datetime) -> QualificationResult | None:
    """Record how an attempt ended, once every HIT of it is submitted; None while some are missing."""
    if _following(annotator, number) is not None:
        return None
    right, asked = 0, 0
    for assignment in _attempt(annotator, number).filter(state=Assignment.State.SUBMITTED):
        verdicts = first_verdicts(assignment)
        for display in assignment.displays.select_related("pair__matchup__instance", *_SYSTEMS):
            asked += 1
            right += verdicts.get(display.pk) == expected_verdict(display.pair)
    needed = annotator.study.qualification_share
    result, _made = QualificationResult.objects.get_or_create(
        annotator=annotator,
        attempt=number,
        defaults={
            "pairs": asked,
            "right": right,
            "needed_share": needed,
            "passed": right >= pairs_needed(needed, asked),
            "finished_at": at,
        },
    )
    return result


def pairs_needed(share: float, asked: int) -> int:
    """Return how many pairs have to be right; 0.1 * 30 is 3, whatever floating point makes of it."""
    return math.ceil(round(share * asked, 9))


def is_latest(assignment: Assignment) -> bool:
    """Tell whether no later attempt has begun: its HITs are the same, and their answers no help to be had."""
    return not assignment.annotator.assignments.filter(purpose=QUALIFICATION, attempt__gt=assignment.attempt).exists()


def feedback(assignment: Assignment) -> list[Feedback]:
    """Return, for a submitted qualification HIT, each pair with what was answered and what was expected."""
    verdicts = first_verdicts(assignment)
    rows = []
    for display in assignment.displays.select_related(*_TEXTS, "pair__matchup__instance", *_SYSTEMS).order_by(
        "position"
    ):
        texts = (display.pair.generation_a.text, display.pair.generation_b.text)
        left, right = texts if display.a_is_left else texts[::-1]
        chosen, expected = verdicts.get(display.pk), expected_verdict(display.pair)
        rows.append(
            Feedback(
                place=display.position + 1,
                left=left,
                right=right,
                chosen=screen_name(chosen, display),
                expected=screen_name(expected, display),
                is_right=chosen is not None and chosen == expected,
                why=str((display.pair.matchup.instance.gold or {}).get("why", "")),
            )
        )
    return rows


def _attempt(annotator: Annotator, number: int) -> QuerySet[Assignment]:
    return annotator.assignments.filter(purpose=QUALIFICATION, attempt=number)
