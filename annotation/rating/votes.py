"""Save first votes, lock them before the second stage, and submit HITs."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import BooleanField, Count, Exists, ExpressionWrapper, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, Length
from django.db.models.lookups import GreaterThanOrEqual
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.allocation.lease import LockedHit, extend_lease, lock_hit, reacquire_slot
from annotation.core.database.prepared import Prepared, PreparedUpdate
from annotation.core.errors import FirstVotesLocked, Unacceptable, VotesMissing
from annotation.models import Assignment, Display, Rating, Study
from annotation.models.studies import FirstReason
from annotation.quality import hidden_checks, qualification
from annotation.questions.questions import MAIN
from annotation.rating.store_vote import (
    VOTED,
    ClientReport,
    VotedDisplay,
    cleaned_reason,
    display_of,
    record_times,
    record_vote,
    with_main_vote,
)

FIRST, REVISED = Rating.Stage.FIRST, Rating.Stage.REVISED
_NO_REPORT = ClientReport()
_NO_TIMES: Mapping[str, ClientReport] = {}


@transaction.atomic
def save_vote(*, assignment: Assignment, pair_key: str, choice: str, at: datetime, **more: Any) -> Rating:
    """Call `take_vote` in a transaction."""
    return take_vote(lock_hit(assignment), pair_key=pair_key, choice=choice, at=at, **more)


def take_vote(
    hit: LockedHit,
    *,
    pair_key: str,
    choice: str,
    at: datetime,
    report: ClientReport = _NO_REPORT,
    question: int = MAIN,
    reason: str | None = None,
    revises: bool = False,
) -> Rating:
    """Save the annotator's choice on one pair of their HIT. It can be changed until the first votes are locked.

    A vote extends the lease. One after the lease expired is saved and marked late.
    reason : for the choice on the main question, where the study asks for one; None keeps the one given before. It may
             still be too short: `close_hit` and `lock_first_votes` ask for its length.
    revises : change a HIT that was submitted shortly before, see `annotation.allocation.revision`
    Raises: UnknownName when the pair isn't on the HIT; Unacceptable when the choice or the question isn't offered, or
    the reason is too long; AssignmentClosed; FirstVotesLocked; VoteConflict when another page has changed the choice
    since; ConsentNeeded.
    """
    locked = extend_lease(hit, at, revises=revises)
    study = locked.assignment.hit.batch.study
    display = display_of(locked.assignment, pair_key, question)
    if locked.assignment.locked_at is not None:
        raise FirstVotesLocked(_("The first choices of this HIT are closed; nothing was changed."))
    if not 0 <= question < len(study.questions):
        raise Unacceptable(_("That question is not asked. Please load the page again."))
    if study.first_reason == FirstReason.OFF or question != MAIN:
        reason = None
    if locked.assignment.submitted_at and reason is not None:
        _require_reason(study, reason)
    return record_vote(
        locked,
        display,
        FIRST,
        choice,
        at=at,
        report=report,
        question=question,
        reason=reason if reason is None else cleaned_reason(reason),
        arm=locked.assignment.arm,
    )


def _require_reason(study: Study, reason: str) -> None:
    """Refuse a reason that a submission would not have been taken with."""
    minimum = asked_in(study, FIRST)["minimum"]
    if len(cleaned_reason(reason)) < minimum:
        raise Unacceptable(
            ngettext(
                "Please say why, in %(least)d character or more.",
                "Please say why, in %(least)d characters or more.",
                minimum,
            )
            % {"least": minimum}
        )


@transaction.atomic
def lock_first_votes(
    *, assignment: Assignment, at: datetime, times: Mapping[str, ClientReport] = _NO_TIMES
) -> Assignment:
    """Lock the first votes of a two-stage HIT before any table is shown. Idempotent.

    times : by pair key, the times up to now, some of which was spent after the vote
    Raises: VotesMissing naming the pairs by their place on the page; AssignmentClosed; Unacceptable when the HIT has
    no second stage.
    """
    locked = extend_lease(lock_hit(assignment), at).assignment
    if not locked.arm:
        raise Unacceptable(_("This HIT has no second part. Please submit it."))
    if locked.locked_at is None:
        record_times(locked, FIRST, _rated_displays(locked, FIRST), times, at)
        locked.locked_at = at
        locked.save(update_fields=["locked_at"])
    return locked


@transaction.atomic
def submit_assignment(
    *, assignment: Assignment, at: datetime, times: Mapping[str, ClientReport] = _NO_TIMES
) -> Assignment:
    """Call `close_hit` in a transaction."""
    return close_hit(lock_hit(assignment), at=at, times=times)


def close_hit(hit: LockedHit, *, at: datetime, times: Mapping[str, ClientReport] = _NO_TIMES) -> Assignment:
    """Submit a HIT whose pairs all have a vote, in both stages where there are two.

    times : by pair key, the times of its last stage up to now, some of which was spent after the vote
    An expired HIT is submitted too, marked late, and counts only if it reacquires a slot.
    Raises: AssignmentClosed; VotesMissing naming the pairs by their place on the page.
    """
    locked = extend_lease(hit, at, extend=False)
    assignment = locked.assignment
    stage, displays = FIRST, _rated_displays(assignment, FIRST)
    if assignment.arm:
        if assignment.locked_at is None:
            raise VotesMissing(_("Please close your first choices and look at every pair a second time."))
        stage, displays = REVISED, _rated_displays(assignment, REVISED)
    record_times(assignment, stage, displays, times, at)
    if assignment.state == Assignment.State.EXPIRED:
        reacquire_slot(assignment)
    assignment.state = Assignment.State.SUBMITTED
    assignment.submitted_at = at
    assignment.expires_at = None
    before = assignment.late, assignment.pay_due
    assignment.late = locked.late
    assignment.pay_due = _pay(assignment)
    if (assignment.late, assignment.pay_due) == before:  # the usual case: in time, and without pay
        _SUBMITTED.run(assignment=assignment.pk, at=at)
    else:
        assignment.save(update_fields=["state", "submitted_at", "expires_at", "late", "pay_due"])
    _apply_quality_rules(assignment, at)
    return assignment


def _submitted(assignment: int, at: datetime) -> tuple[QuerySet[Assignment], dict[str, Any]]:
    changes = {"state": Assignment.State.SUBMITTED, "submitted_at": at, "expires_at": None}
    return Assignment.objects.filter(pk=assignment), changes


_SUBMITTED = PreparedUpdate(_submitted)


# `is_counted` as a condition on submitted assignments.
IS_COUNTED = ~Q(purpose=Assignment.Purpose.RATING) | Q(late=False) | Q(slot__isnull=False)


def is_counted(assignment: Assignment) -> bool:
    """Tell whether a submitted HIT counts: False when it was late and has no slot.

    Qualifications and checks need no slot.
    """
    return assignment.purpose != Assignment.Purpose.RATING or not assignment.late or hasattr(assignment, "slot")


def _pay(assignment: Assignment) -> Decimal | None:
    """Return the pay due for a HIT at its submission, or None where the study sets no pay."""
    study = assignment.hit.batch.study
    if assignment.purpose == Assignment.Purpose.QUALIFICATION:
        return None
    return study.pay_for(1 if is_counted(assignment) or study.pay_late else 0)


def _apply_quality_rules(assignment: Assignment, at: datetime) -> None:
    if assignment.purpose == Assignment.Purpose.QUALIFICATION:
        qualification.record_result(assignment.annotator, assignment.attempt, at)
    elif assignment.purpose in (Assignment.Purpose.GOLD, Assignment.Purpose.REPEAT):
        hidden_checks.apply_thresholds(assignment.annotator, at)


def places_without_vote(assignment: Assignment) -> list[int]:
    """List the places on the page (from 1) of the pairs on which something that the first stage asks for is missing."""
    return _places_open(_displays(assignment, FIRST))


def _displays(assignment: Assignment, stage: str) -> list[VotedDisplay]:
    rows = _DISPLAYS.all(assignment=assignment.pk, stage=stage, **asked_in(assignment.hit.batch.study, stage))
    return [VotedDisplay(*row) for row in rows]


def _places_open(displays: Iterable[VotedDisplay]) -> list[int]:
    return [display.position + 1 for display in displays if not display.answered]


def asked_in(study: Study, stage: str) -> dict[str, int]:
    """Return what a stage asks for on each pair, as values for `is_answered`.

    questions : the number of questions
    minimum   : the length that the reason for the main choice must have
    """
    if stage == REVISED:  # which requires its reasons vote by vote
        return {"questions": 1, "minimum": 0}
    needed = study.first_reason == FirstReason.REQUIRED
    return {"questions": len(study.questions), "minimum": study.first_reason_min_length if needed else 0}


def is_answered(stage: str, questions: int, minimum: int) -> Q:
    """Return the condition on displays that all is there which a stage asks for (see `asked_in`)."""
    answers = Rating.objects.filter(display=OuterRef("pk"), stage=stage).order_by()
    counted = Subquery(answers.values("display").annotate(count=Count("pk")).values("count"))
    main = Rating.objects.for_question(MAIN).filter(display=OuterRef("pk"), stage=stage)
    reasoned = main.annotate(length=Length("reason")).filter(length__gte=minimum)
    return Q(Exists(reasoned)) & Q(GreaterThanOrEqual(Coalesce(counted, 0), questions))


def _of_stage(assignment: int, stage: str, questions: int, minimum: int) -> "QuerySet[Display, Any]":
    answered = ExpressionWrapper(is_answered(stage, questions, minimum), BooleanField())
    displays = with_main_vote(Display.objects.filter(assignment=assignment).annotate(answered=answered), stage)
    return displays.order_by("position").values_list(*VOTED)


_DISPLAYS = Prepared(_of_stage)


def _rated_displays(assignment: Assignment, stage: str) -> list[VotedDisplay]:
    """Return the displays of a stage in which every pair is rated. Raises: VotesMissing."""
    displays = _displays(assignment, stage)
    if missing := _places_open(displays):
        listed = ", ".join(str(index) for index in missing)
        raise VotesMissing(_("Please rate every pair first; still open: %(places)s.") % {"places": listed}, missing)
    return displays
