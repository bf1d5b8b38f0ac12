"""Time and money of a batch: so far, projected for all of it, and submissions over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import accumulate

from django.db.models import Count, Max, Min, Q, Sum
from django.db.models.functions import TruncDay, TruncHour

from annotation.core.counting import to_cents
from annotation.models import Assignment, Batch
from annotation.monitoring.batch_annotators import RaterRow
from annotation.monitoring.batch_status import Slots

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
