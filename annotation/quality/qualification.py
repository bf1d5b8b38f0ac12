"""The qualification: HITs with known answers that an annotator rates, with feedback, before their first HIT."""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _

from annotation.core.counting import counted
from annotation.core.errors import ClaimRefused
from annotation.core.keys import new_seed
from annotation.models import (
    Annotator,
    Assignment,
    Batch,
    Display,
    Hit,
    HitPair,
    Pair,
    QualificationResult,
    Rating,
    Study,
)
from annotation.questions.questions import MAIN, Answer
from annotation.studies.instances import gold_verdict

_TEXTS = ("pair__generation_a", "pair__generation_b")
_SYSTEMS = ("pair__matchup__system_a", "pair__matchup__system_b")
QUALIFICATION = Assignment.Purpose.QUALIFICATION


@dataclass(frozen=True)
class QualificationStatus:
    """An annotator's progress in the study's qualification.

    required      : there is one, and it isn't passed yet
    awaits_retry  : an attempt failed, and another is allowed and not begun
    """

    required: bool
    passed: bool
    attempts_used: int
    attempts_left: int
    last: QualificationResult | None
    awaits_retry: bool


def qualification_status(annotator: Annotator) -> QualificationStatus:
    """Return an annotator's progress in the qualification."""
    results = list(annotator.qualification_results.order_by("attempt"))
    passed = any(result.passed for result in results)
    attempts_left = max(annotator.study.qualification_attempts - len(results), 0)
    return QualificationStatus(
        required=not passed and qualification_hits(annotator).exists(),
        passed=passed,
        attempts_used=len(results),
        attempts_left=attempts_left,
        last=results[-1] if results else None,
        awaits_retry=bool(results)
        and not passed
        and attempts_left > 0
        and not _attempt(annotator, len(results) + 1).exists(),
    )


def qualification_hits(annotator: Annotator) -> QuerySet[Hit]:
    """Return the study's qualification HITs, in the order in which attempts use them."""
    open_ones = Batch.objects.open().filter(study_id=annotator.study_id, purpose=Batch.Purpose.QUALIFICATION)
    return Hit.objects.filter(batch__in=open_ones).order_by("batch_id", "position")


def next_assignment(annotator: Annotator, at: datetime) -> Assignment | None:
    """Return the next qualification HIT of this (locked) annotator, or None when no more is needed.

    Raises: ClaimRefused when the qualification wasn't passed.
    """
    status = qualification_status(annotator)
    if not status.required:
        return None
    if status.awaits_retry or status.attempts_left == 0:
        raise ClaimRefused(_("You did not pass the qualification for this study."))
    number = status.attempts_used + 1
    following = _next_in_attempt(annotator, number)
    if following is None:  # a qualification batch was closed during the attempt
        record_result(annotator, number, at)
        return next_assignment(annotator, at)
    return following


def _next_in_attempt(annotator: Annotator, number: int) -> Assignment | None:
    """Return the next HIT of an attempt: an unfinished one, else one of an instance that no earlier attempt had.

    Without such, instances of earlier attempts come again. None when the attempt has all its HITs.
    """
    begun = {assignment.hit_id: assignment for assignment in _attempt(annotator, number)}
    hits = list(qualification_hits(annotator).select_related("batch__study", "matchup__instance"))
    for hit in hits:
        if (assignment := begun.get(hit.pk)) is not None and assignment.state != Assignment.State.SUBMITTED:
            return assignment
    done = sum(assignment.state == Assignment.State.SUBMITTED for assignment in begun.values())
    remaining = [hit for hit in hits if hit.pk not in begun]
    if not remaining or done >= (annotator.study.qualification_hits or math.inf):
        return None
    earlier = _instances_seen(annotator.assignments.filter(attempt__lt=number))
    hit = min(remaining, key=lambda hit: hit.matchup.instance_id in earlier)
    return Assignment(hit=hit, annotator=annotator, purpose=QUALIFICATION, attempt=number, seed=new_seed())


def hits_in_attempt(annotator: Annotator) -> int:
    """Return the number of HITs in one attempt."""
    available = qualification_hits(annotator).count()
    return min(annotator.study.qualification_hits or available, available)


@transaction.atomic
def begin_attempt(*, annotator: Annotator, at: datetime) -> Assignment:
    """Begin another attempt. The annotator's next claim gets its first HIT.

    Raises: ClaimRefused when none is allowed or due.
    """
    annotator = Annotator.objects.select_for_update(of=("self",)).select_related("study").get(pk=annotator.pk)
    status = qualification_status(annotator)
    if not status.required or not status.awaits_retry:
        raise ClaimRefused(_("There is nothing to try again."))
    assignment = _next_in_attempt(annotator, status.attempts_used + 1)
    if assignment is None:
        raise ClaimRefused(_("There is nothing to try again."))
    assignment.state, assignment.claimed_at = Assignment.State.EXPIRED, at  # waits to be claimed
    assignment.save()
    return assignment


