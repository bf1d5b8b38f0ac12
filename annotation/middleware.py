"""What lies around every view: domain errors become pages, and what no view should meet is turned away."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render, resolve_url
from django.utils.cache import patch_cache_control
from django.utils.translation import gettext as _

from annotation.errors import (
    AnnotationError,
    BadFile,
    ConsentNeeded,
    OtherAccount,
    Unacceptable,
    UnknownName,
    UnknownStudy,
)

MOST_SHOWN = 100


class CharsetMiddleware:
    """Refuses a request that says it is written in another character set than UTF-8, before anybody reads it.

    Django would decode forms with any of Python's codecs: some are none for texts, and some make characters that no
    database takes and that can't be written into an answer.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        charset = (request.content_params or {}).get("charset", "")
        if charset.strip().lower() not in ("", "utf-8", "utf8"):
            told = _("Please send this in UTF-8; other character sets are not taken.")
            return HttpResponse(told, status=415, content_type="text/plain; charset=utf-8")
        return self.get_response(request)


class DomainErrorMiddleware:
    """Answers an `AnnotationError` with its own words: 404 for unknown names, 422 for bad files, else mostly 409.

    `X-Tandem-Wait` asks a page to keep what was refused only until a question is answered, and then to send it again.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Render the error as a page, or as a card when htmx asked."""
        if not isinstance(error, AnnotationError):
            return None
        template = "error.html#card" if getattr(request, "htmx", False) else "error.html"
        response = render(request, template, {"message": shown(error)}, status=status_of(error))
        if isinstance(error, ConsentNeeded):
            response["X-Tandem-Wait"] = "consent"
        return response


class SignedOutMiddleware:
    """Answers a page's own request with 401 where a browser is led to the sign-in page.

    A script that sent a choice would follow the redirect and take the sign-in page for its answer.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        to_login = response.get("Location", "").startswith(resolve_url(settings.LOGIN_URL))
        if to_login and getattr(request, "htmx", False):
            return render(request, "error.html#card", {"message": _("Please sign in again.")}, status=401)
        return response


class PrivatePagesMiddleware:
    """Keeps what a signed-in user is shown out of every cache, unless the view has said otherwise."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        known = request.user.is_authenticated or "Authorization" in request.headers
        if known and not response.has_header("Cache-Control"):
            patch_cache_control(response, private=True, no_store=True)
        return response


def shown(error: AnnotationError) -> str:
    """Return an error's words, of a bad file's lines the first ones only: a page is no place for thousands."""
    return error.abridged(MOST_SHOWN) if isinstance(error, BadFile) else str(error)


def status_of(error: AnnotationError) -> int:
    """HTTP status that says what kind of refusal this is."""
    if isinstance(error, UnknownStudy | UnknownName):
        return 404
    if isinstance(error, BadFile | Unacceptable):
        return 422
    return 401 if isinstance(error, OtherAccount) else 409
