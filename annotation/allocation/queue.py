"""Find the next free slot for an annotator within every cap, at a cost that does not depend on the number of slots.

One index holds a batch's free slots in order: HITs with the fewest filled slots first, ties in the batch's seeded random
order. The search reads it from the front and skips the HITs that the annotator has had.
"""

from collections.abc import Sequence

from django.db import connection
from django.db.models import Count, Exists, F, OuterRef, QuerySet, Subquery

from annotation.annotators.participants import channel_of
from annotation.core.database.prepared import Prepared
from annotation.models import Annotator, Assignment, Batch, Channel, Slot, Study
from annotation.models.hits import SlotQuerySet
from annotation.models.rating import AssignmentQuerySet
from annotation.models.studies import ArmUnit
from annotation.recruitment.base import ClaimKind, adapter_of

ANY_ARM = ""
_ORDER = ("number", "position")  # unique within a batch
_COUNTED = (Assignment.State.CLAIMED, Assignment.State.SUBMITTED)


def open_batches(annotator: Annotator) -> list[Batch]:
    """Return the open batches, of every purpose, of this annotator's study, unless it is archived."""
    if annotator.study.archived_at is not None:
        return []
    rows = _OPEN.all(study=annotator.study_id)
    for batch in rows:
        batch.study = annotator.study
    return rows


def _open(study: int) -> QuerySet[Batch]:
    return Batch.objects.open().filter(study=study, origin=Batch.Origin.COLLECTED).order_by("created_at", "pk")


def batches_for_rating(study: int) -> QuerySet[Batch]:
    """Return a study's open batches of ratings, unordered."""
    return _open(study).filter(purpose=Batch.Purpose.RATING).order_by()


def for_rating(annotator: Annotator, batches: Sequence[Batch], claim: ClaimKind = ClaimKind.NEW) -> list[Batch]:
    """Keep the rating batches that the annotator may claim, or reclaim, a HIT of under every cap."""
    rating = [batch for batch in batches if batch.purpose == Batch.Purpose.RATING]
    if not rating:
        return []
    channel = channel_of(annotator)
    if is_reached(annotator, channel, claim):
        return []
    if channel is not None and channel.batch_id is not None:
        rating = [batch for batch in rating if batch.pk == channel.batch_id]
    return below_cap(annotator, rating)


def is_reached(annotator: Annotator, channel: Channel | None, claim: ClaimKind = ClaimKind.NEW) -> bool:
    """Tell whether an annotator has reached the cap of the study or of their channel.

    Hidden checks count like any other HIT, so that the cap does not reveal them; qualifications, returned and expired
    HITs don't count.
    """
    limit = annotator.study.most_hits_per_rater
    if limit is not None and _hit_count(annotator) >= limit:
        return True
    if channel is None:
        return False
    hits = adapter_of(channel).hits_left(annotator=annotator, channel=channel, claim=claim)
    return hits is not None and hits <= 0


def _hit_count(annotator: Annotator) -> int:
    """Count an annotator's submitted and claimed HITs, without the qualification."""
    mine = annotator.assignments.filter(state__in=_COUNTED)
    return mine.exclude(purpose=Assignment.Purpose.QUALIFICATION).count()


def below_cap(annotator: Annotator, batches: Sequence[Batch]) -> list[Batch]:
    """Keep the batches whose cap this annotator has not reached."""
    if all(batch.most_hits_per_rater is None for batch in batches):
        return list(batches)
    rated = annotator.assignments.filter(state__in=_COUNTED, purpose=Assignment.Purpose.RATING).order_by()
    hit_counts = dict(rated.values_list("hit__batch").annotate(Count("pk")))
    return [
        batch
        for batch in batches
        if batch.most_hits_per_rater is None or hit_counts.get(batch.pk, 0) < batch.most_hits_per_rater
    ]


def free_slots(annotator: Annotator, batches: Sequence[Batch]) -> SlotQuerySet:
    """Return the free slots of these batches whose HITs this annotator may claim, of every arm."""
    slots = _unseen(Slot.objects.free(), annotator.pk)
    return slots.filter(batch__in=[batch.pk for batch in batches])


