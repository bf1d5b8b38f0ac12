"""A reader's own token for the API."""

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from rest_framework.authtoken.models import Token

from annotation.access import READERS, holds_any
from reporting import services

MADE = "api_token_made"  # in the session, between making a token and showing it once


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
def token(request: HttpRequest) -> HttpResponse:
    """Say whether the user has a token; a post makes a new one, or ends it."""
    if not holds_any(request.user, *READERS):
        raise PermissionDenied("only researchers and admins may use the API")
    if request.method == "POST":
        if "revoke" in request.POST:
            services.revoke_token(user=request.user)
        else:
            request.session[MADE] = services.rotate_token(user=request.user)
        return redirect("reporting:token")  # so that loading the page again makes no other token
    made = request.session.pop(MADE, None)  # shown once
    existing = Token.objects.filter(user=request.user.pk).first()
    return TemplateResponse(request, "reporting/token.html", {"made": made, "existing": existing})
