"""The numbers that an installation is watched by, counted in the database: they are the same from every process."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.cache import cache
from django.db.models import Count, F, Min, Q, QuerySet, Sum
from django.utils import timezone
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from annotation.models import Assignment, Rating
from judging.models import JudgeRun, Judgment

KEPT_SECONDS = 15  # for how long they are not counted again: a large study's take a second


@dataclass(frozen=True)
class Numbers:
    """Counts of rows. `cost` is in the endpoints' currency, of calls whose price is known."""

    at: datetime
    votes: int
    claims: dict[str, int]  # by state
    tasks: dict[str, int]  # by state
    oldest_waiting: float  # seconds; 0 when no task waits
    runs: dict[str, int]  # by status
    judgments: dict[str, int]  # by status
    calls: int
    cost: float


def read_numbers() -> Numbers:
    """Count, or return what was counted a moment ago."""
    numbers: Numbers | None = cache.get("installation-numbers")
    if numbers is None:
        numbers = _count()
        cache.set("installation-numbers", numbers, KEPT_SECONDS)
    return numbers


def _count() -> Numbers:
    now = timezone.now()
    is_due = Q(status=TaskResultStatus.READY, run_after__lte=now)
    oldest = DBTaskResult.objects.filter(is_due).aggregate(at=Min("enqueued_at"))["at"]
    sums = Judgment.objects.aggregate(calls=Sum(F("calls") - F("cached")), cost=Sum("cost"))
    return Numbers(
        at=now,
        votes=Rating.objects.count(),
        claims=_by(Assignment.objects.all(), "state"),
        tasks={state.value.lower(): 0 for state in TaskResultStatus} | _by(DBTaskResult.objects.all(), "status"),
        oldest_waiting=(now - oldest).total_seconds() if oldest else 0.0,
        runs=_by(JudgeRun.objects.all(), "status"),
        judgments=_by(Judgment.objects.all(), "status"),
        calls=sums["calls"] or 0,
        cost=float(sums["cost"] or 0),
    )


def _by(rows: QuerySet[Any], field: str) -> dict[str, int]:
    counted = rows.order_by().values_list(field).annotate(n=Count("pk"))
    return {str(value).lower(): n for value, n in counted}
