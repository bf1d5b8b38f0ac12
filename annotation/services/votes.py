"""Taking votes and closing HITs."""

from datetime import datetime, timedelta

from django.db import transaction

from annotation.errors import AssignmentClosed, ConsentNeeded, UnknownName, VotesMissing
from annotation.models import Annotator, Assignment, Batch, Rating, Slot
from annotation.services.consent import has_consented
from annotation.version import VERSION

_SCREEN = {"left": -1, "none": 0, "right": 1}


@transaction.atomic
def save_vote(*, assignment: Assignment, pair_key: str, choice: str, at: datetime) -> Rating:
    """Take the annotator's choice on one pair of their HIT; it may be changed until the HIT is submitted.

    Activity extends the lease.
    Raises: UnknownName when the pair isn't on the HIT or the choice isn't offered; AssignmentClosed.
    """
    assignment = _hold(assignment, at)
    display = assignment.displays.filter(pair__key=pair_key).first()
    if display is None:
        raise UnknownName("That pair is not on this page. Please load the page again.")
    if choice not in assignment.hit.batch.study.offered_choices:
        raise UnknownName(f"{choice!r} is not one of the choices on offer.")
    screen = _SCREEN[choice]
    rating, _ = Rating.objects.update_or_create(
        display=display,
        stage=Rating.Stage.FIRST,
        defaults={
            # The one place where a choice on the screen is turned into study order.
            "verdict": screen if display.a_is_left else -screen,
            "rated_at": at,
            "software_version": VERSION,
        },
    )
    return rating


@transaction.atomic
def submit_assignment(*, assignment: Assignment, at: datetime) -> Assignment:
    """Close a HIT whose pairs all have a vote.

    Raises: AssignmentClosed; VotesMissing naming the pairs by their place on the page.
    """
    assignment = _hold(assignment, at)
    if missing := places_without_vote(assignment):
        listed = ", ".join(str(place) for place in missing)
        raise VotesMissing(f"Please rate every pair first; still open: {listed}.")
    assignment.state = Assignment.State.SUBMITTED
    assignment.submitted_at = at
    assignment.expires_at = None
    assignment.save()
    return assignment


def places_without_vote(assignment: Assignment) -> list[int]:
    """List the places on the page (from 1) of the pairs that have no first vote."""
    voted = Rating.objects.filter(display__assignment=assignment, stage=Rating.Stage.FIRST)
    open_displays = assignment.displays.exclude(pk__in=voted.values("display_id")).order_by("position")
    return [position + 1 for position in open_displays.values_list("position", flat=True)]


def screen_choice(rating: Rating) -> str:
    """Return what the annotator clicked: the vote turned back to the side of the screen."""
    screen = rating.verdict if rating.display.a_is_left else -rating.verdict
    return {value: name for name, value in _SCREEN.items()}[screen]


def _hold(assignment: Assignment, at: datetime) -> Assignment:
    """Lock an open assignment and extend its lease; one that ran out gets a slot of its HIT again if one is free.

    Raises: AssignmentClosed; ConsentNeeded when the annotator hasn't accepted the current text, or no longer does.
    """
    # As a claim does, so that one person's tabs take turns.
    annotator = (
        Annotator.objects.select_for_update(of=("self",)).select_related("study").get(pk=assignment.annotator_id)
    )
    assignment = (
        Assignment.objects.select_for_update(of=("self",)).select_related("hit__batch__study").get(pk=assignment.pk)
    )
    if assignment.state == Assignment.State.SUBMITTED:
        raise AssignmentClosed("This HIT was submitted before; nothing was changed.")
    if annotator.excluded:
        raise AssignmentClosed("Your work in this study has ended; nothing was changed. Thank you.")
    if not has_consented(annotator):
        raise ConsentNeeded("Please answer the consent question first; nothing was changed.")
    if assignment.state == Assignment.State.EXPIRED:
        _take_again(assignment)
    assignment.state = Assignment.State.CLAIMED
    assignment.expires_at = at + timedelta(minutes=assignment.hit.batch.lease_minutes)
    assignment.save(update_fields=["state", "expires_at"])
    return assignment


def _take_again(assignment: Assignment) -> None:
    """Give a claim that ran out a slot of its HIT again, unless its annotator has gone on or no slot is free.

    Raises: AssignmentClosed.
    """
    others = assignment.annotator.assignments.exclude(state=Assignment.State.EXPIRED)
    went_on = others.filter(state=Assignment.State.CLAIMED) | others.filter(hit__matchup_id=assignment.hit.matchup_id)
    free = Slot.objects.free().filter(hit=assignment.hit_id)
    closed = assignment.hit.batch.status != Batch.Status.OPEN
    slot = None if closed or went_on.exists() else free.select_for_update(skip_locked=True).order_by("number").first()
    if slot is None:
        raise AssignmentClosed(
            "Your time for this HIT ran out, and it is no longer open to you. Your votes so far are kept, "
            "but can't be counted. Please go on with the next HIT."
        )
    slot.assignment = assignment
    slot.save(update_fields=["assignment"])
