"""Pages of the second factor: the code asked when signing in, and setting it up."""

from datetime import timedelta

import segno
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from annotation.members.permissions import FORM, account_of, account_view
from annotation.members.second_factor import (
    VERIFIED,
    begin_set_up,
    finish_set_up,
    has_second_factor,
    is_code_right,
    make_backup_codes,
    must_have_second_factor,
    remove_second_factor,
)
from annotation.members.signed_in import ACCOUNT_BACKEND

AWAITED = "awaits_code"  # key of a session whose account has given its first factor
CODE_AWAITED_FOR = timedelta(minutes=10)


class CodeForm(forms.Form):
    """A code of the app, or a backup code."""

    code = forms.CharField(
        label=_("Code of your authenticator app, or a backup code"),
        max_length=20,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "autofocus": True, "spellcheck": "false"}),
    )


def sign_in(request: HttpRequest, user: User, *, then: str) -> HttpResponse:
    """Sign an account in and redirect, or ask for its second factor first."""
    if not has_second_factor(user):
        login(request, user, backend=ACCOUNT_BACKEND)
        return redirect(then)
    request.session[AWAITED] = {
        "account": user.pk,
        "auth_hash": user.get_session_auth_hash(),
        "then": then,
        "until": (timezone.now() + CODE_AWAITED_FOR).isoformat(),
    }
    return redirect("annotation:sign-in-code")


@never_cache
@require_http_methods(FORM)
def sign_in_code(request: HttpRequest) -> HttpResponse:
    """Ask for the second factor of an account that has given its first one."""
    awaited = request.session.get(AWAITED, {})
    until = parse_datetime(awaited.get("until", ""))
    in_time = until is not None and until >= timezone.now()
    user = User.objects.filter(pk=awaited["account"], is_active=True).first() if in_time else None
    # The password may have changed meanwhile.
    if user is None or not constant_time_compare(awaited["auth_hash"], user.get_session_auth_hash()):
        return redirect(settings.LOGIN_URL)
    form = CodeForm(request.POST or None)
    if form.is_valid() and _is_right(form, user):
        login(request, user, backend=ACCOUNT_BACKEND)
        request.session.pop(AWAITED, None)
        request.session[VERIFIED] = True
        return redirect(awaited["then"])
    status = 422 if form.is_bound else 200
    return render(request, "annotation/members/sign_in_code.html", {"form": form}, status=status)


def _is_right(form: CodeForm, user: User) -> bool:
    if is_code_right(user=user, code=form.cleaned_data["code"]):
        return True
    form.add_error(
        "code",
        _("This code is wrong, too old or already used. After each wrong code you have to wait longer."),
    )
    return False


@account_view(FORM)
def second_factor(request: HttpRequest) -> HttpResponse:
    """Set up the second factor. With one of its codes, verify this session, make new backup codes, or remove it."""
    user, act = account_of(request), request.POST.get("act", "")
    if request.method == "POST" and act == "begin":
        begin_set_up(user=user)
        return redirect("annotation:second-factor")
    form = CodeForm(request.POST or None)
    codes: list[str] = []
    if form.is_valid():
        if not has_second_factor(user):
            codes = finish_set_up(user=user, code=form.cleaned_data["code"])
            if not codes:
                form.add_error("code", _("This code does not match. Is the clock of your device right?"))
        elif _is_right(form, user):
            if act == "remove":
                remove_second_factor(user=user)
                request.session.pop(VERIFIED, None)
                messages.success(request, _("The second factor is removed."))
                return redirect("annotation:second-factor")
            codes = make_backup_codes(user=user) if act == "codes" else []
        if form.is_valid():
            request.session[VERIFIED] = True
            if not codes:
                return redirect(settings.LOGIN_REDIRECT_URL)
            form = CodeForm()
    app = TOTPDevice.objects.filter(user=user, confirmed=False).first()  # that is being set up
    context = {
        "form": form,
        "codes": codes,
        "has_factor": has_second_factor(user),
        "is_required": must_have_second_factor(user),
        "is_verified": bool(request.session.get(VERIFIED)),
        "remaining": StaticToken.objects.filter(device__user=user).count(),
        "app": app,
    }
    if app is not None:
        context["picture"] = segno.make(app.config_url, micro=False).svg_data_uri(scale=4)
        context["secret"] = app.config_url.partition("secret=")[2].partition("&")[0]
    return render(request, "annotation/members/second_factor.html", context, status=422 if form.errors else 200)
