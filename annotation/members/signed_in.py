"""The session and the account of a request, read by prepared queries."""

from datetime import datetime
from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.utils import timezone

from annotation.core.database.prepared import Prepared

ACCOUNT_BACKEND = "annotation.members.signed_in.AccountBackend"  # by which every account signs in


def _session(key: str, now: datetime) -> QuerySet[Session]:
    return Session.objects.filter(session_key=key, expire_date__gt=now)


def _account(pk: int) -> QuerySet[User]:
    return User.objects.filter(pk=pk)


_SESSION, _ACCOUNT = Prepared(_session), Prepared(_account)


class SessionStore(db.SessionStore):
    """Django's sessions in the database."""

    def load(self) -> dict[str, Any]:
        """Return the data of the session. An ended one has no data and no key."""
        stored = _SESSION.first(key=self.session_key, now=timezone.now()) if self.session_key else None
        if stored is None:
            self._session_key = None
            return {}
        return self.decode(stored.session_data)


class AccountBackend(ModelBackend):
    """Django's accounts."""

    def get_user(self, user_id: int) -> User | None:
        """Return an account that may sign in."""
        account = _ACCOUNT.first(pk=int(user_id))
        return account if account is not None and self.user_can_authenticate(account) else None
