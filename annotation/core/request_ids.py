"""The id of a request, and the answers to one that fails: a page, or JSON below `/api/`.

Web processes load this module, not Django REST framework, for an address that does not exist.
"""

from contextvars import ContextVar

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views.defaults import page_not_found

NONE = "-"  # outside requests
ROOT = "/api/"
current: ContextVar[str] = ContextVar("request_id", default=NONE)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request for an address that does not exist (the project's `handler404`)."""
    if request.path.startswith(ROOT):
        return JsonResponse({"detail": f"there is no address {request.path}"}, status=404)
    return page_not_found(request, exception)


def failed(request: HttpRequest) -> HttpResponse:
    """Answer a request that failed, with its id (the project's `handler500`)."""
    if request.path.startswith(ROOT):
        return JsonResponse({"detail": f"an error on the server, logged under {current.get()}"}, status=500)
    return HttpResponse(render_to_string("500.html", {"request_id": current.get()}), status=500)
