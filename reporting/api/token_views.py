"""The page of a user's own API token."""

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from rest_framework.authtoken.models import Token

from annotation.members.permissions import MANAGERS, READERS, has_any_role
from reporting.api import tokens

SESSION_KEY = "api_token_made"  # holds a new token until it is shown, once
KINDS = {"read-only": True, "full": False}


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
def token(request: HttpRequest) -> HttpResponse:
    """Show whether the user has a token, and of which kind; a POST creates or revokes it."""
    if not has_any_role(request.user, *READERS):
        raise PermissionDenied("only researchers and admins may use the API")
    kind = request.POST.get("make", "")
    if "revoke" in request.POST:
        tokens.revoke_token(user=request.user)
    elif kind in KINDS:
        request.session[SESSION_KEY] = tokens.rotate_token(user=request.user, read_only=KINDS[kind])
    else:
        return _page(request)
    return redirect("reporting:token")  # a reload must not create another token


def _page(request: HttpRequest) -> HttpResponse:
    existing = Token.objects.filter(user=request.user.pk).first()
    unclear = request.method == "POST"
    context = {
        "made": request.session.pop(SESSION_KEY, None),  # shown once
        "existing": existing,
        "read_only": existing is not None and tokens.is_read_only(existing),
        "manages": has_any_role(request.user, *MANAGERS),
        "unclear": unclear,
    }
    return TemplateResponse(request, "reporting/api/token.html", context, status=422 if unclear else 200)
