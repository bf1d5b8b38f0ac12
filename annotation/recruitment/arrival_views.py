"""Public views: a channel's address, and one-time links."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.core.errors import ClaimRefused
from annotation.core.http import skip_prefetch
from annotation.models import Channel
from annotation.recruitment.arriving import (
    confirmation_page,
    is_robot,
    is_signed_in_as,
    redirect_to_work,
    refusal_page,
    sign_in,
)
from annotation.recruitment.base import adapter_of
from annotation.recruitment.invitations import accept_invitation, find_invitation, refuse_unusable


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@skip_prefetch
def join(request: HttpRequest, channel_key: str) -> HttpResponse:
    """Let the channel's adapter answer an arrival."""
    channel = _channel(channel_key)
    return adapter_of(channel).arrive(request, channel)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@skip_prefetch
def invitation(request: HttpRequest, channel_key: str, token: str) -> HttpResponse:
    """Sign the visitor in by an unused link, and redirect them to their work.

    Link preview programs, and browsers in which another user is signed in, get a page with a button first: a preview
    must not use up the link, and an account is not changed without asking.
    """
    channel = _channel(channel_key)
    invitation = find_invitation(channel=channel, token=token)
    if invitation is None:
        reason = _("This server knows no such link. Please look whether all of it was copied.")
        return refusal_page(request, channel, reason, status=404)
    own = is_signed_in_as(request, invitation.annotator)
    if own and invitation.used_at is not None:
        return redirect_to_work()
    try:
        refuse_unusable(invitation, timezone.now())
        if request.method == "POST" or own or not (is_robot(request) or request.user.is_authenticated):
            sign_in(request, accept_invitation(invitation=invitation, at=timezone.now()))
            return redirect_to_work()
    except ClaimRefused as refusal:
        return refusal_page(request, channel, str(refusal), title=_("This link no longer works"))
    return confirmation_page(request, invitation.channel)


def _channel(key: str) -> Channel:
    return get_object_or_404(Channel.objects.select_related("study"), key=key)
