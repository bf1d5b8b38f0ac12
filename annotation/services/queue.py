"""Finding the next free slot for an annotator, at the same cost however many slots there are.

One index holds a batch's free slots in the order in which they are given out: first those of HITs with the fewest
filled, ties in the batch's seeded random order. The search reads it from its front and leaves out the HITs that the
annotator has had, which are as many as they have rated, not as many as the study has.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from django.db import connection
from django.db.models import Count, Exists, F, OuterRef, QuerySet, Subquery

from annotation.models import Annotator, Assignment, Batch, Hit, Slot
from annotation.models.rating import AssignmentQuerySet
from annotation.models.study import ArmUnit
from annotation.models.work import SlotQuerySet
from annotation.prepared import Prepared
from annotation.services import caps, slot_arms
from annotation.services.displays import placebos_seen_by

ANY_ARM = ""
_ORDER = ("number", "position")  # unique within a batch
_MOST_SLOTS_A_HIT = 20


def open_batches(annotator: Annotator) -> list[Batch]:
    """Return the batches of every purpose that are open to this annotator's study; none of a study in the archive."""
    if annotator.study.archived_at is not None:
        return []
    found = _OPEN.all(study=annotator.study_id)
    for batch in found:
        batch.study = annotator.study
    return found


def _open(study: int) -> QuerySet[Batch]:
    return Batch.objects.open().filter(study=study, origin=Batch.Origin.COLLECTED)


def for_rating(annotator: Annotator, batches: Sequence[Batch]) -> list[Batch]:
    """Keep the batches that the annotator may have a further HIT for ratings of, under every cap."""
    rating = [batch for batch in batches if batch.purpose == Batch.Purpose.RATING]
    if not rating:
        return []
    channel = caps.channel_of(annotator)
    if caps.reached(annotator, channel):
        return []
    if channel is not None and channel.batch_id is not None:
        rating = [batch for batch in rating if batch.pk == channel.batch_id]
    return caps.below_cap(annotator, rating)


def free_slots(annotator: Annotator, batches: Sequence[Batch]) -> SlotQuerySet:
    """Return the free slots of these batches whose HITs this annotator may be given, whatever arm they are kept for."""
    slots = _unseen(Slot.objects.free(), annotator.pk, two_stage=annotator.study.is_two_stage)
    return slots.filter(batch__in=[batch.pk for batch in batches])


def _unseen(slots: SlotQuerySet, annotator: int, *, two_stage: bool) -> SlotQuerySet:
    """Leave out matchups that this annotator rated, returned or is at, in whatever batch.

    And, where there is a second stage, those whose table they have seen as a placebo: it would colour their first votes.
    """
    # Asked of each slot, and not for a list of all that they had: the first slots of the queue are seldom among those.
    had = Assignment.objects.filter(hit__matchup__hits=OuterRef("hit")).exclude(state=Assignment.State.EXPIRED)
    slots = slots.exclude(Exists(_of_annotator(had, annotator).order_by()))
    return slots.exclude(hit__in=_hits_of(placebos_seen_by(annotator))) if two_stage else slots


def _of_annotator(assignments: AssignmentQuerySet, annotator: int) -> AssignmentQuerySet:
    """Keep one annotator's, found by their HITs: SQLite, which knows little of its tables, would begin with all of them."""
    if connection.vendor == "sqlite":
        return assignments.alias(of=F("annotator") + 0).filter(of=annotator)  # no index holds a sum
    return assignments.filter(annotator=annotator)


def _hits_of(matchups: "QuerySet[Any, Any]") -> "QuerySet[Hit, Any]":
    return Hit.objects.filter(matchup__in=matchups).order_by().values("pk")


def arms_open_to(annotator: Annotator, arm: str) -> tuple[str, ...]:
    """Return whose slots a rater of this arm may take, in the order of preference; `arm` is empty where there is none."""
    study = annotator.study
    if arm and study.is_two_stage and study.arm_unit == ArmUnit.RATER:
        return (arm, ANY_ARM)
    return (ANY_ARM,)


