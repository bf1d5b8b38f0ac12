"""Services for API tokens."""

import secrets
from typing import Any

from django.db import transaction
from rest_framework.authtoken.models import Token

# Prefix of read-only keys. Keys are looked up whole, so a key without its prefix is not valid.
READ_ONLY = "read-"
_RANDOM_BYTES = 17  # prefix and hex digits fit the 40 characters of a key


@transaction.atomic
def rotate_token(*, user: Any, read_only: bool) -> str:
    """Create the user's API token, replacing any existing one, and return its key."""
    Token.objects.filter(user=user).delete()
    key = READ_ONLY + secrets.token_hex(_RANDOM_BYTES) if read_only else Token.generate_key()
    return str(Token.objects.create(user=user, key=key).key)


def is_read_only(token: Token) -> bool:
    """Tell whether a token may only read."""
    return bool(token.key.startswith(READ_ONLY))


@transaction.atomic
def revoke_token(*, user: Any) -> bool:
    """Delete the user's API token; tell whether there was one."""
    ended, _ = Token.objects.filter(user=user).delete()
    return ended > 0
