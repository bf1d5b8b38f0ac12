"""The id of a request: in each line that it logs, in its response, and on the page of a person who meets an error."""

import re
import secrets
from contextvars import ContextVar
from typing import Any

from django.conf import settings
from django.core.signals import request_finished
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

HEADER = "X-Request-ID"
NONE = "-"  # outside requests
current: ContextVar[str] = ContextVar("request_id", default=NONE)
_FROM_PROXY = re.compile(r"[\w.-]{8,64}")


def new_request_id(request: HttpRequest) -> str:
    """Return the id that the proxy gave the request, or a random one."""
    given = request.headers.get(HEADER, "") if settings.BEHIND_PROXY else ""
    return given if _FROM_PROXY.fullmatch(given) else secrets.token_hex(8)


def forget_request_id(**_signal: Any) -> None:
    """Forget the id when the response is closed; Django logs failed requests after all middleware."""
    current.set(NONE)


request_finished.connect(forget_request_id)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer a request that failed, with its id."""
    return HttpResponse(render_to_string("500.html", {"request_id": current.get()}), status=500)
