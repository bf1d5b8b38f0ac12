"""The middleware that gives each request its id, and counts, times and logs it."""

import logging
import re
import secrets
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.signals import request_finished
from django.http import HttpRequest, HttpResponseBase
from prometheus_client import Counter, Histogram

from annotation.core.request_ids import NONE, current

HEADER = "X-Request-ID"
_FROM_PROXY = re.compile(r"[\w.-]{8,64}")
REQUESTS = Counter("tandem_requests", "Requests answered", ["method", "status"])
LATENCY = Histogram(
    "tandem_request_seconds",
    "Time until the response begins, by view",
    ["view"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
METHODS = {
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "OPTIONS",
}  # others are counted together: clients invent names

logger = logging.getLogger("tandem.requests")


class RequestMiddleware:
    """Stands first, so that it sees every answer of those below."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        """Take the next middleware."""
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Pass a request on."""
        begun = time.perf_counter()
        header = request.headers.get(HEADER, "") if settings.BEHIND_PROXY else ""
        request_id = header if _FROM_PROXY.fullmatch(header) else secrets.token_hex(8)
        current.set(request_id)  # until the response is closed (`forget_request_id`)
        response = self.get_response(request)
        seconds = time.perf_counter() - begun
        method = request.method if request.method in METHODS else "other"
        view = (request.resolver_match.view_name if request.resolver_match else "") or "-"
        REQUESTS.labels(method, response.status_code).inc()
        LATENCY.labels(view).observe(seconds)
        logger.info(
            "%s %s %s in %.0f ms", method, view, response.status_code, seconds * 1000,
            extra={"method": method, "view": view, "status": response.status_code, "seconds": round(seconds, 4)},
        )  # fmt: skip
        if "immutable" not in response.headers.get("Cache-Control", ""):  # else the browser's copy serves many requests
            response[HEADER] = request_id
        return response


def forget_request_id(**_signal: Any) -> None:
    """Forget the id when the response is closed. Django logs failed requests after all middleware."""
    current.set(NONE)


request_finished.connect(forget_request_id)
