"""Limits of failed sign-ins for a client address, and for the name of an account."""

from typing import Any

from axes.attempts import get_cool_off_threshold
from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_client_username
from axes.models import AccessAttempt
from django.conf import settings
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _


class SignInLimit(AxesDatabaseHandler):  # type: ignore[misc]  # without types
    """Locks a name at an address, as django-axes does, and a name or an address with too many failures of its own.

    Successful sign-ins don't count, so that many people may share an address.
    """

    def is_locked(self, request: Any, credentials: dict[str, Any] | None = None) -> bool:
        """Tell whether sign-ins are locked for these credentials, this address or this name."""
        username = get_client_username(request, credentials)  # a link has none
        return (
            super().is_locked(request, credentials)
            or _failures(request, ip_address=request.axes_ip_address) >= settings.SIGN_IN_FAILURES_PER_ADDRESS
            or bool(username and _failures(request, username=username) >= settings.SIGN_IN_FAILURES_PER_NAME)
        )


def _failures(request: Any, **of: str | None) -> int:
    lately = AccessAttempt.objects.filter(attempt_time__gte=get_cool_off_threshold(request), **of)
    return lately.aggregate(failures=Sum("failures_since_start"))["failures"] or 0


def lockout_response(
    request: HttpRequest, original: HttpResponse | None, credentials: dict[str, Any] | None
) -> HttpResponse:
    """Return the response to a locked sign-in."""
    message = _(
        "Too many wrong passwords were sent, with this name or from your network. Please try again in an hour. Sign-in "
        "links work meanwhile."
    )
    response = render(request, "error.html", {"message": message}, status=429)
    response["Retry-After"] = str(settings.AXES_COOLOFF_TIME * 60 * 60)
    return response
