"""The health check endpoint for load balancers and monitors."""

from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.core.version import VERSION
from reporting.health.checks import failed_check


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer ok, or 503 with the name of the check that failed."""
    failed = failed_check()
    return JsonResponse({"status": failed or "ok", "version": VERSION}, status=503 if failed else 200)
