"""A batch's progress over time: slots filled, hour by hour or day by day, and when the last one is expected."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate

from django.db.models import Count, Max, Min
from django.db.models.functions import TruncDay, TruncHour

from annotation.models import Assignment, Batch

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
