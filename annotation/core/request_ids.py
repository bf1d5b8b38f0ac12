"""The id of a request: in each line that it logs, in its response, and on the page of a person who meets an error."""

from contextvars import ContextVar

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

NONE = "-"  # outside requests
current: ContextVar[str] = ContextVar("request_id", default=NONE)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer a request that failed, with its id."""
    return HttpResponse(render_to_string("500.html", {"request_id": current.get()}), status=500)
