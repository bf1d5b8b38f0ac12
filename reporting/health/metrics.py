"""The installation's numbers, counted in the database, and `/metrics`, which has them in Prometheus' text format."""

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db.models import Count, F, Min, Q, QuerySet, Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

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
    if numbers is not None:
        return numbers
    now = timezone.now()
    is_due = Q(status=TaskResultStatus.READY, run_after__lte=now)
    oldest = DBTaskResult.objects.filter(is_due).aggregate(at=Min("enqueued_at"))["at"]
    sums = Judgment.objects.aggregate(calls=Sum(F("calls") - F("cached")), cost=Sum("cost"))
    numbers = Numbers(
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
    cache.set("installation-numbers", numbers, KEPT_SECONDS)
    return numbers


def _by(rows: QuerySet[Any], field: str) -> dict[str, int]:
    counted = rows.order_by().values_list(field).annotate(n=Count("pk"))
    return {str(value).lower(): n for value, n in counted}


FORWARDED = ("X-Forwarded-For", "Forwarded", "X-Real-IP", "Via")  # a proxy on this machine sends strangers' requests


class DatabaseCollector(Collector):
    """Numbers of rows, counted when metrics are collected."""

    def collect(self) -> Iterator[Metric]:
        """Yield each metric."""
        numbers = read_numbers()
        yield CounterMetricFamily("tandem_votes", "Votes that are stored", numbers.votes)
        for name, text, by_state in (
            ("tandem_claims", "HITs claimed, by state", numbers.claims),
            ("tandem_tasks", "Tasks in the queue, by state", numbers.tasks),
            ("tandem_judge_runs", "Runs of judges, by status", numbers.runs),
            ("tandem_judgments", "Judgments, by status", numbers.judgments),
        ):
            family = GaugeMetricFamily(name, text, labels=["state"])
            for state, n in by_state.items():
                family.add_metric([state], n)
            yield family
        yield GaugeMetricFamily("tandem_oldest_task_seconds", "How long the first task waits", numbers.oldest_waiting)
        yield CounterMetricFamily("tandem_judge_calls", "Calls of models made by judges", numbers.calls)
        yield CounterMetricFamily("tandem_judge_cost", "What these cost, where the price is known", numbers.cost)


def may_scrape(request: HttpRequest) -> bool:
    """Tell whether a request has the token of METRICS_TOKEN, or without one, comes from this machine."""
    if settings.METRICS_TOKEN:
        return constant_time_compare(request.headers.get("Authorization", ""), f"Bearer {settings.METRICS_TOKEN}")
    if any(name in request.headers for name in FORWARDED):
        return False
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer with all metrics: of the requests of every process of this server, and of the database."""
    if not may_scrape(request):
        raise Http404
    registry = CollectorRegistry()
    registry.register(DatabaseCollector())
    if folder := settings.METRICS_DIR():  # several processes, each of which writes files there
        MultiProcessCollector(registry, path=folder)  # type: ignore[no-untyped-call]
        return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)
    return HttpResponse(generate_latest(registry) + generate_latest(REGISTRY), content_type=CONTENT_TYPE_LATEST)
