"""Progress of a batch: slots, ratings per pair, time and money. Duplicates would be faults: constraints forbid them.

Counted in the database, in a fixed number of queries.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import accumulate
from typing import Any

from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce, TruncDay, TruncHour

from annotation.core.counting import to_cents
from annotation.core.database.aggregates import select_from_cte
from annotation.models import Annotator, Assignment, Batch, Display, HitPair, Rating, Slot
from annotation.monitoring.batch_annotators import RaterRow
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
        return self.total > 0 and self.filled == self.total


@dataclass(frozen=True)
class Duplicates:
    """Violations of constraints: each is 0 unless there is a bug."""

    pairs_twice: int  # further counted ratings of a pair by the same rater
    hits_overfull: int  # HITs with more filled slots than raters per HIT
    assignments_twice: int  # slots filled by an assignment that fills another one

    @property
    def total(self) -> int:
        return self.pairs_twice + self.hits_overfull + self.assignments_twice


@dataclass(frozen=True)
class NotCounted:
    """Submitted HITs whose ratings don't count, by reason."""

    surplus: int  # submitted late, when all slots were filled
    excluded: int  # rejected, or of an excluded rater

    @property
    def total(self) -> int:
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
    occupancy = filled.aggregate(slots=Count("pk"), assignments=Count("assignment", distinct=True))
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
        duplicates=Duplicates(pairs_twice, overfull, occupancy["slots"] - occupancy["assignments"]),
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


WIDTH, HEIGHT = 600, 120
BY_THE_HOUR = timedelta(days=3)  # longer batches are shown by the day


@dataclass(frozen=True)
class Timeline:
    """Steps of equal length: when each begins, and the slots filled by its end.

    line, expected : points of the picture's lines, the second from the last filled slot to the expected end, or ""
    """

    steps: Sequence[tuple[datetime, int]]
    by_the_hour: bool
    first: datetime
    last: datetime
    finish: datetime | None
    line: str
    expected: str


def timeline_of(batch: Batch, total: int, finish: datetime | None) -> Timeline | None:
    """Return a batch's progress in two queries, or None while no slot is filled and for imported ratings.

    total : its slots
    """
    filled = Assignment.objects.filter(slot__batch=batch, state=Assignment.State.SUBMITTED).order_by()
    span = filled.aggregate(first=Min("submitted_at"), last=Max("submitted_at"))
    if batch.origin == Batch.Origin.IMPORTED or span["first"] is None:
        return None
    by_the_hour = span["last"] - span["first"] <= BY_THE_HOUR
    truncate, length = (TruncHour, timedelta(hours=1)) if by_the_hour else (TruncDay, timedelta(days=1))
    counted = filled.annotate(step=truncate("submitted_at")).values("step").annotate(n=Count("pk")).order_by("step")
    rows = [(row["step"], row["n"]) for row in counted]
    steps = list(zip([step for step, _n in rows], accumulate(n for _step, n in rows), strict=True))
    begin = min(batch.launched_at or steps[0][0], steps[0][0])
    end = max(steps[-1][0] + length, finish or steps[-1][0])

    def point(at: datetime, count: int) -> str:
        return f"{WIDTH * ((at - begin) / (end - begin)):.0f},{HEIGHT * (1 - count / total):.0f}"

    # Level until a step begins: nothing was filled between two steps.
    corners = [
        point(*corner)
        for (at, count), before in zip(steps, [0, *(count for _at, count in steps)], strict=False)
        for corner in ((at, before), (at + length, count))
    ]
    if finish:  # which may come before the last step is over
        corners[-1] = point(min(steps[-1][0] + length, finish), steps[-1][1])
    last = corners[-1]
    return Timeline(
        steps=steps,
        by_the_hour=by_the_hour,
        first=span["first"],
        last=span["last"],
        finish=finish,
        line=" ".join([point(begin, 0), *corners]),
        expected=f"{last} {point(finish, total)}" if finish else "",
    )


HOUR = timedelta(hours=1)
LEAST_PERIOD = timedelta(minutes=1)  # a pace of seconds says nothing
LONGEST_FORECAST = 24 * 365.0  # hours


@dataclass(frozen=True)
class Figures:
    """Time and money of a batch. Hours are active time of present raters. Pay is that of all raters.

    hours, pay  : so far, hidden repeats of this batch's HITs and uncounted work included
    *_total     : projected to all slots at the mean pace so far; future hidden checks are left out
    measured    : False when nothing was timed yet, and the study's expected minutes are used
    """

    hours: float
    hours_total: float | None
    measured: bool
    pay: Decimal
    pay_total: Decimal | None
    currency: str
    last_hour: int
    finish: datetime | None


def figures_of(batch: Batch, slots: Slots, raters: Sequence[RaterRow], at: datetime) -> Figures:
    """Sum up a batch's time and money, in one query besides its raters' rows."""
    study = batch.study
    recent = Q(submitted_at__gt=at - HOUR, submitted_at__lte=at, slot__isnull=False)
    sums = Assignment.objects.filter(hit__batch=batch).aggregate(
        pay=Sum("pay_due"),
        last_hour=Count("pk", filter=recent & Q(state=Assignment.State.SUBMITTED)),
        began=Min("claimed_at"),
    )
    seconds, timed = sum(row.votes.seconds for row in raters), sum(row.votes.timed for row in raters)
    pay, free_slots = to_cents(sums["pay"] or Decimal(0)), slots.total - slots.filled
    pay_due = study.pay_for(free_slots)
    expected = study.minutes_per_hit / 60 if study.minutes_per_hit else None
    # Hours per HIT: the mean, not the median, since it is multiplied to a sum.
    a_hit = seconds / timed * batch.pairs_per_hit / 3600 if timed else expected
    finish = None  # of the last slot, at the pace of the last hour; work of less than an hour has a higher pace
    if batch.status == Batch.Status.OPEN and free_slots and sums["last_hour"]:
        period = HOUR if sums["began"] is None else min(max(at - sums["began"], LEAST_PERIOD), HOUR)
        remaining = free_slots / sums["last_hour"] * (period / HOUR)
        finish = None if remaining > LONGEST_FORECAST else at + remaining * HOUR
    return Figures(
        hours=seconds / 3600,
        hours_total=None if a_hit is None or not slots.total else seconds / 3600 + free_slots * a_hit,
        measured=timed > 0,
        pay=pay,
        pay_total=None if pay_due is None or not slots.total else to_cents(pay + pay_due),
        currency=study.currency,
        last_hour=sums["last_hour"],
        finish=finish,
    )
