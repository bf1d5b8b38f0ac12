"""Signing in, signing out, and the first page after signing in.

Sign-in links work once, and for some minutes more in the browser that used them: if the first response is lost, the link
is used but the browser has no session. So the use is recorded, in the session table, whose rows expire.
"""

import secrets
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User, update_last_login
from django.contrib.auth.views import LoginView, LogoutView, redirect_to_login
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe
from sesame.backends import ModelBackend

from annotation.core.http import restrict_referrer
from annotation.members.accounts import resolve_username
from annotation.members.permissions import READERS, has_any_role
from annotation.members.second_factor_views import sign_in
from annotation.members.signed_in import is_from_account
from annotation.models.members import Role

BROWSER = "tandem-link"  # cookie: a random id that lets a browser use its link again if the response was lost
REUSE_WINDOW = timedelta(minutes=10)  # in which a link works again in the browser that used it


def account_of_link(*, token: str, browser: str, at: datetime) -> User | None:
    """Return the account that a link signs in, or None for a used, expired or invalid one.

    browser : the random id in the browser's cookie, or empty
    """
    # Not by django's `authenticate`: old links must not count as failed sign-ins.
    unused: User | None = ModelBackend().authenticate(None, sesame=token) if token else None
    return unused or _account_used_by(token, browser, at)


@transaction.atomic
def use_link(*, token: str, browser: str, at: datetime) -> User | None:
    """Use a link and return its account, or None as `account_of_link` does. Concurrent uses are serialised."""
    owner = account_of_link(token=token, browser=browser, at=at)
    if owner is None:
        return None
    User.objects.select_for_update().get(pk=owner.pk)
    user = account_of_link(token=token, browser=browser, at=at)
    if user is not None and _account_used_by(token, browser, at) is None:
        update_last_login(User, user)  # invalidates the token
        if browser:
            use = {"account": user.pk, "auth_hash": user.get_session_auth_hash()}
            Session.objects.save(_key(token, browser), use, at + REUSE_WINDOW)
    return user


def _account_used_by(token: str, browser: str, at: datetime) -> User | None:
    """Return the account of a link that this browser used recently, unless its password has changed."""
    row = Session.objects.filter(pk=_key(token, browser), expire_date__gt=at).first() if browser else None
    use = row.get_decoded() if row is not None else {}  # empty too if signed with another key
    user = User.objects.filter(pk=use["account"], is_active=True).first() if use else None
    if user is None or not constant_time_compare(use["auth_hash"], user.get_session_auth_hash()):
        return None
    return user


def _key(token: str, browser: str) -> str:
    return salted_hmac("tandem.sign-in-link", f"{token} {browser}", algorithm="sha256").hexdigest()[:40]


class SignInForm(AuthenticationForm):
    """User name and password. `channel`: the channel whose page links here, for self-registered raters."""

    channel = forms.CharField(required=False, max_length=32, widget=forms.HiddenInput)

    def __init__(self, request: Any = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        if request is not None:
            self.fields["channel"].initial = request.GET.get("channel", "")

    def clean(self) -> dict[str, Any]:
        typed = self.cleaned_data.get("username")
        if typed:
            self.cleaned_data["username"] = resolve_username(typed, self.cleaned_data.get("channel", ""))
        return super().clean()

    def get_invalid_login_error(self) -> ValidationError:
        """Return the error, which is the same whether or not the account exists."""
        # Several people may have registered under one name, in different channels.
        hint = _("If you registered by yourself, please sign in from the page where you registered.")
        return ValidationError([super().get_invalid_login_error(), ValidationError(hint, code="invalid_login")])


class SignInView(LoginView):
    """Sign in by user name and password, and by the second factor of accounts that have one."""

    template_name = "annotation/members/login.html"
    authentication_form = SignInForm
    extra_context = {"mail_on": settings.MAIL_ON}

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        return sign_in(self.request, form.get_user(), then=self.get_success_url())


@require_safe
def admin_login(request: HttpRequest) -> HttpResponse:
    """Lead Django's admin to the sign-in page: its own asks for no second factor."""
    return redirect_to_login(request.GET.get("next") or reverse("admin:index"))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def login_link(request: HttpRequest) -> HttpResponse:
    """Show which account a link signs in. A POST signs in.

    GET changes nothing, since mail scanners and link previews open links too.
    """
    token, browser, now = request.GET.get("sesame", ""), request.COOKIES.get(BROWSER, ""), timezone.now()
    owner = account_of_link(token=token, browser=browser, at=now)
    is_own = owner is not None and owner.pk == request.user.pk
    if request.method == "POST" and not is_own:
        owner = use_link(token=token, browser=browser, at=now)
    if owner is None:
        refused = render(request, "annotation/members/link_used.html", status=403)
        return restrict_referrer(refused, holds_form=bool(request.user.is_authenticated))
    if is_own:
        return restrict_referrer(redirect(settings.LOGIN_REDIRECT_URL))
    if request.method == "POST":
        return restrict_referrer(sign_in(request, owner, then=reverse(settings.LOGIN_REDIRECT_URL)))
    names = {"owner": _name_of(owner), "other": _name_of(request.user) if isinstance(request.user, User) else ""}
    response = render(request, "annotation/members/sign_in_link.html", names)
    if BROWSER not in request.COOKIES:
        response.set_cookie(
            BROWSER,
            secrets.token_urlsafe(24),
            max_age=settings.SESAME_MAX_AGE,
            path=reverse("annotation:login-link"),
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    return restrict_referrer(response, holds_form=True)


def _name_of(user: User) -> str:
    """Return the name that the person typed, which differs from the user name of a self-registered account."""
    return user.get_short_name() or user.get_username()


def logout(request: HttpRequest) -> HttpResponseBase:
    """Sign out, and end the browser's reuse of its link."""
    response = LogoutView.as_view()(request)
    response.delete_cookie(BROWSER, path=reverse("annotation:login-link"), samesite="Lax")
    return response


@login_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Redirect to the page that fits the user's roles."""
    if has_any_role(request.user, *READERS):
        return redirect("annotation:studies")
    if has_any_role(request.user, Role.ANNOTATOR):
        return redirect("annotation:rate")
    return render(request, "annotation/members/no_role.html", status=403)


@require_safe
def large_bodies(request: HttpRequest) -> HttpResponse:
    """Tell a proxy whether it may take a large body: 204, or 403 for strangers."""
    return HttpResponse(status=204 if is_from_account(request) else 403)