def lock_next(annotator: Annotator, batches: Sequence[Batch], arm: str) -> Slot | None:
    """Lock the free slot that comes next for this annotator; one that somebody else is just taking is passed over."""
    passes_over = connection.features.has_select_for_update_skip_locked
    for kept_for in arms_open_to(annotator, arm):
        if not passes_over:  # one writer at a time: the head is ours
            head = next(iter(_by_head(annotator, batches, kept_for)), None)
            if head is not None:
                return head
            continue
        # With one batch there is no choice, and its head may be somebody else's by now.
        several = len(batches) > 1
        queues = [head.batch_id for head in _by_head(annotator, batches, kept_for)] if several else [batches[0].pk]
        following = _following(two_stage=annotator.study.is_two_stage)
        for batch in queues:
            slot = following.first(annotator=annotator.pk, batch=batch, arm=kept_for)
            if slot is not None:
                return slot
    return None


def _by_head(annotator: Annotator, batches: Sequence[Batch], kept_for: str) -> list[Slot]:
    """Return the slot that comes next for the annotator in each batch that has one, fewest filled first."""
    heads = _heads(two_stage=annotator.study.is_two_stage)
    known = {batch.pk for batch in batches}
    found = heads.all(study=annotator.study_id, annotator=annotator.pk, arm=kept_for)
    return [slot for slot in found if slot.batch_id in known]


@cache
def _heads(*, two_stage: bool) -> Prepared[Slot]:
    # From each batch to its slots: the first of each is at the front of the index.
    def heads(study: int, annotator: int, arm: str) -> QuerySet[Slot]:
        slots = _unseen(Slot.objects.free(), annotator, two_stage=two_stage)
        first = Subquery(slots.filter(batch=OuterRef("pk"), arm=arm).order_by(*_ORDER).values("pk")[:1])
        of_batches = _open(study).filter(purpose=Batch.Purpose.RATING).order_by().annotate(first=first)
        return (
            Slot.objects.filter(pk__in=of_batches.values("first")).select_related("hit").order_by(*_ORDER, "batch_id")
        )

    return Prepared(heads)


@cache
def _following(*, two_stage: bool) -> Prepared[Slot]:
    def following(annotator: int, batch: int, arm: str) -> QuerySet[Slot]:
        slots = _unseen(Slot.objects.free(), annotator, two_stage=two_stage).filter(batch=batch, arm=arm)
        return _locked(slots).select_related("hit").order_by(*_ORDER)[:1]

    return Prepared(following)


def lock_first(slots: SlotQuerySet) -> Slot | None:
    """Lock the first of these slots that nobody else has locked."""
    return _locked(slots).select_related("hit__batch__study").order_by(*_ORDER).first()


def _locked(slots: SlotQuerySet) -> SlotQuerySet:
    return slots.select_for_update(skip_locked=True, of=("self",))


def count_ahead(annotator: Annotator, batches: Sequence[Batch], arm: str, most: int) -> int:
    """Count the HITs that this annotator can still be given, up to `most`, looking at a bounded number of slots."""
    left, two_stage = most, annotator.study.is_two_stage
    for batch in batches:
        # A HIT's filled slots have the lowest numbers: where its slots are all alike, one with a free slot has its last.
        alike = not slot_arms.are_kept(annotator.study)
        slots = most if alike else most * min(batch.raters_per_hit, _MOST_SLOTS_A_HIT)
        counting = _ahead(two_stage=two_stage, slots=slots)
        for kept_for in arms_open_to(annotator, arm):
            if left > 0:
                first = batch.raters_per_hit if alike else 1
                left -= counting.first(annotator=annotator.pk, batch=batch.pk, arm=kept_for, first=first) or 0
    return min(most - left, most)


@cache
def _ahead(*, two_stage: bool, slots: int) -> "Prepared[int]":
    def ahead(annotator: int, batch: int, arm: str, first: int) -> "QuerySet[Hit, int]":
        free = _unseen(Slot.objects.free(), annotator, two_stage=two_stage).filter(batch=batch, arm=arm)
        # In an order that the index has: for some in none PostgreSQL would rather read the table from its start. From its
        # end, since what the annotator has had is at its front.
        some = free.filter(number__gte=first).order_by("-number", "-position").values("hit")[:slots]
        hits = Hit.objects.filter(pk__in=Subquery(some)).order_by()
        # A constant to group by: an aggregate that is itself a queryset.
        return hits.values("batch").annotate(count=Count("matchup", distinct=True)).values_list("count", flat=True)

    return Prepared(ahead)


_OPEN = Prepared(_open)
