"""`/readyz` for load balancers and monitors, and the status page of site admins."""

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.core.version import VERSION
from annotation.members.permissions import account_of
from reporting.health.alarms import open_alarms
from reporting.health.numbers import read_numbers
from reporting.health.readiness import failing


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
    context = {"failed": failing(), "numbers": read_numbers(), "version": VERSION, "alarms": open_alarms()}
    return render(request, "reporting/health/status.html", context)
