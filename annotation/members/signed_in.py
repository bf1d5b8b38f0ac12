"""The sender of a request: session and account, and the middleware that depends on them."""

import logging
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.db import Error
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin

from annotation.core.database.prepared import Prepared
from annotation.core.http import RATERS_PAGES
from annotation.core.request_ids import current
from annotation.members.audit import changes as noted_changes
from annotation.members.second_factor import VERIFIED, must_have_second_factor
from annotation.members.tokens import find_token, key_of
from annotation.models import AuditEntry

ACCOUNT_BACKEND = "annotation.members.signed_in.AccountBackend"  # by which every account signs in
SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
# Raters' pages, arrivals, platforms' messages, signing in: those have records of their own.
NOT_RESEARCHERS = (*RATERS_PAGES, "/hooks/")
SECRET = ("token",)  # parts of addresses that are no keys
# Pages on which no second factor is required: raters', and those by which it is given.
EXEMPT = (*RATERS_PAGES, "/account/second-factor/")
STRANGERS_MOST = 64 * 1024  # bytes: more than any form that is sent without an account

logger = logging.getLogger(__name__)


def _session(key: str, now: datetime) -> "QuerySet[Session, str]":
    return Session.objects.filter(session_key=key, expire_date__gt=now).values_list("session_data", flat=True)


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
        return self.decode(stored)


class AccountBackend(ModelBackend):
    """Django's accounts."""

    def get_user(self, user_id: int) -> User | None:
        """Return an account that may sign in."""
        account = _ACCOUNT.first(pk=int(user_id))
        return account if account is not None and self.user_can_authenticate(account) else None


class BodySizeMiddleware(MiddlewareMixin):
    """Refuses the large bodies of strangers, and any body of more than four times what may be uploaded.

    Of a smaller one that is too large the form says so: a browser shows no answer that comes before it has sent all.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        """Look at the announced length. A body without one is not read at all."""
        size = int(request.META.get("CONTENT_LENGTH") or 0)
        if size > 4 * settings.UPLOAD_MAX_BYTES:
            limit = settings.UPLOAD_MAX_BYTES // 2**20
            return _refusal(request, f"This is too large: up to {limit} MB are allowed.")
        if size > STRANGERS_MOST and not is_from_account(request):
            limit = STRANGERS_MOST // 2**10
            return _refusal(request, f"Only signed-in users may send more than {limit} KB.")
        return None


def _refusal(request: HttpRequest, message: str) -> HttpResponse:
    refusal: HttpResponse
    if request.path.startswith("/api/"):
        refusal = JsonResponse({"detail": message}, status=413)
    else:
        refusal = HttpResponse(message, status=413, content_type="text/plain; charset=utf-8")
    refusal["Connection"] = "close"  # else the server would read the body before it takes the next request
    return refusal


def is_from_account(request: HttpRequest) -> bool:
    """Tell whether a request has the session of an active account, or the key of a valid token."""
    key = key_of(request.META.get("HTTP_AUTHORIZATION", ""))
    if key is not None:
        token = find_token(key=key, at=timezone.now())
        return token is not None and token.user.is_active
    return get_user(request).is_authenticated


class AuditMiddleware(MiddlewareMixin):
    """Adds a row for each request, even a refused one, that may change something, except raters'."""

    def process_request(self, request: HttpRequest) -> None:
        noted_changes.set([] if is_audited(request) else None)

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        changes = noted_changes.get()
        noted_changes.set(None)
        if changes is None:
            return response
        match = request.resolver_match
        try:
            if request.user.is_authenticated:
                AuditEntry.objects.create(
                    account=request.user.pk,
                    method=(request.method or "")[:7],
                    action=match.view_name[:120] if match else "-",
                    about={name: str(value) for name, value in match.kwargs.items() if name not in SECRET}
                    if match
                    else {},
                    status=response.status_code,
                    request_id=current.get(),
                    changes=changes,
                )
        except Error as error:  # the response has the outcome
            logger.error("%s %s is not in the audit log: %s", request.method, match, error)
        return response


def is_audited(request: HttpRequest) -> bool:
    """Tell whether a request may change something and is not a rater's."""
    return request.method not in SAFE and not request.path.startswith(NOT_RESEARCHERS)


class SecondFactorMiddleware(MiddlewareMixin):
    """Redirects unverified accounts to the page of the second factor where it is required."""

    def process_view(self, request: HttpRequest, *_view: object) -> HttpResponse | None:
        """Redirect an unverified session. A verified one costs no query."""
        if not settings.SECOND_FACTOR_REQUIRED or request.path.startswith(EXEMPT):
            return None
        if not isinstance(request.user, User) or request.session.get(VERIFIED):
            return None
        return redirect("annotation:second-factor") if must_have_second_factor(request.user) else None
