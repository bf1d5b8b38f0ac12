"""Authentication by a personal token, within its scopes and its studies."""

from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework import authentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from annotation.members.tokens import find_token, key_of
from annotation.models import ApiToken


class TokenAuthentication(authentication.BaseAuthentication):
    """Reads `Authorization: Token KEY`. `Bearer` means the same."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """Return the token's owner and the token, or None when the request has none.

        Raises: AuthenticationFailed for a key that opens nothing.
        """
        key = key_of(request.META.get("HTTP_AUTHORIZATION", ""))
        if key is None:
            return None
        token = find_token(key=key, at=timezone.now())
        if token is None or not token.user.is_active:
            raise AuthenticationFailed("There is no such token, or it has expired.")
        if token.limited:
            limit = frozenset(token.studies.values_list("pk", flat=True))
            token.user.limited_to = limit  # type: ignore[attr-defined]  # read by `visible_to`
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        """Name what a 401 asks for."""
        return "Token"


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes tokens in the schema."""

    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """Return the header."""
        description = "`Token KEY`; create keys at /api/v1/token/."
        return {"type": "apiKey", "in": "header", "name": "Authorization", "description": description}
