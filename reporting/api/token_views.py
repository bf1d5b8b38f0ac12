"""The page of a user's own API tokens."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.core.http import attempt
from annotation.members.permissions import MANAGERS, READERS, account_of, has_any_role
from annotation.members.tokens import end_token, make_token
from annotation.models import Study
from annotation.models.tokens import Scope

SESSION_KEY = "api_token_made"  # holds a new key until it is shown, once


class TokenForm(forms.Form):
    """A token to create."""

    name = forms.CharField(max_length=100, label="Name", help_text="What it is for; you see it in the list.")
    scopes = forms.MultipleChoiceField(
        choices=Scope.choices, initial=[Scope.READ], widget=forms.CheckboxSelectMultiple, label="It may"
    )
    studies = forms.ModelMultipleChoiceField(
        Study.objects.none(),
        required=False,
        label="Only in these studies",
        help_text="Default: all of yours, later ones too.",
    )
    days = forms.TypedChoiceField(
        choices=[(30, "30 days"), (90, "90 days"), (365, "a year"), ("", "no end")],
        coerce=int,
        empty_value=None,
        required=False,
        initial=90,
        label="It is valid for",
    )

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        studies: Any = self.fields["studies"]
        studies.queryset = Study.objects.visible_to(user, *READERS).order_by("slug")


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
def token(request: HttpRequest) -> HttpResponse:
    """List the user's tokens. A POST makes or ends one."""
    user = account_of(request)
    if not has_any_role(user, *READERS):
        raise PermissionDenied("only researchers and admins may use the API")
    if (ended := request.POST.get("end", "")).isdecimal():
        end_token(user=user, token_id=int(ended[:18]))
        return redirect("reporting:token")
    form = TokenForm(request.POST if request.method == "POST" else None, user=user)
    if form.is_valid() and (key := attempt(form, lambda: _make(request, form.cleaned_data))):
        request.session[SESSION_KEY] = key
        return redirect("reporting:token")  # a reload must not make another token
    context = {
        "form": form,
        "made": request.session.pop(SESSION_KEY, None),  # shown once
        "tokens": user.api_tokens.prefetch_related("studies"),
        "labels": dict(Scope.choices),
        "now": timezone.now(),
        "manages": has_any_role(user, *MANAGERS),
    }
    return TemplateResponse(request, "reporting/api/token.html", context, status=422 if form.is_bound else 200)


def _make(request: HttpRequest, cleaned: dict[str, Any]) -> str:
    now, days = timezone.now(), cleaned.pop("days")
    expires_at = now + timedelta(days=days) if days else None
    return make_token(user=account_of(request), **cleaned, expires_at=expires_at, at=now)[1]
