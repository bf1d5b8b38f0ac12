"""The page of a user's own API tokens."""

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.core.http import attempt
from annotation.members.forms import TokenForm
from annotation.members.permissions import MANAGERS, READERS, account_of, has_any_role
from annotation.members.tokens import end_token
from annotation.models.members import Scope

SESSION_KEY = "api_token_made"  # holds a new key until it is shown, once


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
    if form.is_valid() and (key := attempt(form, lambda: form.run(at=timezone.now())[1])):
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
