"""Slots that come free again."""

from collections.abc import Collection, Iterable
from datetime import datetime

from django.db import transaction

from annotation.models import Assignment, Batch, Hit, Slot, Study

_CHUNK = 1000


def make_slots(*, batch: Batch, hits: Iterable[Hit], numbers: Collection[int]) -> None:
    """Give each of these HITs of a batch free slots with these numbers."""
    Slot.objects.bulk_create(
        (Slot(hit=hit, batch=batch, position=hit.position, number=number) for hit in hits for number in numbers),
        batch_size=_CHUNK,
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
        reopen_slots(ids, {hit_id for _, hit_id in expired})
        Assignment.objects.filter(pk__in=ids).update(state=Assignment.State.EXPIRED)
    return len(expired)


def reopen_slots(assignment_ids: Collection[int], hit_ids: set[int]) -> None:
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


def take_free_slot(assignment: Assignment) -> bool:
    """Put an assignment into the lowest free slot of its HIT, if there is one."""
    free = Slot.objects.free().filter(hit=assignment.hit_id).select_for_update(skip_locked=True)
    slot = free.order_by("number").first()
    if slot is None:
        return False
    slot.assignment = assignment
    slot.save(update_fields=["assignment"])
    return True
