"""`/readyz` for load balancers and monitors, and the status page of site admins."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.core.version import VERSION
from annotation.members.permissions import account_of
from annotation.models import Assignment
from judging.models import JudgeRun, Judgment
from reporting.health.alarms import open_alarms
from reporting.health.numbers import Numbers, read_numbers
from reporting.health.readiness import failing

TASK_STATES = {"ready": "Queued", "running": "Running", "successful": "Done", "failed": "Failed"}


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """Answer with each check's result: 503 when one fails."""
    failed = failing()
    status = "; ".join(failed) or "ok"
    return JsonResponse({"status": status, "failed": failed, "version": VERSION}, status=503 if failed else 200)


@require_safe
@never_cache
@login_required
def status(request: HttpRequest) -> HttpResponse:
    """Show a site admin what /readyz and /metrics say."""
    if not account_of(request).is_superuser:
        raise PermissionDenied
    numbers = read_numbers()
    context = {
        "failed": failing(),
        "alarms": open_alarms(at=timezone.now()),
        "numbers": numbers,
        "counts": _counts(numbers),
        "version": VERSION,
    }
    return render(request, "reporting/health/status.html", context)


def _counts(numbers: Numbers) -> dict[Any, list[tuple[Any, int]]]:
    """Return the counts under their titles, with each state in words."""
    states = (
        ("HITs claimed", numbers.claims, dict(Assignment.State.choices)),
        ("Tasks", numbers.tasks, TASK_STATES),
        ("Runs of judges", numbers.runs, dict(JudgeRun.Status.choices)),
        ("Judgments", numbers.judgments, dict(Judgment.Status.choices)),
    )
    return {title: [(words[state], n) for state, n in counted.items()] for title, counted, words in states}
