"""The view with which a rater dismisses a message."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods

from annotation.annotators.messages import mark_read
from annotation.members.permissions import account_of


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def message_read(request: HttpRequest) -> HttpResponse:
    """Mark a message to the signed-in rater as read, and return to the page they were on."""
    if request.method == "POST":
        mark_read(user=account_of(request), key=request.POST.get("key", ""), at=timezone.now())
        if getattr(request, "htmx", False):
            return render(request, "annotation/rating/_messages.html")
    back = request.POST.get("next", "")
    local = url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()}, require_https=request.is_secure())
    return redirect(back if local else "annotation:rate")
