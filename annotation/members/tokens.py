"""Personal tokens: making, finding and ending them. Only a key's hash is stored."""

import hashlib
import secrets
from collections.abc import Collection
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from annotation.core.errors import BadFields
from annotation.members.permissions import READERS
from annotation.models import ApiToken, Study
from annotation.models.tokens import Scope

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
    Raises: BadFields for a name, scope, study or expiry that can't be.
    """
    problems: dict[str, list[str]] = {}
    if not 1 <= len(name.strip()) <= 100:
        problems["name"] = ["A name of 1 to 100 characters is needed."]
    if not scopes or set(scopes) - set(Scope.values):
        problems["scopes"] = [f"Choose at least one of: {', '.join(Scope.values)}."]
    if expires_at is not None and expires_at <= at:
        problems["expires_at"] = ["This time has passed."]
    visible_ids = set(Study.objects.visible_to(user, *READERS).values_list("pk", flat=True))
    if hidden := [study.slug for study in studies if study.pk not in visible_ids]:
        problems["studies"] = [f"{user} may not read study {hidden[0]}."]
    if problems:
        raise BadFields(problems)
    key = PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        user=user,
        name=name.strip(),
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
