"""Signing in by a link, signing out, and the first page after signing in."""

import secrets

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, LogoutView, redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.core.http import restrict_referrer
from annotation.members.middleware import is_from_account
from annotation.members.permissions import READERS, has_any_role
from annotation.members.second_factor_views import sign_in
from annotation.members.sign_in_form import SignInForm
from annotation.members.sign_in_links import account_of_link, use_link
from annotation.models.members import Role

BROWSER = "tandem-link"  # cookie: a random id that lets a browser use its link again if the response was lost


class SignInView(LoginView):
    """Sign in by user name and password, and by the second factor of accounts that have one."""

    template_name = "annotation/members/login.html"
    authentication_form = SignInForm
    extra_context = {"mail_on": settings.MAIL_ON}

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Sign in, or ask for the second factor."""
        return sign_in(self.request, form.get_user(), then=self.get_success_url())


@require_safe
def admin_login(request: HttpRequest) -> HttpResponse:
    """Lead Django's admin to the sign-in page: its own asks for no second factor."""
    return redirect_to_login(request.GET.get("next") or reverse("admin:index"))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def login_link(request: HttpRequest) -> HttpResponse:
    """Show which account a link signs in; a POST signs in.

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
    if request.method != "POST" and not is_own:
        return _link_page(request, owner)
    if is_own:
        return restrict_referrer(redirect(settings.LOGIN_REDIRECT_URL))
    then = reverse(settings.LOGIN_REDIRECT_URL)
    return restrict_referrer(sign_in(request, owner, then=then))


def _link_page(request: HttpRequest, owner: User) -> HttpResponse:
    other = _name_of(request.user) if isinstance(request.user, User) else ""
    response = render(request, "annotation/members/sign_in_link.html", {"owner": _name_of(owner), "other": other})
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
