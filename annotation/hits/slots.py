"""Making, taking and freeing slots, and reserving them for arms: each pair gets equally many raters of every arm."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from random import Random

from django.db import connection, transaction

from annotation.core.database.aggregates import grouped
from annotation.hits.displays import derived_seed
from annotation.models import Assignment, Batch, Hit, Slot, Study
from annotation.models.hits import SlotQuerySet
from annotation.models.studies import ArmUnit

_MOST_AT_ONCE, _CHUNK = 200, 1000


def make_slots(*, batch: Batch, hits: Iterable[Hit], numbers: Collection[int]) -> None:
    """Add free slots with these numbers to HITs of a batch, and reserve them for arms if these are balanced.

    By INSERT … SELECT, since raters wait while a large batch is written.
    """
    ids = [hit.pk for hit in hits]
    slot, hit = connection.ops.quote_name(Slot._meta.db_table), connection.ops.quote_name(Hit._meta.db_table)
    insert = (
        f"INSERT INTO {slot} (hit_id, batch_id, number, position, arm) "  # noqa: S608  # names of our own, values as parameters
        f"SELECT id, batch_id, %s, position, '' FROM {hit} WHERE batch_id = %s AND id BETWEEN %s AND %s"
    )
    with connection.cursor() as cursor:
        for first, last in _runs(ids):
            for number in numbers:
                cursor.execute(insert, [number, batch.pk, first, last])
    if _are_reserved(batch.study):
        reserve_slots(Slot.objects.filter(batch=batch))


def _runs(ids: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Group numbers into runs without gaps: (first, last)."""
    for _, run in groupby(enumerate(sorted(ids)), key=lambda item: item[1] - item[0]):
        own = [number for _, number in run]
        yield own[0], own[-1]


@transaction.atomic
def release_expired(*, at: datetime) -> int:
    """Free the slots of expired claims. Votes stay with the assignment.

    At most _MOST_AT_ONCE, the oldest first, since requests of raters do this too.
    """
    claims = Assignment.objects.expired(at).select_for_update(skip_locked=True, of=("self",)).order_by("expires_at")
    expired = list(claims.values_list("pk", "hit_id")[:_MOST_AT_ONCE])
    if expired:
        ids = [pk for pk, _ in expired]
        reopen_slots(ids, {hit_id for _, hit_id in expired})
        Assignment.objects.filter(pk__in=ids).update(state=Assignment.State.EXPIRED)
    return len(expired)


def reopen_slots(assignment_ids: Collection[int], hit_ids: set[int]) -> None:
    """Free these assignments' slots, and move the others so that filled slots have a HIT's lowest numbers."""
    # In the lock order of `reserve_slots`, to avoid deadlocks.
    locked = Slot.objects.filter(hit__in=hit_ids).select_for_update().order_by("hit_id", "number")
    by_hit = grouped((slot.hit_id, slot) for slot in locked)
    moved = []
    for slots in by_hit.values():
        remaining = [slot.assignment_id for slot in slots if slot.assignment_id not in (None, *assignment_ids)]
        for slot, assignment_id in zip(slots, remaining + [None] * (len(slots) - len(remaining)), strict=True):
            if slot.assignment_id != assignment_id:
                slot.assignment_id = assignment_id
                moved.append(slot)
    Slot.objects.filter(pk__in=[slot.pk for slot in moved]).update(assignment=None)  # an assignment fills one slot
    Slot.objects.bulk_update([slot for slot in moved if slot.assignment_id], ["assignment"])
    if moved and _are_reserved(Study.objects.get(batches__hits=moved[0].hit_id)):
        reserve_slots(Slot.objects.filter(hit__in=by_hit))


def take_free_slot(assignment: Assignment) -> bool:
    """Put an assignment into the lowest free slot of its HIT, or return False if there is none."""
    slot = _free_for(assignment).select_for_update(skip_locked=True).order_by("number").first()
    if slot is None:
        return False
    slot.assignment = assignment
    slot.save(update_fields=["assignment"])
    return True


def is_taken(assignment: Assignment) -> bool:
    """Tell whether no slot that this assignment could fill is free."""
    return not _free_for(assignment).exists()


def _free_for(assignment: Assignment) -> SlotQuerySet:
    return Slot.objects.free().filter(hit=assignment.hit_id, arm__in=(assignment.arm, ""))


def _are_reserved(study: Study) -> bool:
    """Tell whether the study reserves slots for arms: raters are split into arms, which are to be balanced."""
    return study.is_two_stage and study.arm_unit == ArmUnit.RATER and study.balance_arms


def reserve_slots(slots: SlotQuerySet) -> None:
    """Assign arms to the free ones of these slots, which must include all slots of each HIT.

    Of R slots every arm gets R // arms, counting those that its raters hold; the remainder is open to all arms.
    """
    rows = (
        slots.select_for_update(of=("self",)).select_related("assignment", "batch__study").order_by("hit_id", "number")
    )
    changed = []
    for hit_id, group in groupby(rows, key=lambda slot: slot.hit_id):
        own = list(group)
        study = own[0].batch.study
        free = [slot for slot in own if slot.assignment is None]
        held_arms = [slot.assignment.arm for slot in own if slot.assignment is not None]
        names = reserved_arms(study, hit_id, len(own), held_arms) if _are_reserved(study) else [""] * len(free)
        for slot, arm in zip(free, names, strict=True):
            if slot.arm != arm:
                slot.arm = arm
                changed.append(slot)
    Slot.objects.bulk_update(changed, ["arm"], batch_size=_CHUNK)


def reserved_arms(study: Study, hit_id: int, slots: int, held_arms: Iterable[str]) -> Sequence[str]:
    """Return the arms of a HIT's free slots ("" for any), in an order drawn from the study's seed.

    slots     : number of the HIT's slots
    held_arms : the arms of the raters who hold or fill one
    """
    have = Counter(held_arms)
    free = slots - have.total()
    share = slots // len(study.arms)
    rng = Random(derived_seed(study.seed, "slots", hit_id))
    lacking = [(turn, arm) for arm in study.arms for turn in range(have[arm], share)]
    rng.shuffle(lacking)
    # If one arm holds too many slots, the others can't all get their share: those with the fewest come first.
    lacking.sort(key=lambda item: item[0])
    reserved = [arm for _, arm in lacking[:free]]
    rng.shuffle(reserved)
    return reserved + [""] * (free - len(reserved))
