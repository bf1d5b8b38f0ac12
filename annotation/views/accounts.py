"""Signing in, and the first page after it."""

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from sesame.backends import ModelBackend

from annotation.access import READERS, holds_any
from annotation.models.people import Role


@never_cache
@require_safe
def login_link(request: HttpRequest) -> HttpResponse:
    """Sign in whoever holds a link that was not used yet."""
    token = request.GET.get("sesame", "") if request.method == "GET" else ""
    # Asked directly: a signed token can't be guessed, so stale links are not to count as attempts that lock others out.
    user = ModelBackend().authenticate(request, sesame=token) if token else None
    if user is None:
        response = render(request, "annotation/link_used.html", status=403)
    else:
        login(request, user, backend="sesame.backends.ModelBackend")
        response = redirect(settings.LOGIN_REDIRECT_URL)
    response["Referrer-Policy"] = "no-referrer"
    return response


@login_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Lead everybody to their work."""
    if holds_any(request.user, *READERS):
        return redirect("annotation:studies")
    if holds_any(request.user, Role.ANNOTATOR):
        return redirect("annotation:rate")
    return render(request, "annotation/no_role.html", status=403)
