"""Taking first votes, closing them before the second stage, and closing HITs."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from annotation.errors import FirstVotesLocked, Unacceptable, VotesMissing
from annotation.models import Assignment, Display, Rating
from annotation.prepared import Prepared, PreparedUpdate
from annotation.services import checks, qualification
from annotation.services.holding import hold, regain
from annotation.services.recording import display_of, record
from annotation.services.scoring import screen_name
from annotation.services.sending import Sent

FIRST, REVISED = Rating.Stage.FIRST, Rating.Stage.REVISED
_NOTHING_SENT = Sent()


@transaction.atomic
def save_vote(
    *, assignment: Assignment, pair_key: str, choice: str, at: datetime, sent: Sent = _NOTHING_SENT
) -> Rating:
    """Do what `take_vote` does, in a transaction of its own."""
    return take_vote(assignment=assignment, pair_key=pair_key, choice=choice, at=at, sent=sent)


def take_vote(
    *, assignment: Assignment, pair_key: str, choice: str, at: datetime, sent: Sent = _NOTHING_SENT
) -> Rating:
    """Take the annotator's choice on one pair of their HIT; it may be changed until the first votes are closed.

    Activity extends the lease. A vote after the claim ran out is taken and marked late.
    Raises: UnknownName when the pair isn't on the HIT; Unacceptable when the choice isn't offered; AssignmentClosed;
    FirstVotesLocked; VoteConflict when another page has changed the choice since; ConsentNeeded.
    """
    held = hold(assignment, at)
    display = display_of(held.assignment, pair_key)
    if held.assignment.locked_at is not None:
        raise FirstVotesLocked(_("The first choices of this HIT are closed; nothing was changed."))
    return record(held, display, FIRST, choice, at=at, sent=sent, arm=held.assignment.arm)


@transaction.atomic
def lock_first_votes(*, assignment: Assignment, at: datetime) -> Assignment:
    """Close the first votes of a two-stage HIT, so that no table can colour them; closing them again changes nothing.

    Raises: VotesMissing naming the pairs by their place on the page; AssignmentClosed; Unacceptable when the HIT has
    no second stage.
    """
    held = hold(assignment, at).assignment
    if not held.arm:
        raise Unacceptable(_("This HIT has no second part. Please submit it."))
    if held.locked_at is None:
        _refuse_missing(held, FIRST)
        held.locked_at = at
        held.save(update_fields=["locked_at"])
    return held


@transaction.atomic
def submit_assignment(*, assignment: Assignment, at: datetime) -> Assignment:
    """Do what `close_hit` does, in a transaction of its own."""
    return close_hit(assignment=assignment, at=at)


def close_hit(*, assignment: Assignment, at: datetime) -> Assignment:
    """Close a HIT whose pairs all have a vote, in both stages where there are two.

    After its time it is taken too, marked late, and counts only if its slot is still unfilled.
    Raises: AssignmentClosed; VotesMissing naming the pairs by their place on the page.
    """
    held = hold(assignment, at, extend=False)
    assignment = held.assignment
    _refuse_missing(assignment, FIRST)
    if assignment.arm:
        if assignment.locked_at is None:
            raise VotesMissing(_("Please close your first choices and look at every pair a second time."))
        _refuse_missing(assignment, REVISED)
    if assignment.state == Assignment.State.EXPIRED:
        regain(assignment)
    assignment.state = Assignment.State.SUBMITTED
    assignment.submitted_at = at
    assignment.expires_at = None
    had = assignment.late, assignment.pay_due
    assignment.late = held.late
    assignment.pay_due = _pay(assignment)
    if (assignment.late, assignment.pay_due) == had:  # mostly: in time, and without pay
        _SUBMITTED.run(assignment=assignment.pk, at=at)
    else:
        assignment.save(update_fields=["state", "submitted_at", "expires_at", "late", "pay_due"])
    _judge_rater(assignment, at)
    return assignment


def _submitted(assignment: int, at: datetime) -> tuple[QuerySet[Assignment], dict[str, Any]]:
    changes = {"state": Assignment.State.SUBMITTED, "submitted_at": at, "expires_at": None}
    return Assignment.objects.filter(pk=assignment), changes


_SUBMITTED = PreparedUpdate(_submitted)


def is_counted(assignment: Assignment) -> bool:
    """Tell whether a submitted HIT counts: False when it came late and another rater had its place.

    Qualifications and checks have no place to lose, nor has a HIT that was claimed until then.
    """
    return assignment.purpose != Assignment.Purpose.RATING or not assignment.late or hasattr(assignment, "slot")


def _pay(assignment: Assignment) -> Decimal | None:
    """Return what is owed for a HIT at the moment of its submission; None where the study names no pay."""
    study = assignment.hit.batch.study
    if study.pay_per_hit is None or assignment.purpose == Assignment.Purpose.QUALIFICATION:
        return None
    return study.pay_per_hit if is_counted(assignment) or study.pay_late else Decimal(0)


def _judge_rater(assignment: Assignment, at: datetime) -> None:
    if assignment.purpose == Assignment.Purpose.QUALIFICATION:
        qualification.settle(assignment.annotator, assignment.attempt, at)
    elif assignment.purpose in (Assignment.Purpose.GOLD, Assignment.Purpose.REPEAT):
        checks.apply_thresholds(assignment.annotator, at)


def places_without_vote(assignment: Assignment, stage: str = FIRST) -> list[int]:
    """List the places on the page (from 1) of the pairs that have no vote of this stage."""
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
    """Return what the annotator clicked: the vote turned back to the side of the screen."""
    return str(screen_name(rating.verdict, rating.display))
