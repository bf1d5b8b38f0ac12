"""Who is signed in, on the pages that raters wait for: asked with prepared queries, and as few as can be."""

from collections.abc import Callable
from datetime import datetime
from functools import wraps

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from annotation.prepared import Prepared


class SignedOut(Exception):
    """The session is nobody's any more; `signed_in` leads to the sign-in page."""


def signed_in(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Decorate a view as `login_required` does, but leave it to the view to look the account up.

    The view has to call `require_account` before it does anything for whom the session names.
    """
    guarded = login_required(view)

    @wraps(view)
    def wrapped(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        _read_session(request)
        if named_in(request) is not None:
            try:
                return view(request, *args, **kwargs)
            except SignedOut:
                pass
        return guarded(request, *args, **kwargs)

    return wrapped


def _data(key: str, at: datetime) -> "QuerySet[Session, str]":
    return Session.objects.filter(session_key=key, expire_date__gt=at).values_list("session_data", flat=True)


def _account(account: int) -> QuerySet[User]:
    return User.objects.filter(pk=account)


_DATA, _ACCOUNT = Prepared(_data), Prepared(_account)


def _read_session(request: HttpRequest) -> None:
    """Read the session with a prepared query; what becomes of one that isn't there is left to Django."""
    session = request.session
    if session.session_key is None or hasattr(session, "_session_cache"):
        return
    data = _DATA.first(key=session.session_key, at=timezone.now())
    if data is not None:
        session._session_cache = session.decode(data)  # type: ignore[attr-defined]  # where it keeps what it has read


def account_named(request: HttpRequest) -> User:
    """Look the account up by itself, for a view behind `signed_in` that has nothing to look up along with it.

    Raises: SignedOut when nobody is signed in.
    """
    named = named_in(request)
    require_account(request, _ACCOUNT.first(account=named) if named is not None else None)
    return request.user  # type: ignore[return-value]  # somebody: else SignedOut was raised


def named_in(request: HttpRequest) -> int | None:
    """Return the key of the account that the session names; whether the session is still good is another question."""
    named = request.session.get(SESSION_KEY)
    return int(named) if named is not None else None


def require_account(request: HttpRequest, found: User | None) -> None:
    """Make the account that was found along with something else the signed-in one, or look up who is.

    Asks what `django.contrib.auth.get_user` asks: is the session this account's, of a backend that is in use, and made
    with its present password; is the account active? Where the answer is no, Django's own way decides, with its
    fallbacks.
    Raises: SignedOut when nobody is signed in.
    """
    if found is not None and _is_of(request, found):
        request._cached_user = found  # type: ignore[attr-defined]  # as Django's AuthenticationMiddleware keeps it
    if not request.user.is_authenticated:
        raise SignedOut


def _is_of(request: HttpRequest, user: User) -> bool:
    session = request.session
    return (
        user.is_active
        and named_in(request) == user.pk
        and session.get(BACKEND_SESSION_KEY) in settings.AUTHENTICATION_BACKENDS
        and constant_time_compare(session.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash())
    )
