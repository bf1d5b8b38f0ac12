"""Deleting an account: one's own, or as a site admin any."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.core.http import attempt
from annotation.members.permissions import FORM, account_of, is_site_admin
from annotation.privacy.erasing import delete_account
from reporting.corrections.declarations import Effect, effects_of


class DeleteAccount(forms.Form):
    """Delete an account with its roles and tokens. Its ratings stay under their codes. This can't be undone."""

    confirm = forms.CharField(max_length=150, label="Name of the account", help_text="Type it to confirm.")
    preview = forms.BooleanField(required=False, label="Preview", help_text="Only list what is affected.")

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_confirm(self) -> str:
        """Require the account's name."""
        if self.cleaned_data["confirm"] != self.user.get_username():
            raise forms.ValidationError(f"Type {self.user.get_username()}.", code="confirm")
        return self.user.get_username()

    def effects(self) -> list[Effect]:
        """Count what is deleted, and the studies in which ratings stay."""
        counts = {
            "roles": self.user.role_grants.count(),
            "API tokens": self.user.api_tokens.count(),
            "studies in which ratings stay under a code": self.user.annotators.count(),
        }
        return effects_of(counts)

    def run(self, *, by: User | None) -> str:
        """Delete the account."""
        name = self.user.get_username()
        delete_account(user=self.user, by=by, at=timezone.now())
        return f"Account {name} was deleted."


def find_account(by: Any, username: str) -> User:
    """Return an account that a user may delete, or raise Http404."""
    user = User.objects.filter(username=username).first()
    is_own = user is not None and user.pk == by.pk and getattr(by, "limited_to", None) is None
    if user is None or not (is_own or is_site_admin(by)):
        raise Http404(f"no account {username}")
    return user


@never_cache
@login_required
@require_http_methods(FORM)
def delete(request: HttpRequest, username: str) -> HttpResponse:
    """Show what goes with an account, and delete it once its name is typed."""
    by = account_of(request)
    user = find_account(by, username)
    is_own = by.pk == user.pk
    form = DeleteAccount(request.POST if request.method == "POST" else None, user=user)
    effects = form.effects()
    if form.is_valid() and (message := attempt(form, lambda: form.run(by=by))) is not None:
        if is_own:
            request.session.flush()  # `request.user` stays, for the audit log
            return redirect("annotation:login")
        messages.success(request, message)
        return redirect("annotation:groups")
    status = 422 if form.is_bound else 200
    context = {"form": form, "effects": effects, "account": user}
    return render(request, "reporting/corrections/delete_account.html", context, status=status)
