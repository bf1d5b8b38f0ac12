"""Limits of failed sign-ins per client address."""

from typing import Any

from axes.attempts import get_cool_off_threshold
from axes.handlers.database import AxesDatabaseHandler
from axes.models import AccessAttempt
from django.conf import settings
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _


class SignInLimit(AxesDatabaseHandler):  # type: ignore[misc]  # without types
    """Locks a name at an address, as django-axes does, and an address with too many failures under any names.

    Successful sign-ins don't count, so that many people may share an address.
    """

    def is_locked(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> bool:
        """Tell whether sign-ins are locked for these credentials or this address."""
        return super().is_locked(request, credentials) or _failures_at(request) >= settings.SIGN_IN_FAILURES_PER_ADDRESS


def _failures_at(request: Any) -> int:
    lately = AccessAttempt.objects.filter(attempt_time__gte=get_cool_off_threshold(request))
    at_address = lately.filter(ip_address=request.axes_ip_address)
    return at_address.aggregate(failures=Sum("failures_since_start"))["failures"] or 0


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
