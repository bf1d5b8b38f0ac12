"""Giving out HITs: one short transaction a claim, safe on both databases."""

from datetime import datetime, timedelta
from random import Random

from django.db import transaction

from annotation.errors import ClaimRefused, ConsentNeeded
from annotation.keys import new_seed
from annotation.models import Annotator, Assignment, Batch, Display, Slot, Study
from annotation.models.work import SlotQuerySet
from annotation.services.consent import has_consented


@transaction.atomic
def claim_hit(*, annotator: Annotator, at: datetime) -> Assignment:
    """Return the annotator's open HIT, or claim the next one for them.

    One that they began and whose time ran out goes first, then the HIT with the fewest filled slots; none is
    given twice to one annotator, nor one of a matchup that they have rated.
    Raises: ConsentNeeded; ClaimRefused saying why there is nothing to rate.
    """
    annotator = Annotator.objects.select_for_update().get(pk=annotator.pk)  # two tabs of one person take turns
    if annotator.excluded:
        raise ClaimRefused(why_nothing(annotator))
    if not has_consented(annotator):
        raise ConsentNeeded("Please answer the consent question first.")
    release_expired(study=annotator.study, at=at)
    if current := open_claim(annotator):
        return current
    slot = _next_slot(annotator)
    if slot is None:
        raise ClaimRefused(why_nothing(annotator))
    assignment = annotator.assignments.filter(hit=slot.hit, state=Assignment.State.EXPIRED).first()
    if assignment is None:
        assignment = Assignment(hit=slot.hit, annotator=annotator, seed=new_seed(), claimed_at=at)
    assignment.state = Assignment.State.CLAIMED
    assignment.expires_at = at + timedelta(minutes=slot.hit.batch.lease_minutes)
    assignment.save()
    if not assignment.displays.exists():
        Display.objects.bulk_create(draw_displays(assignment))
    slot.assignment = assignment
    slot.save(update_fields=["assignment"])
    return assignment


def _next_slot(annotator: Annotator) -> Slot | None:
    """Lock the slot that this annotator gets; the lowest free number belongs to the HIT with the fewest filled."""
    free = claimable_slots(annotator).select_for_update(skip_locked=True, of=("self",)).select_related("hit__batch")
    ordered = free.order_by("number", "hit__position", "pk")
    begun = annotator.assignments.filter(state=Assignment.State.EXPIRED)
    return ordered.filter(hit__in=begun.values("hit_id")).first() or ordered.first()


def open_claim(annotator: Annotator) -> Assignment | None:
    """Return the HIT that the annotator is at, if any."""
    return annotator.assignments.filter(state=Assignment.State.CLAIMED).first()


def claimable_slots(annotator: Annotator) -> SlotQuerySet:
    """Return the free slots that this annotator may take: of matchups that they neither rated nor are at."""
    seen = annotator.assignments.exclude(state=Assignment.State.EXPIRED)
    return (
        Slot.objects.free()
        .filter(
            hit__batch__study_id=annotator.study_id,
            hit__batch__status=Batch.Status.OPEN,
            hit__batch__origin=Batch.Origin.COLLECTED,
        )
        .exclude(hit__matchup_id__in=seen.values("hit__matchup_id"))
    )


@transaction.atomic
def release_expired(*, study: Study, at: datetime) -> int:
    """Free the slots of a study's claims that have run out; what was voted stays with the assignment."""
    expired = list(
        Assignment.objects.expired(at)
        .filter(hit__batch__study=study)
        .select_for_update(skip_locked=True, of=("self",))
        .values_list("pk", "hit_id")
    )
    if expired:
        ids = [pk for pk, _ in expired]
        _empty_slots(ids, {hit_id for _, hit_id in expired})
        Assignment.objects.filter(pk__in=ids).update(state=Assignment.State.EXPIRED)
    return len(expired)


def _empty_slots(assignment_ids: list[int], hit_ids: set[int]) -> None:
    """Free these assignments' slots; a HIT's filled slots keep the lowest numbers, which tell how many they are."""
    by_hit: dict[int, list[Slot]] = {}
    for slot in Slot.objects.filter(hit__in=hit_ids).select_for_update().order_by("pk"):
        by_hit.setdefault(slot.hit_id, []).append(slot)
    moved = []
    for slots in by_hit.values():
        slots.sort(key=lambda slot: slot.number)
        kept = [slot.assignment_id for slot in slots if slot.assignment_id not in (None, *assignment_ids)]
        for slot, assignment_id in zip(slots, kept + [None] * (len(slots) - len(kept)), strict=True):
            if slot.assignment_id != assignment_id:
                slot.assignment_id = assignment_id
                moved.append(slot)
    Slot.objects.filter(pk__in=[slot.pk for slot in moved]).update(assignment=None)  # an assignment fills one slot
    Slot.objects.bulk_update([slot for slot in moved if slot.assignment_id], ["assignment"])


def why_nothing(annotator: Annotator) -> str:
    """Say why there is no HIT for this annotator now, and whether to come back."""
    if annotator.excluded:
        return "Your work in this study has ended. Thank you."
    batches = Batch.objects.open().filter(study_id=annotator.study_id, origin=Batch.Origin.COLLECTED)
    if not batches.exists():
        return "Nothing is open for rating at the moment. Please look again later."
    if Slot.objects.free().filter(hit__batch__in=batches).exists():
        return "You have rated everything that is open to you. Thank you!"
    if Assignment.objects.filter(hit__batch__in=batches, state=Assignment.State.CLAIMED).exists():
        return "Every HIT is being worked on. One may come free within the hour: please look again then."
    return "Everything has been rated. Thank you!"


def draw_displays(assignment: Assignment) -> list[Display]:
    """Draw the order of the pairs and which side shows A, balanced to ±1, from the assignment's recorded seed."""
    draw = Random(assignment.seed)
    pair_ids = list(assignment.hit.hit_pairs.order_by("position").values_list("pair_id", flat=True))
    draw.shuffle(pair_ids)
    half = len(pair_ids) // 2
    lefts = [True] * half + [False] * half + [draw.random() < 0.5] * (len(pair_ids) % 2)
    draw.shuffle(lefts)
    return [
        Display(assignment=assignment, pair_id=pair_id, position=position, a_is_left=left)
        for position, (pair_id, left) in enumerate(zip(pair_ids, lefts, strict=True))
    ]