def _unseen(slots: SlotQuerySet, annotator: int) -> SlotQuerySet:
    """Leave out matchups that this annotator rated, returned or has claimed, in any batch."""
    # A correlated subquery, not a list of all matchups they had: the first slots of the queue are seldom among those.
    rated = Assignment.objects.filter(hit__matchup=OuterRef("hit__matchup")).exclude(state=Assignment.State.EXPIRED)
    return slots.exclude(Exists(_of_annotator(rated, annotator).order_by()))


def _of_annotator(assignments: AssignmentQuerySet, annotator: int) -> AssignmentQuerySet:
    """Keep one annotator's assignments. SQLite's planner is kept from starting with the index on the annotator."""
    if connection.vendor == "sqlite":
        return assignments.alias(of=F("annotator") + 0).filter(of=annotator)  # an expression that no index covers
    return assignments.filter(annotator=annotator)


def arms_open_to(annotator: Annotator, arm: str) -> tuple[str, ...]:
    """Return the arms whose slots a rater of this arm may take, preferred first. `arm` is empty without arms."""
    study = annotator.study
    if arm and study.is_two_stage and study.arm_unit == ArmUnit.RATER:
        return (arm, ANY_ARM)
    return (ANY_ARM,)


def lock_next(annotator: Annotator, batches: Sequence[Batch], arm: str) -> Slot | None:
    """Lock the next free slot for this annotator, skipping slots that another transaction has locked."""
    skips_locked = connection.features.has_select_for_update_skip_locked
    for kept_for in arms_open_to(annotator, arm):
        if not skips_locked:  # one writer at a time
            head = next(iter(_by_head(annotator, batches, kept_for)), None)
            if head is not None:
                return head
            continue
        # With one batch there is nothing to order, and its head may be locked by now.
        several = len(batches) > 1
        queues = [head.batch_id for head in _by_head(annotator, batches, kept_for)] if several else [batches[0].pk]
        for batch in queues:
            slot = _FOLLOWING.first(annotator=annotator.pk, batch=batch, arm=kept_for)
            if slot is not None:
                return slot
    return None


def _by_head(annotator: Annotator, batches: Sequence[Batch], kept_for: str) -> list[Slot]:
    """Return the annotator's next slot in each batch that has one, fewest filled first."""
    batch_ids = {batch.pk for batch in batches}
    heads = _HEADS.all(study=annotator.study_id, annotator=annotator.pk, arm=kept_for)
    return [slot for slot in heads if slot.batch_id in batch_ids]


def _heads(study: int, annotator: int, arm: str) -> QuerySet[Slot]:
    # From each batch to its slots: the first of each is at the front of the index.
    slots = _unseen(Slot.objects.free(), annotator)
    first = Subquery(slots.filter(batch=OuterRef("pk"), arm=arm).order_by(*_ORDER).values("pk")[:1])
    of_batches = batches_for_rating(study).annotate(first=first)
    return Slot.objects.filter(pk__in=of_batches.values("first")).select_related("hit").order_by(*_ORDER, "batch_id")


def _following(annotator: int, batch: int, arm: str) -> QuerySet[Slot]:
    slots = _unseen(Slot.objects.free(), annotator).filter(batch=batch, arm=arm)
    return _locked(slots).select_related("hit").order_by(*_ORDER)[:1]


def has_free_slot(study: Study) -> bool:
    """Tell whether a slot of the study's open batches is free, whichever annotators may take it."""
    return bool(_ANY_FREE.all(study=study.pk))


def _any_free(study: int) -> "QuerySet[Batch, int]":
    # In the index's order: PostgreSQL would else read the table for a slot that comes early in it.
    first = Slot.objects.free().filter(batch=OuterRef("pk")).order_by("arm", *_ORDER).values("pk")[:1]
    with_one = batches_for_rating(study).annotate(first=Subquery(first)).filter(first__isnull=False)
    return with_one.values_list("pk", flat=True)[:1]


def lock_first(slots: SlotQuerySet) -> Slot | None:
    """Lock the first of these slots that no other transaction has locked."""
    return _locked(slots).select_related("hit__batch__study").order_by(*_ORDER).first()


def _locked(slots: SlotQuerySet) -> SlotQuerySet:
    return slots.select_for_update(skip_locked=True, of=("self",))


_OPEN, _HEADS = Prepared(_open), Prepared(_heads)
_FOLLOWING, _ANY_FREE = Prepared(_following), Prepared(_any_free)
