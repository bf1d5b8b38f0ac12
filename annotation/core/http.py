"""Helpers for requests and responses that several rooms use."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse


def skip_prefetch(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Answer HEAD and prefetch requests with 204, for pages that are recorded as shown when they are sent."""

    @wraps(view)
    def wrapped(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        if request.method == "HEAD" or "prefetch" in request.headers.get("Sec-Purpose", ""):
            return HttpResponse(status=204)
        return view(request, **kwargs)

    return wrapped


def client_ip(request: HttpRequest) -> str | None:
    """Return the client's address; behind a proxy, the last one in X-Forwarded-For."""
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "") if settings.BEHIND_PROXY else ""
    return forwarded.rsplit(",", 1)[-1].strip() or request.META.get("REMOTE_ADDR")


def restrict_referrer(response: HttpResponse, *, holds_form: bool = False) -> HttpResponse:
    """Set Referrer-Policy, so that the URL with its sign-in token is not sent to other sites.

    holds_form : the page posts a form, for which Django's CSRF check needs the Referer
    """
    response["Referrer-Policy"] = "same-origin" if holds_form else "no-referrer"
    return response
