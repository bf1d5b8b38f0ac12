"""Sign-in links, which work once, and for some minutes more in the browser that used them.

If the first response is lost, the link is used but the browser has no session. So the use is recorded, in the session
table, whose rows expire.
"""

from datetime import datetime, timedelta

from django.contrib.auth.models import User, update_last_login
from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils.crypto import constant_time_compare, salted_hmac
from sesame.backends import ModelBackend

REUSE_WINDOW = timedelta(minutes=10)


def account_of_link(*, token: str, browser: str, at: datetime) -> User | None:
    """Return the account that a link signs in, or None for a used, expired or invalid one.

    browser : the random id in the browser's cookie, or empty
    """
    # Not by django's `authenticate`: old links must not count as failed sign-ins.
    unused: User | None = ModelBackend().authenticate(None, sesame=token) if token else None
    return unused or _account_used_by(token, browser, at)


@transaction.atomic
def use_link(*, token: str, browser: str, at: datetime) -> User | None:
    """Use a link and return its account, or None as `account_of_link` does; concurrent uses are serialised."""
    found = account_of_link(token=token, browser=browser, at=at)
    if found is None:
        return None
    User.objects.select_for_update().get(pk=found.pk)
    user = account_of_link(token=token, browser=browser, at=at)
    if user is not None and _account_used_by(token, browser, at) is None:
        update_last_login(User, user)  # invalidates the token
        if browser:
            kept = {"account": user.pk, "auth_hash": user.get_session_auth_hash()}
            Session.objects.save(_key(token, browser), kept, at + REUSE_WINDOW)
    return user


def _account_used_by(token: str, browser: str, at: datetime) -> User | None:
    """Return the account of a link that this browser used recently, unless its password has changed."""
    row = Session.objects.filter(pk=_key(token, browser), expire_date__gt=at).first() if browser else None
    kept = row.get_decoded() if row is not None else {}  # empty too if signed with another key
    user = User.objects.filter(pk=kept["account"], is_active=True).first() if kept else None
    if user is None or not constant_time_compare(kept["auth_hash"], user.get_session_auth_hash()):
        return None
    return user


def _key(token: str, browser: str) -> str:
    return salted_hmac("tandem.sign-in-link", f"{token} {browser}", algorithm="sha256").hexdigest()[:40]
