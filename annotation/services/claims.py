"""Giving out HITs and taking them back: one short transaction a claim, safe on both databases."""

from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.errors import AssignmentClosed, ClaimRefused, ConsentNeeded, Unacceptable
from annotation.keys import new_seed
from annotation.models import Annotator, Assignment, Batch, Display, Hit, Slot
from annotation.models.work import SlotQuerySet
from annotation.services import qualification
from annotation.services.arms import arm_of
from annotation.services.checks import CHECKS, next_check
from annotation.services.consent import has_consented
from annotation.services.displays import draw_displays, placebos_seen
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

MOST_AHEAD = 500
LONGEST_COMMENT = 2000


@transaction.atomic
def claim_hit(*, annotator: Annotator, at: datetime) -> Assignment:
    """Return the annotator's open HIT, or claim the next one for them.

    A qualification comes before everything; then a HIT that they began and whose time ran out; then, at the batch's
    rates, a hidden check; else the HIT with the fewest filled slots. None is given twice to one annotator (declared
    repeats aside), nor one of a matchup that they have rated.
    Raises: ConsentNeeded; ClaimRefused saying why there is nothing to rate.
    """
    annotator = _locked(annotator)
    if ended(annotator):
        raise ClaimRefused(why_nothing(annotator, at))
    if not has_consented(annotator):
        raise ConsentNeeded(_("Please answer the consent question first."))
    release_expired(study=annotator.study, at=at)
    if current := open_claim(annotator):
        return current
    if (asked := qualification.next_assignment(annotator, at)) is not None:
        return _begin(asked, at)
    if (resumed := _resume(annotator, at)) is not None:
        return resumed
    slot = _lock_first(claimable_slots(annotator))
    if slot is None:
        raise ClaimRefused(why_nothing(annotator, at))
    if (check := next_check(annotator, slot.hit.batch)) is not None:
        return _begin(check, at)
    return _fill(slot, Assignment(hit=slot.hit, annotator=annotator, seed=new_seed()), at)


def _resume(annotator: Annotator, at: datetime) -> Assignment | None:
    """Give back a HIT whose time ran out, if its annotator may still have it: a hidden check just as any other."""
    ran_out = list(
        annotator.assignments.filter(state=Assignment.State.EXPIRED).select_related("hit__batch__study").order_by("pk")
    )
    if (check := next((one for one in ran_out if one.purpose in CHECKS), None)) is not None:
        return _begin(check, at)
    begun = {one.hit_id: one for one in ran_out if one.purpose == Assignment.Purpose.RATING}
    slot = _lock_first(claimable_slots(annotator).filter(hit__in=begun)) if begun else None
    return _fill(slot, begun[slot.hit_id], at) if slot else None


def _lock_first(slots: SlotQuerySet) -> Slot | None:
    """Lock the first of these slots; the lowest number belongs to the HIT with the fewest filled."""
    slot = slots.select_for_update(skip_locked=True, of=("self",)).order_by("number", "hit__position", "pk").first()
    if slot is not None:  # only now, since a database sorts all free slots, and with their texts that takes long
        slot.hit = Hit.objects.select_related("batch__study", "matchup__instance").get(pk=slot.hit_id)
    return slot


def _fill(slot: Slot, assignment: Assignment, at: datetime) -> Assignment:
    """Start an assignment in a locked slot."""
    slot.assignment = _begin(assignment, at)
    slot.save(update_fields=["assignment"])
    return assignment


def _locked(annotator: Annotator) -> Annotator:
    """Lock an annotator, so that two tabs of one person take turns."""
    return Annotator.objects.select_for_update(of=("self",)).select_related("study").get(pk=annotator.pk)


def _begin(assignment: Assignment, at: datetime) -> Assignment:
    """Start an assignment's lease, and draw what its annotator sees unless that was drawn before."""
    is_new = assignment.pk is None
    if is_new:
        assignment.claimed_at = at
        assignment.arm = arm_of(assignment)
    assignment.state = Assignment.State.CLAIMED
    assignment.expires_at = at + timedelta(minutes=assignment.hit.batch.lease_minutes)
    assignment.save()
    if is_new or not assignment.displays.exists():
        Display.objects.bulk_create(draw_displays(assignment))
    return assignment


def open_claim(annotator: Annotator) -> Assignment | None:
    """Return the HIT that the annotator is at, if any."""
    return annotator.assignments.filter(state=Assignment.State.CLAIMED).first()


def claimable_slots(annotator: Annotator) -> SlotQuerySet:
    """Return the free slots that this annotator may take: of matchups that they neither rated, returned nor are at.

    Nor of one whose table they have seen as a placebo: it would colour their first votes there.
    """
    seen = annotator.assignments.exclude(state=Assignment.State.EXPIRED)
    return (
        Slot.objects.free()
        .filter(
            hit__batch__study_id=annotator.study_id,
            hit__batch__status=Batch.Status.OPEN,
            hit__batch__origin=Batch.Origin.COLLECTED,
            hit__batch__purpose=Batch.Purpose.RATING,
        )
        .exclude(hit__matchup_id__in=seen.values("hit__matchup_id"))
        .exclude(hit__matchup_id__in=placebos_seen(annotator))
    )


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


def hits_ahead(annotator: Annotator) -> int:
    """Count the HITs that this annotator can still claim, up to MOST_AHEAD."""
    matchups = claimable_slots(annotator).order_by().values("hit__matchup_id").distinct()
    return matchups[:MOST_AHEAD].count()


@transaction.atomic
def return_hit(*, assignment: Assignment, reason: str, comment: str, at: datetime) -> Assignment:
    """Give a HIT back: its slot is free for others, its votes are kept and not counted, and it doesn't come again.

    Raises: Unacceptable for an unknown reason; AssignmentClosed when it was submitted or given back before, belongs to
    the qualification, or the annotator has withdrawn; ConsentNeeded.
    """
    annotator = _locked(assignment.annotator)
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
