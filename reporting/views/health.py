"""Whether this installation is up, for load balancers and monitors."""

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.version import VERSION


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer ok after a trivial query, 503 when the database is away; names no reason to strangers."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            cursor.fetchone()
    except DatabaseError:
        return JsonResponse({"status": "database unavailable", "version": VERSION}, status=503)
    return JsonResponse({"status": "ok", "version": VERSION})