def record_result(annotator: Annotator, number: int, at: datetime) -> QualificationResult | None:
    """Record the result of an attempt whose HITs are all submitted. Return None while some are missing."""
    if _next_in_attempt(annotator, number) is not None:
        return None
    right, total = 0, 0
    for assignment in _attempt(annotator, number).filter(state=Assignment.State.SUBMITTED):
        verdicts = first_verdicts(assignment)
        for display in assignment.displays.select_related("pair__matchup__instance", *_SYSTEMS):
            total += 1
            right += verdicts.get(display.pk) == expected_verdict(display.pair)
    needed = annotator.study.qualification_share
    result, _created = QualificationResult.objects.get_or_create(
        annotator=annotator,
        attempt=number,
        defaults={
            "pairs": total,
            "right": right,
            "needed_share": needed,
            "passed": right >= pairs_needed(needed, total),
            "finished_at": at,
        },
    )
    return result


def pairs_needed(share: float, total: int) -> int:
    """Return how many pairs have to be right. The product is rounded first: 0.1 * 30 > 3 in floating point."""
    return math.ceil(round(share * total, 9))


def may_show_answers(annotator: Annotator) -> bool:
    """Tell whether an annotator may see the expected answers: after the last attempt, or if all further HITs are new."""
    status = qualification_status(annotator)
    if status.passed or not status.attempts_left:
        return True
    seen_instances = _instances_seen(annotator.assignments.all())
    unseen = set(qualification_hits(annotator).values_list("matchup__instance_id", flat=True)) - seen_instances
    begun = _attempt(annotator, status.attempts_used + 1).count()
    return len(unseen) >= hits_in_attempt(annotator) * status.attempts_left - begun


def answered(annotator: Annotator) -> QuerySet[Assignment]:
    """Return an annotator's submitted qualification HITs, in the order of rating."""
    submitted = annotator.assignments.filter(purpose=QUALIFICATION, state=Assignment.State.SUBMITTED)
    return submitted.order_by("submitted_at", "pk")


def too_few_hits(study: Study) -> str:
    """Return a notice when a qualification has too few HITs for different attempts, or an empty string."""
    batches = Batch.objects.filter(study=study, purpose=Batch.Purpose.QUALIFICATION)
    hits = Hit.objects.filter(batch__in=batches.exclude(status=Batch.Status.CLOSED))
    counts = hits.aggregate(instances=Count("matchup__instance", distinct=True), hits=Count("pk", distinct=True))
    available = counts["instances"]
    needed = study.qualification_attempts * (study.qualification_hits or counts["hits"])
    if not available or study.qualification_attempts == 1 or needed <= available:
        return ""
    pairs = HitPair.objects.filter(hit__in=hits).count() / counts["hits"]
    return (
        f"The qualification has {counted(available, 'HITs')} ({counted(round(available * pairs), 'pairs')}) of "
        f"different instances; for {study.qualification_attempts} attempts with new ones it needs "
        f"{counted(needed, 'HITs')} ({counted(math.ceil(needed * pairs), 'pairs')}). Until then a further attempt "
        "repeats HITs, and the expected answers are shown only after the last attempt. Set fewer HITs per attempt "
        "or fewer attempts in the settings, or create another qualification batch."
    )


def feedback(assignment: Assignment) -> list[dict[str, Any]]:
    """Return each pair of a submitted qualification HIT with the given and the expected answer.

    The pairs are as their annotator saw them: choices are left, none or right.
    """
    verdicts = first_verdicts(assignment)
    rows = []
    for display in assignment.displays.select_related(*_TEXTS, "pair__matchup__instance", *_SYSTEMS).order_by(
        "position"
    ):
        texts = (display.pair.generation_a.content, display.pair.generation_b.content)
        left_text, right_text = texts if display.a_is_left else texts[::-1]
        choice, expected = verdicts.get(display.pk), expected_verdict(display.pair)
        rows.append(
            {
                "place": display.position + 1,
                "left": left_text,
                "right": right_text,
                "chosen": screen_side(choice, display),
                "expected": screen_side(expected, display),
                "is_right": choice is not None and choice == expected,
                "why": str((display.pair.matchup.instance.gold or {}).get("why", "")),
            }
        )
    return rows


def _attempt(annotator: Annotator, number: int) -> QuerySet[Assignment]:
    return annotator.assignments.filter(purpose=QUALIFICATION, attempt=number)


def _instances_seen(assignments: QuerySet[Assignment]) -> set[int]:
    """Return the instances of those of an annotator's assignments that are for the qualification."""
    return set(assignments.filter(purpose=QUALIFICATION).values_list("hit__matchup__instance_id", flat=True))


def screen_side(verdict: int | None, display: Display) -> str | None:
    """Turn a verdict back to the side of this rater's screen: left, none or right."""
    return None if verdict is None else display.screen_choice(Answer(verdict))


def first_verdicts(assignment: Assignment) -> dict[int, int]:
    """Return display's primary key → first verdict."""
    rows = Rating.objects.for_question(MAIN).filter(display__assignment=assignment, stage=Rating.Stage.FIRST)
    return dict(rows.values_list("display_id", "verdict"))


def expected_verdict(pair: Pair) -> int | None:
    """Return the verdict of the instance's gold on a pair, or None where it says nothing about these systems."""
    matchup = pair.matchup
    return gold_verdict(matchup.instance.gold, matchup.system_a.name, matchup.system_b.name)
