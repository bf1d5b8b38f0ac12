"""`/metrics`: the installation's numbers in Prometheus' text format, for the machine itself or for a token."""

import ipaddress
from collections.abc import Iterator

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from reporting.health.numbers import read_numbers

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
