"""Pages of an account's address, and of new passwords by mail."""

from typing import Any

from axes.handlers.proxy import AxesProxyHandler
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.contrib.auth.views import PasswordResetConfirmView
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from annotation.core.http import restrict_referrer
from annotation.members.audit import log_new_password
from annotation.members.mails import ask_for_confirmation, ask_for_reset, confirm_address
from annotation.members.permissions import FORM, account_of, account_view

# Name under which requests for new passwords are counted, beside failed sign-ins; no account can have it.
RESETS = "(new password)"


class AddressForm(forms.Form):
    """An account's address, with its password where it has one, so that a browser left open is not enough."""

    address = forms.EmailField(label=gettext_lazy("Your e-mail address"), required=False)
    password = forms.CharField(
        label=gettext_lazy("Your password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request, self.user = request, account_of(request)
        self.initial.setdefault("address", self.user.email)
        if not self.user.has_usable_password():
            del self.fields["password"]

    def clean_password(self) -> str:
        """Check the password, as signing in does."""
        password: str = self.cleaned_data["password"]
        if authenticate(self.request, username=self.user.get_username(), password=password) is None:
            raise forms.ValidationError(_("This is not your password."))
        return password


@account_view(FORM)
def account(request: HttpRequest) -> HttpResponse:
    """Show the user's account, and change or remove its address."""
    user = account_of(request)
    form = AddressForm(request.POST or None, request=request)
    if form.is_valid():
        address = form.cleaned_data["address"]
        if not address:
            user.email = ""
            user.save(update_fields=["email"])
            messages.success(request, _("Saved."))
        elif settings.MAIL_ON:
            ask_for_confirmation(user=user, address=address, at=timezone.now())
            messages.success(request, _("A mail is on its way to this address: open its link to confirm it."))
        return redirect("annotation:account")
    context = {"form": form, "mail_on": settings.MAIL_ON}
    return render(request, "annotation/members/account.html", context, status=422 if form.is_bound else 200)


@account_view(FORM)
def confirmation(request: HttpRequest, token: str) -> HttpResponse:
    """Ask whether an address is to be confirmed. A POST does so, since mail scanners open links too."""
    if request.method == "POST":
        confirm_address(user=account_of(request), token=token)
        messages.success(request, _("Your address is confirmed."))
        return restrict_referrer(redirect("annotation:account"))
    return restrict_referrer(render(request, "annotation/members/confirm_address.html"), holds_form=True)


class ResetForm(forms.Form):
    """The address of an account."""

    address = forms.EmailField(
        label=gettext_lazy("E-mail address of your account"),
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )


@require_http_methods(FORM)
def new_password(request: HttpRequest) -> HttpResponse:
    """Ask for an address, and say the same whether or not an account has it."""
    if not settings.MAIL_ON:
        raise Http404("no mail is sent here")
    form = ResetForm(request.POST or None)
    if form.is_valid():
        credentials = {"username": RESETS}
        if not AxesProxyHandler.is_allowed(request, credentials):
            message = _("Too many new passwords were asked for from your network. Please try again in an hour.")
            return render(request, "error.html", {"message": message}, status=429)
        user_login_failed.send(sender=User, credentials=credentials, request=request)  # counted like one
        ask_for_reset(address=form.cleaned_data["address"], at=timezone.now())
        return render(request, "annotation/members/new_password.html", {"is_asked": True})
    context = {"form": form}
    return render(request, "annotation/members/new_password.html", context, status=422 if form.is_bound else 200)


class ChoosePasswordView(PasswordResetConfirmView):
    """Take the new password of an account whose owner has opened a link. Signing in comes after it."""

    template_name = "annotation/members/choose_password.html"
    success_url = reverse_lazy("annotation:login")

    def form_valid(self, form: Any) -> HttpResponse:
        log_new_password(account=form.user.pk)
        messages.success(self.request, _("Your new password is saved. Sign in with it now."))
        return super().form_valid(form)
