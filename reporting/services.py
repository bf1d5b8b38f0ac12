"""What reporting writes: tokens for the API, and nothing else."""

from typing import Any

from django.db import transaction
from rest_framework.authtoken.models import Token


@transaction.atomic
def rotate_token(*, user: Any) -> str:
    """Make the user's API token, and end the one that they had; it is shown once, by whoever asked."""
    Token.objects.filter(user=user).delete()
    return str(Token.objects.create(user=user).key)


@transaction.atomic
def revoke_token(*, user: Any) -> bool:
    """End the user's API token; tell whether there was one."""
    ended, _ = Token.objects.filter(user=user).delete()
    return ended > 0
