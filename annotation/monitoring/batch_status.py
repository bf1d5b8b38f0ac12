"""Progress of a batch: slots, ratings per pair, and duplicates, which the constraints should make impossible.

Counted in the database, in a fixed number of queries.
"""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.core.database.aggregates import select_from_cte
from annotation.models import Annotator, Assignment, Batch, Display, HitPair, Rating, Slot
from annotation.questions.questions import MAIN

SUBMITTED = Assignment.State.SUBMITTED


@dataclass(frozen=True)
class Slots:
    """A batch's slots by state. `open` includes the `lapsed` ones, whose claims have expired."""

    total: int
    filled: int
    claimed: int
    open: int
    lapsed: int

    @property
    def complete(self) -> bool:
        """Tell whether every slot is filled."""
        return self.total > 0 and self.filled == self.total


@dataclass(frozen=True)
class Duplicates:
    """Violations of constraints: each is 0 unless there is a bug."""

    pairs_twice: int  # further counted ratings of a pair by the same rater
    hits_overfull: int  # HITs with more filled slots than raters per HIT
    assignments_twice: int  # slots filled by an assignment that fills another one

    @property
    def total(self) -> int:
        """All of them."""
        return self.pairs_twice + self.hits_overfull + self.assignments_twice


@dataclass(frozen=True)
class NotCounted:
    """Submitted HITs whose ratings don't count, by reason."""

    surplus: int  # submitted late, when all slots were filled
    excluded: int  # rejected, or of an excluded rater

    @property
    def total(self) -> int:
        """All of them."""
        return self.surplus + self.excluded


@dataclass(frozen=True)
class BatchStatus:
    """Progress of a batch at one moment."""

    batch: Batch
    at: datetime
    hits: int
    pairs: int
    slots: Slots
    ratings_per_pair: dict[int, int]
    duplicates: Duplicates
    not_counted: NotCounted
    late: int

    def as_json(self) -> dict[str, Any]:
        """Return the document of `batch_status --format json` and of the API."""
        slots, batch = self.slots, self.batch
        return {
            "study": batch.study.slug,
            "batch": batch.name,
            "status": batch.status,
            "purpose": batch.purpose,
            "origin": batch.origin,
            "at": self.at.isoformat(),
            "hits": self.hits,
            "pairs": self.pairs,
            "pairs_per_hit": batch.pairs_per_hit,
            "raters_per_hit": batch.raters_per_hit,
            "slots": asdict(slots),
            "filled": slots.filled,
            "claimed": slots.claimed,
            "open": slots.open,
            "complete": slots.complete,
            "ratings_per_pair": {str(count): pairs for count, pairs in self.ratings_per_pair.items()},
            "duplicates": self.duplicates.total,
            "duplicates_by_kind": asdict(self.duplicates),
            "not_counted": self.not_counted.total,
            "not_counted_by_kind": asdict(self.not_counted),
            "late": self.late,
        }


def slots_of(batch: Batch, at: datetime) -> Slots:
    """Count a batch's slots in one query, from two indexes and the open claims, without reading slot rows."""
    slots = Slot.objects.filter(batch=batch).order_by()
    claimed = Assignment.objects.claimed().filter(slot__batch=batch).order_by()
    counts = (
        Batch.objects.filter(pk=batch.pk)
        .order_by()
        .values(
            total=_count(slots, "batch"),
            free=_count(slots.free(), "batch"),
            claimed=_count(claimed, "slot__batch"),
            lapsed=_count(claimed.filter(expires_at__lte=at), "slot__batch"),
        )
        .get()
    )
    return Slots(
        total=counts["total"],
        filled=counts["total"] - counts["free"] - counts["claimed"],
        claimed=counts["claimed"] - counts["lapsed"],
        open=counts["free"] + counts["lapsed"],
        lapsed=counts["lapsed"],
    )


def _count(rows: QuerySet[Any], group: str) -> Coalesce:
    return Coalesce(Subquery(rows.values(group).annotate(n=Count("pk")).values("n")), 0)


def batch_status(batch: Batch, at: datetime) -> BatchStatus:
    """Return a batch's progress, in seven queries."""
    slots = slots_of(batch, at)
    pairs = HitPair.objects.filter(hit__batch=batch).aggregate(n=Count("pair", distinct=True))["n"]
    histogram, pairs_twice = _ratings_per_pair(batch, pairs)
    filled = Slot.objects.filter(batch=batch, assignment__isnull=False).order_by()
    overfull = filled.values("hit").annotate(n=Count("pk")).filter(n__gt=batch.raters_per_hit).count()
    taken = filled.aggregate(slots=Count("pk"), assignments=Count("assignment", distinct=True))
    submitted = Assignment.objects.present().filter(hit__batch=batch, state=SUBMITTED, purpose=batch.purpose)
    out = Q(excluded=True) | Q(annotator__excluded=True)
    unfilled = Q(slot=None) if batch.purpose == Batch.Purpose.RATING else Q(pk=None)  # only rating HITs have slots
    counts = submitted.order_by().aggregate(
        surplus=Count("pk", filter=unfilled & ~out),
        excluded=Count("pk", filter=out),
        late=Count("pk", filter=Q(late=True)),
    )
    return BatchStatus(
        batch=batch,
        at=at,
        hits=batch.hits.count(),
        pairs=pairs,
        slots=slots,
        ratings_per_pair=histogram,
        duplicates=Duplicates(pairs_twice, overfull, taken["slots"] - taken["assignments"]),
        not_counted=NotCounted(counts["surplus"], counts["excluded"]),
        late=counts["late"],
    )


def _ratings_per_pair(batch: Batch, pairs: int) -> tuple[dict[int, int], int]:
    """Return number of counted ratings → number of pairs, and how many of the ratings repeat a rater's earlier one."""
    not_counting = Annotator.objects.filter(study=batch.study_id).filter(
        Q(excluded=True) | Q(withdrawn_at__isnull=False)
    )
    voted = Rating.objects.for_question(MAIN).filter(display=OuterRef("pk"), stage=Rating.Stage.FIRST)
    counted = Display.objects.filter(
        Exists(voted),
        assignment__slot__batch=batch,
        assignment__state=SUBMITTED,
        assignment__excluded=False,
    ).exclude(assignment__annotator__in=not_counting.order_by().values("pk"))
    per_pair = counted.values("pair").annotate(n=Count("pk"), raters=Count("assignment__annotator", distinct=True))
    rows = select_from_cte(per_pair, "SELECT n, COUNT(*), SUM(n - raters) FROM found GROUP BY n")
    pairs_by_count = {int(count): int(number) for count, number, _twice in rows}
    highest = max([batch.raters_per_hit, *pairs_by_count])
    histogram = {count: pairs_by_count.get(count, 0) for count in range(highest + 1)}
    histogram[0] = pairs - sum(pairs_by_count.values())
    return histogram, sum(int(twice) for _count, _pairs, twice in rows)
