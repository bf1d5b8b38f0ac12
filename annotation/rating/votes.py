"""Save first votes, lock them before the second stage, and submit HITs."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from annotation.allocation.lease import lock_and_extend_lease, reacquire_slot
from annotation.core.errors import FirstVotesLocked, Unacceptable, VotesMissing
from annotation.core.prepared import Prepared, PreparedUpdate
from annotation.models import Assignment, Display, Rating
from annotation.quality import hidden_checks, qualification
from annotation.quality.scoring import screen_name
from annotation.rating.client_report import ClientReport
from annotation.rating.store_vote import display_of, record_times, record_vote

FIRST, REVISED = Rating.Stage.FIRST, Rating.Stage.REVISED
_NO_REPORT = ClientReport()
_NO_TIMES: Mapping[str, ClientReport] = {}


@transaction.atomic
def save_vote(
    *, assignment: Assignment, pair_key: str, choice: str, at: datetime, report: ClientReport = _NO_REPORT
) -> Rating:
    """Call `take_vote` in a transaction."""
    return take_vote(assignment=assignment, pair_key=pair_key, choice=choice, at=at, report=report)


def take_vote(
    *, assignment: Assignment, pair_key: str, choice: str, at: datetime, report: ClientReport = _NO_REPORT
) -> Rating:
    """Save the annotator's choice on one pair of their HIT; it can be changed until the first votes are locked.

    A vote extends the lease. One after the lease expired is saved and marked late.
    Raises: UnknownName when the pair isn't on the HIT; Unacceptable when the choice isn't offered; AssignmentClosed;
    FirstVotesLocked; VoteConflict when another page has changed the choice since; ConsentNeeded.
    """
    locked = lock_and_extend_lease(assignment, at)
    display = display_of(locked.assignment, pair_key)
    if locked.assignment.locked_at is not None:
        raise FirstVotesLocked(_("The first choices of this HIT are closed; nothing was changed."))
    return record_vote(locked, display, FIRST, choice, at=at, report=report, arm=locked.assignment.arm)


@transaction.atomic
def lock_first_votes(
    *, assignment: Assignment, at: datetime, times: Mapping[str, ClientReport] = _NO_TIMES
) -> Assignment:
    """Lock the first votes of a two-stage HIT before any table is shown; idempotent.

    times : by pair key, the times up to now, some of which was spent after the vote
    Raises: VotesMissing naming the pairs by their place on the page; AssignmentClosed; Unacceptable when the HIT has
    no second stage.
    """
    locked = lock_and_extend_lease(assignment, at).assignment
    if not locked.arm:
        raise Unacceptable(_("This HIT has no second part. Please submit it."))
    if locked.locked_at is None:
        _refuse_missing(locked, FIRST)
        record_times(locked, FIRST, times, at)
        locked.locked_at = at
        locked.save(update_fields=["locked_at"])
    return locked


@transaction.atomic
def submit_assignment(
    *, assignment: Assignment, at: datetime, times: Mapping[str, ClientReport] = _NO_TIMES
) -> Assignment:
    """Call `close_hit` in a transaction."""
    return close_hit(assignment=assignment, at=at, times=times)


def close_hit(*, assignment: Assignment, at: datetime, times: Mapping[str, ClientReport] = _NO_TIMES) -> Assignment:
    """Submit a HIT whose pairs all have a vote, in both stages where there are two.

    times : by pair key, the times of its last stage up to now, some of which was spent after the vote
    An expired HIT is submitted too, marked late, and counts only if it reacquires a slot.
    Raises: AssignmentClosed; VotesMissing naming the pairs by their place on the page.
    """
    locked = lock_and_extend_lease(assignment, at, extend=False)
    assignment = locked.assignment
    _refuse_missing(assignment, FIRST)
    if assignment.arm:
        if assignment.locked_at is None:
            raise VotesMissing(_("Please close your first choices and look at every pair a second time."))
        _refuse_missing(assignment, REVISED)
    record_times(assignment, REVISED if assignment.arm else FIRST, times, at)
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
    """Return the pay due for a HIT at its submission; None where the study sets no pay."""
    study = assignment.hit.batch.study
    if study.pay_per_hit is None or assignment.purpose == Assignment.Purpose.QUALIFICATION:
        return None
    return study.pay_per_hit if is_counted(assignment) or study.pay_late else Decimal(0)


def _apply_quality_rules(assignment: Assignment, at: datetime) -> None:
    if assignment.purpose == Assignment.Purpose.QUALIFICATION:
        qualification.record_result(assignment.annotator, assignment.attempt, at)
    elif assignment.purpose in (Assignment.Purpose.GOLD, Assignment.Purpose.REPEAT):
        hidden_checks.apply_thresholds(assignment.annotator, at)


def places_without_vote(assignment: Assignment, stage: str = FIRST) -> list[int]:
    """List the places on the page (from 1) of the pairs without a vote of this stage."""
    return [position + 1 for position in _WITHOUT_VOTE.all(assignment=assignment.pk, stage=stage)]


def _without_vote(assignment: int, stage: str) -> "QuerySet[Display, int]":
    voted = Rating.objects.filter(display=OuterRef("pk"), stage=stage)
    displays = Display.objects.filter(~Exists(voted), assignment=assignment)
    return displays.order_by("position").values_list("position", flat=True)


_WITHOUT_VOTE = Prepared(_without_vote)


def _refuse_missing(assignment: Assignment, stage: str) -> None:
    if missing := places_without_vote(assignment, stage):
        listed = ", ".join(str(place) for place in missing)
        raise VotesMissing(_("Please rate every pair first; still open: %(places)s.") % {"places": listed}, missing)


def screen_choice(rating: Rating) -> str:
    """Return the choice as the annotator clicked it: by the side of the screen."""
    return str(screen_name(rating.verdict, rating.display))
