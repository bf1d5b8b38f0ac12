"""Who is signed in, on pages that look the account up along with the rater's work: one query less for each request."""

from collections.abc import Callable
from functools import wraps

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare


class SignedOut(Exception):
    """The session is nobody's any more; `signed_in` leads to the sign-in page."""


def signed_in(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Decorate a view as `login_required` does, but leave it to the view to look the account up.

    The view has to call `require_account` before it does anything for whom the session names.
    """
    guarded = login_required(view)

    @wraps(view)
    def wrapped(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if named_in(request) is not None:
            try:
                return view(request, *args, **kwargs)
            except SignedOut:
                pass
        return guarded(request, *args, **kwargs)

    return wrapped


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
