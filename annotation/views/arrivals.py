"""Where people come from outside: a channel's address, and one-time links. Nobody needs to be signed in here."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.access import for_eyes_only
from annotation.errors import ClaimRefused
from annotation.models import Channel, Invitation
from annotation.recruitment.arriving import (
    about,
    is_robot,
    is_signed_in_as,
    lead_on,
    sign_in,
    turn_away,
    with_secret_address,
)
from annotation.recruitment.base import adapter_of
from annotation.services.invitations import accept_invitation, find_invitation, refuse_unusable


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@for_eyes_only
def join(request: HttpRequest, channel_key: str) -> HttpResponse:
    """Have a channel's adapter answer whoever opened its address."""
    channel = _channel(channel_key)
    return adapter_of(channel).arrive(request, channel)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@for_eyes_only
def invitation(request: HttpRequest, channel_key: str, token: str) -> HttpResponse:
    """Sign in whoever holds a link that was not used yet, and lead them on.

    Opening the link is enough for a person's browser. What looks like a program that looks ahead, and a browser in which
    somebody else is signed in, get a page with a button first: a picture in a chat spends no link, and nobody finds
    themselves in another's place without having said so.
    """
    channel = _channel(channel_key)
    found = find_invitation(channel=channel, token=token)
    if found is None:
        reason = _("This server knows no such link. Please look whether all of it was copied.")
        return turn_away(request, channel, reason, status=404)
    own = is_signed_in_as(request, found.annotator)
    if own and found.used_at is not None:
        return lead_on()
    try:
        refuse_unusable(found, timezone.now())
        if request.method == "POST" or own or not (is_robot(request) or request.user.is_authenticated):
            sign_in(request, accept_invitation(invitation=found, at=timezone.now()))
            return lead_on()
    except ClaimRefused as refusal:
        return turn_away(request, channel, str(refusal), title=_("This link no longer works"))
    return _button(request, found)


def _button(request: HttpRequest, found: Invitation) -> HttpResponse:
    response = render(request, "annotation/recruitment/begin.html", about(found.channel))
    return with_secret_address(response, holds_form=True)


def _channel(key: str) -> Channel:
    return get_object_or_404(Channel.objects.select_related("study"), key=key)
