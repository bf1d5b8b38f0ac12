"""Token authentication of the API, with full and read-only tokens."""

from typing import Any

from rest_framework import authentication
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from reporting.api.tokens import is_read_only


class TokenAuthentication(authentication.TokenAuthentication):
    """Refuses a read-only token for every unsafe method."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        """Return the user and the token, or None when the request has no token."""
        found = super().authenticate(request)
        if found is not None and is_read_only(found[1]) and request.method not in SAFE_METHODS:
            raise PermissionDenied(
                f"This token is read-only, and {request.method} may change something. Make a full token on /api/v1/token/."
            )
        return found
