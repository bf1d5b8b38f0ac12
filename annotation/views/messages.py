"""Messages as the raters they were sent to put them away."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods

from annotation.access import account_of
from annotation.services.messages import mark_read


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def message_read(request: HttpRequest) -> HttpResponse:
    """Put a message to the signed-in rater away, and lead back to where they were."""
    if request.method == "POST":
        mark_read(user=account_of(request), key=request.POST.get("key", ""), at=timezone.now())
        if getattr(request, "htmx", False):
            return render(request, "annotation/_messages.html")
    back = request.POST.get("next", "")
    local = url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()}, require_https=request.is_secure())
    return redirect(back if local else "annotation:rate")
