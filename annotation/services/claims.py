"""Giving out HITs and taking them back: one short transaction a claim, safe on both databases."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, QuerySet
from django.utils.translation import gettext as _

from annotation.errors import AssignmentClosed, ClaimRefused, ConsentNeeded, Unacceptable
from annotation.keys import new_seed
from annotation.models import Annotator, Assignment, Batch, Display, Slot
from annotation.models.work import SlotQuerySet
from annotation.prepared import Prepared, PreparedInsert, PreparedUpdate
from annotation.services import qualification, queue
from annotation.services.arms import arm_of, arm_of_rater
from annotation.services.checks import CHECKS, next_check
from annotation.services.consent import accepted, has_consented
from annotation.services.displays import draw_displays
from annotation.services.holding import refuse_over
from annotation.services.slots import release_expired, reopen_slots
from annotation.services.waiting import ended, why_nothing

__all__ = [
    "claim_hit",
    "claimable_slots",
    "has_work",
    "hits_ahead",
    "open_claim",
    "release_expired",
    "return_hit",
    "why_nothing",
]


def _begun(annotator: int) -> QuerySet[Assignment]:
    states = (Assignment.State.CLAIMED, Assignment.State.EXPIRED)
    return Assignment.objects.filter(annotator=annotator, state__in=states).order_by("pk")


def _with_lock(annotator: int, at: datetime) -> QuerySet[Annotator]:
    locked = Annotator.objects.select_for_update(of=("self",)).select_related("study").filter(pk=annotator).order_by()
    return locked.annotate(
        accepted=accepted("pk", "study__consent_version"),
        any_expired=Exists(Assignment.objects.expired(at).order_by()),
    )


def _taken(slot: int, assignment: int) -> tuple[QuerySet[Slot], dict[str, Any]]:
    return Slot.objects.filter(pk=slot), {"assignment": assignment}


_BEGUN, _LOCKED, _TAKEN = Prepared(_begun), Prepared(_with_lock), PreparedUpdate(_taken)
_NEW_ASSIGNMENT, _NEW_DISPLAYS = PreparedInsert(Assignment), PreparedInsert(Display)
MOST_AHEAD = 100
LONGEST_COMMENT = 2000


def claim_hit(*, annotator: Annotator, at: datetime) -> Assignment:
    """Return the annotator's open HIT, or claim the next one for them.

    A qualification comes before everything; then a HIT that they began and whose time ran out; then, at the batch's
    rates, a hidden check; else the HIT with the fewest filled or claimed slots, within every cap and the balance of
    arms. None is given twice to one annotator (declared repeats aside), nor one of a matchup that they have rated.
    Raises: ConsentNeeded; ClaimRefused saying why there is nothing to rate.
    """
    claimed = _claim(annotator, at)
    if claimed is None:
        release_expired(at=at)  # a transaction of its own: it stands even if there is nothing for this annotator
        claimed = _claim(annotator, at, look_for_expired=False)
    if claimed is None:
        raise TypeError("a claim that looks for no expired one has an outcome")
    return claimed


@transaction.atomic
def _claim(annotator: Annotator, at: datetime, *, look_for_expired: bool = True) -> Assignment | None:
    """Do what `claim_hit` does; None, and nothing done, when others' claims have run out and are to be freed first."""
    annotator = _locked(annotator, at)
    if look_for_expired and annotator.any_expired:  # type: ignore[attr-defined]
        return None
    if ended(annotator):
        raise ClaimRefused(why_nothing(annotator, at))
    if not has_consented(annotator):
        raise ConsentNeeded(_("Please answer the consent question first."))
    # Asked by itself: what the statement that waited for the lock found beside it is from before it got it.
    begun = _BEGUN.all(annotator=annotator.pk)
    if current := next((one for one in begun if one.state == Assignment.State.CLAIMED), None):
        return current
    batches = queue.open_batches(annotator)
    qualifies = any(batch.purpose == Batch.Purpose.QUALIFICATION for batch in batches)
    if qualifies and (asked := qualification.next_assignment(annotator, at)) is not None:
        return _begin(asked, at)
    if begun and (resumed := _resume(annotator, begun, batches, at)) is not None:
        return resumed
    return _next(annotator, batches, at)


def _next(annotator: Annotator, batches: Sequence[Batch], at: datetime) -> Assignment:
    """Give out the next HIT of the queue, or the hidden check that comes before it."""
    rating = queue.for_rating(annotator, batches)
    # A draw that leads to no HIT is undone with this transaction, so that whoever only looked in moves no balance.
    slot = queue.lock_next(annotator, rating, arm_of_rater(annotator)) if rating else None
    if slot is None:
        raise ClaimRefused(why_nothing(annotator, at))
    batch = next(one for one in rating if one.pk == slot.batch_id)
    if (check := next_check(annotator, batch)) is not None:
        return _begin(check, at)
    slot.hit.batch = batch
    return _fill(slot, Assignment(hit=slot.hit, annotator=annotator, seed=new_seed()), at)


