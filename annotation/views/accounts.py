"""Signing in, and the first page after it."""

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from sesame.utils import get_user

from annotation.access import READERS, holds_any
from annotation.models.people import Role


@never_cache
@require_safe
def login_link(request: HttpRequest) -> HttpResponse:
    """Sign in whoever holds a link that was not used yet."""
    user = get_user(request) if request.method == "GET" else None
    if user is None:
        return render(request, "annotation/link_used.html", status=403)
    login(request, user, backend="sesame.backends.ModelBackend")
    return redirect(settings.LOGIN_REDIRECT_URL)


@login_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Lead everybody to their work."""
    if holds_any(request.user, *READERS):
        return redirect("annotation:studies")
    if holds_any(request.user, Role.ANNOTATOR):
        return redirect("annotation:rate")
    return render(request, "annotation/no_role.html", status=403)
