"""Middleware: domain errors and an unavailable database as pages, language and encoding of requests, expired sessions and caching."""

import logging
import sqlite3
from http import HTTPStatus

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.template.loader import render_to_string
from django.urls import is_valid_path, set_urlconf
from django.utils import translation
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _

from annotation.core.errors import AnnotationError, ConsentNeeded
from annotation.core.http import error_text, is_for_raters, is_htmx, status_of
from annotation.core.request_ids import current


class HeadMiddleware(MiddlewareMixin):
    """Takes the body out of answers to HEAD, of which the server would warn. The headers stay those of a GET."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if request.method == "HEAD":
            if isinstance(response, StreamingHttpResponse):
                response.close()
                response.streaming_content = ()
            elif isinstance(response, HttpResponse):
                response.content = b""
        return response


class PageMiddleware(MiddlewareMixin):
    """Gives requests for pages a URLconf without the API, which would load the modules of the API."""

    def process_request(self, request: HttpRequest) -> None:
        """Set the URLconf of this request, also for the middleware below."""
        if not request.path_info.startswith("/api/"):
            request.urlconf = settings.PAGE_URLCONF
            set_urlconf(settings.PAGE_URLCONF)


class CharsetMiddleware(MiddlewareMixin):
    """Refuses requests whose Content-Type names another charset than UTF-8.

    Django would decode forms with any of Python's codecs; some of them are not text encodings, or make characters that
    databases refuse.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        charset = (request.content_params or {}).get("charset", "")
        if charset.strip().lower() not in ("", "utf-8", "utf8"):
            message = "Please send this in UTF-8; other character sets are not supported."
            return HttpResponse(message, status=415, content_type="text/plain; charset=utf-8")
        return None


class FormAddressMiddleware(MiddlewareMixin):
    """Redirects a browser that opens the address of a form to the page above it. Programs get the 405."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Redirect to the nearest address above that exists. One that takes no GET either redirects further."""
        opened = request.method == "GET" and "text/html" in request.headers.get("Accept", "") and not is_htmx(request)
        if response.status_code != HTTPStatus.METHOD_NOT_ALLOWED or not opened:
            return response
        parent = request.path_info.rstrip("/")
        while parent := parent.rpartition("/")[0]:
            if is_valid_path(f"{parent}/"):
                break
        return redirect(f"{parent}/")


class SignedOutMiddleware(MiddlewareMixin):
    """Answers htmx requests with 401 instead of a redirect to the sign-in page, which htmx would follow."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        address = response.get("Location", "")
        if address and is_htmx(request) and address.startswith(resolve_url(settings.LOGIN_URL)):
            return render(request, "error.html#card", {"message": _("Please sign in again.")}, status=401)
        return response


class SessionCookieMiddleware(MiddlewareMixin):
    """Lets only a request that ends a session delete the browser's session cookie.

    Django also deletes it when it does not know the session. That session may have been replaced while the request was on
    its way, by signing in in another window: the cookie that the browser has by now is the new session's.
    """

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if not request.session.modified:
            response.cookies.pop(settings.SESSION_COOKIE_NAME, None)
        return response


class PrivatePagesMiddleware(MiddlewareMixin):
    """Sets `Cache-Control: private, no-store` for signed-in users, unless the view has set the header."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if response.has_header("Cache-Control"):
            return response
        if request.user.is_authenticated or "Authorization" in request.headers:
            patch_cache_control(response, private=True, no_store=True)
        return response


class PermissionsPolicyMiddleware(MiddlewareMixin):
    """Sets Permissions-Policy: no page, nor a script that got into one, uses the browser's devices and sensors."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        response.headers.setdefault("Permissions-Policy", settings.PERMISSIONS_POLICY)
        return response


class LanguageMiddleware(MiddlewareMixin):
    """Translates the pages that raters open. Researchers' pages and data are in English."""

    def process_request(self, request: HttpRequest) -> None:
        of_reader = is_for_raters(request)
        translation.activate(translation.get_language_from_request(request) if of_reader else settings.LANGUAGE_CODE)

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.headers.get("Content-Type", "").startswith("text/html"):
            patch_vary_headers(response, ("Accept-Language",))
            response.headers.setdefault("Content-Language", translation.get_language())
        return response


# A lock timeout, a restarting server or a full disk; a closed connection.
UNAVAILABLE = (OperationalError, InterfaceError)
RETRY_SECONDS = 5
HEADERS = {"Retry-After": str(RETRY_SECONDS), "Cache-Control": "no-store"}

logger = logging.getLogger(__name__)


class ErrorMiddleware(MiddlewareMixin):
    """Answers domain errors with their message, and database errors of views with 503.

    An `AnnotationError` is 404 for unknown names, 422 for invalid input, else mostly 409. `X-Tandem-Wait: consent` tells
    the page's script to send the request again after consent. After a database error the transaction is rolled back.
    """

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Render a page, or a card for htmx. That of a database error needs no queries."""
        part = "#card" if is_htmx(request) else ""
        if isinstance(error, AnnotationError):
            response = render(request, f"error.html{part}", {"message": error_text(error)}, status=status_of(error))
            if isinstance(error, ConsentNeeded):
                response["X-Tandem-Wait"] = "consent"
            return response
        if isinstance(error, UNAVAILABLE):
            log_unavailable(request, error)
            context = {
                "message": message_for(request.method, error),
                "is_read": request.method in ("GET", "HEAD"),
                "request_id": current.get(),
            }
            return HttpResponse(render_to_string(f"503.html{part}", context), status=503, headers=HEADERS)
        return None


def message_for(method: str | None, error: Exception) -> str:
    """Return the message for a request of this method that met an error of the database."""
    if method in ("GET", "HEAD"):
        if _is_busy(error):
            return _("The server's database is busy. Please try again in a few seconds.")
        return _("The server can't read its database at the moment. Please try again in a few seconds.")
    return _("Not saved yet: the server's database is busy or restarting. Please try again in a few seconds.")


def _is_busy(error: Exception) -> bool:
    """Tell whether another transaction holds a lock for too long."""
    code = getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF  # without what an extended code adds
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or getattr(error.__cause__, "sqlstate", "") == "55P03"


def log_unavailable(request: HttpRequest, error: Exception) -> None:
    """Log the database's message, with the view's name, since the URL may hold a one-time token."""
    view = request.resolver_match.view_name if request.resolver_match else "?"
    logger.error("%s %s: the database is unavailable: %s", request.method, view, error)