def _resume(
    annotator: Annotator, begun: Sequence[Assignment], batches: Sequence[Batch], at: datetime
) -> Assignment | None:
    """Give back a HIT whose time ran out, if its annotator may still have it: a hidden check just as any other."""
    if (check := next((one for one in begun if one.purpose in CHECKS), None)) is not None:
        return _begin(check, at)
    by_hit = {one.hit_id: one for one in begun if one.purpose == Assignment.Purpose.RATING}
    rating = queue.for_rating(annotator, batches)
    if not by_hit or not rating:
        return None
    arms = queue.arms_open_to(annotator, arm_of_rater(annotator))
    slots = queue.free_slots(annotator, rating).filter(hit__in=by_hit, arm__in=arms)
    slot = queue.lock_first(slots)
    if slot is None:
        return None
    assignment = by_hit[slot.hit_id]
    assignment.hit = slot.hit
    return _fill(slot, assignment, at)


def _fill(slot: Slot, assignment: Assignment, at: datetime) -> Assignment:
    """Start an assignment in a locked slot."""
    slot.assignment = _begin(assignment, at)
    _TAKEN.run(slot=slot.pk, assignment=assignment.pk)
    return assignment


def _locked(annotator: Annotator, at: datetime) -> Annotator:
    """Lock an annotator, so that two tabs of one person take turns."""
    found = _LOCKED.first(annotator=annotator.pk, at=at)
    if found is None:
        raise Annotator.DoesNotExist(annotator.pk)
    return found


def _begin(assignment: Assignment, at: datetime) -> Assignment:
    """Start an assignment's lease, and draw what its annotator sees unless that was drawn before."""
    is_new = assignment.pk is None
    if is_new:
        assignment.claimed_at = at
        assignment.arm = arm_of(assignment)
    assignment.state = Assignment.State.CLAIMED
    assignment.expires_at = at + timedelta(minutes=assignment.hit.batch.lease_minutes)
    if is_new:
        _NEW_ASSIGNMENT.run([assignment])
    else:
        assignment.save()
    if is_new or not assignment.displays.exists():
        _NEW_DISPLAYS.run(draw_displays(assignment))
    return assignment


def open_claim(annotator: Annotator) -> Assignment | None:
    """Return the HIT that the annotator is at, if any."""
    return annotator.assignments.filter(state=Assignment.State.CLAIMED).first()


def claimable_slots(annotator: Annotator) -> SlotQuerySet:
    """Return the free slots that this annotator may take now."""
    rating = queue.for_rating(annotator, queue.open_batches(annotator))
    slots = queue.free_slots(annotator, rating)
    return slots.filter(arm__in=queue.arms_open_to(annotator, arm_of_rater(annotator, draw=False)))


def has_work(annotator: Annotator) -> bool:
    """Tell whether there is a HIT for this annotator: the one they are at, one to claim, or a qualification."""
    if ended(annotator):
        return False
    if open_claim(annotator):
        return True
    if not claimable_slots(annotator).exists():
        return False  # a qualification for nothing would be work for nothing
    standing = qualification.standing(annotator)
    return not standing.required or standing.attempts_left > 0


def hits_ahead(annotator: Annotator, batches: Sequence[Batch]) -> int:
    """Count the HITs of the study's open batches that this annotator can still claim, up to MOST_AHEAD."""
    rating = queue.for_rating(annotator, batches)
    return queue.count_ahead(annotator, rating, arm_of_rater(annotator, draw=False), MOST_AHEAD)


@transaction.atomic
def return_hit(*, assignment: Assignment, reason: str, comment: str, at: datetime) -> Assignment:
    """Give a HIT back: its slot is free for others, its votes are kept and not counted, and it doesn't come again.

    Raises: Unacceptable for an unknown reason; AssignmentClosed when it was submitted or given back before, belongs to
    the qualification, or the annotator has withdrawn; ConsentNeeded.
    """
    annotator = _locked(assignment.annotator, at)
    assignment = Assignment.objects.select_for_update(of=("self",)).get(pk=assignment.pk)
    assignment.annotator = annotator
    refuse_over(assignment)
    if assignment.purpose == Assignment.Purpose.QUALIFICATION:
        raise AssignmentClosed(_("The first HITs can't be returned. You may stop whenever you like."))
    if reason not in Assignment.ReturnReason.values:
        raise Unacceptable(_("Please choose one of the reasons."))
    assignment.state = Assignment.State.RETURNED
    assignment.returned_at, assignment.expires_at = at, None
    assignment.return_reason = reason
    assignment.return_comment = comment.replace("\x00", "").strip()[:LONGEST_COMMENT]
    assignment.save()
    reopen_slots([assignment.pk], {assignment.hit_id})
    return assignment
