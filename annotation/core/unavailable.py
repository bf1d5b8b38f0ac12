"""503 responses while the database is locked or away."""

import logging

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _

from annotation.core.http import is_htmx
from annotation.core.request_ids import current

# A lock timeout, a restarting server or a full disk; a closed connection.
UNAVAILABLE = (OperationalError, InterfaceError)
RETRY_SECONDS = 5
HEADERS = {"Retry-After": str(RETRY_SECONDS), "Cache-Control": "no-store"}

logger = logging.getLogger(__name__)


class UnavailableDatabaseMiddleware(MiddlewareMixin):
    """Answers database errors of views with 503. The transaction was rolled back."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Render a page, or a card for htmx, without queries."""
        if not isinstance(error, UNAVAILABLE):
            return None
        log_unavailable(request, error)
        template = "503.html#card" if is_htmx(request) else "503.html"
        is_read = request.method in ("GET", "HEAD")
        page = render_to_string(
            template, {"message": message_for(request.method), "is_read": is_read, "request_id": current.get()}
        )
        return HttpResponse(page, status=503, headers=HEADERS)


def message_for(method: str | None) -> str:
    """Return the message for a failed request of this method."""
    if method in ("GET", "HEAD"):
        return _("The server can't read its database at the moment. Please try again in a few seconds.")
    return _("Not saved yet: the server's database is busy or restarting. Please try again in a few seconds.")


def log_unavailable(request: HttpRequest, error: Exception) -> None:
    """Log the database's message, with the view's name, since the URL may hold a one-time token."""
    view = request.resolver_match.view_name if request.resolver_match else "?"
    logger.error("%s %s: the database is unavailable: %s", request.method, view, error)
