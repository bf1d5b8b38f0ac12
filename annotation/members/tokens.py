"""Personal tokens: making, finding and ending them. Only a key's hash is stored."""

import hashlib
import secrets
from collections.abc import Collection
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from annotation.models import ApiToken, Study
from annotation.models.members import Scope

PREFIX = "tandem-"  # by which secret scanners and people know what it is
KEYWORDS = ("token", "bearer")
NOTED_EVERY = timedelta(minutes=1)  # the use of a token


@transaction.atomic
def make_token(
    *,
    user: User,
    name: str,
    scopes: Collection[str],
    studies: Collection[Study] = (),
    expires_at: datetime | None = None,
    at: datetime,
) -> tuple[ApiToken, str]:
    """Create a token of a user and return it and its key, which can't be had again.

    studies : the only ones that it opens; none named: all of the user's, those of later too
    """
    key = PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        user=user,
        name=name,
        digest=digest_of(key),
        scopes=[scope for scope in Scope.values if scope in scopes],
        limited=bool(studies),
        created_at=at,
        expires_at=expires_at,
    )
    token.studies.set(studies)
    return token, key


def key_of(authorization: str) -> str | None:
    """Return the key in a request's `Authorization: Token KEY` or `Bearer KEY`, or None for another scheme."""
    keyword, _space, key = authorization.partition(" ")
    return key.strip() if keyword.lower() in KEYWORDS else None


def find_token(*, key: str, at: datetime) -> ApiToken | None:
    """Return the token of a key, unless it has expired, and note its use."""
    valid = ApiToken.objects.filter(Q(expires_at=None) | Q(expires_at__gt=at), digest=digest_of(key))
    token = valid.select_related("user").first()
    if token is not None and (token.last_used_at is None or token.last_used_at < at - NOTED_EVERY):
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=at)
    return token


def end_token(*, user: User, token_id: int) -> bool:
    """Delete a token of a user and return whether there was one."""
    ended, _each = ApiToken.objects.filter(user=user, pk=token_id).delete()
    return ended > 0


def digest_of(key: str) -> str:
    """Return the hash that is stored of a key."""
    return hashlib.sha256(key.encode()).hexdigest()
