"""The anonymous channel: one address for all raters, and a cookie that identifies the browser."""

import secrets
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.annotators.participants import refuse_closed
from annotation.core.errors import ClaimRefused
from annotation.core.http import client_ip
from annotation.models import Annotator, Channel, Participant
from annotation.recruitment.arrival_limits import join_limited
from annotation.recruitment.arriving import (
    SESSION_LIFETIME,
    participant_of_session,
    public_context,
    redirect_to_work,
    refusal_page,
    refused,
    set_browser_cookie,
    sign_in,
)
from annotation.recruitment.base import Adapter, CompletionMessage, Panel, WorkOutcome, register
from annotation.recruitment.channel_counts import raters_of_channel, rows_of
from annotation.recruitment.options import ArrivalLimitsForm

_SALT = "tandem.anonymous"
MOST_SHOWN = 200


@register
class Anonymous(Adapter):
    """A person who has the address may join, without a name.

    Only the page's button creates a rater: GET does not, so that link previews create none. The browser first gets a
    cookie with a signed random id: pressing twice creates one rater, and a browser that returns with it is the same
    rater, also when their session has ended.
    """

    kind = Channel.Kind.ANONYMOUS
    summary = "One address for all, for a mailing list, a poster or a class. Raters give no name."
    options_form = ArrivalLimitsForm

    def arrive(self, request: HttpRequest, channel: Channel) -> HttpResponse:
        """Redirect a known browser to its work. Show others the button, whose POST creates a rater."""
        participant = participant_of_session(request, channel) or _participant_of_cookie(request, channel)
        if participant is not None and _may_lead_on(request, participant):
            return _welcome(request, channel, participant)
        try:
            if participant is None:
                refuse_closed(channel)
            if request.method == "POST":
                drawn = _id_in_cookie(request, channel) or _new_id()
                now = timezone.now()
                participant, _is_new = join_limited(
                    channel=channel, external_id=drawn, address=client_ip(request), at=now
                )
                return _welcome(request, channel, participant)
        except ClaimRefused as refusal:
            return refused(request, channel, refusal)
        context = public_context(channel, is_known=participant is not None)
        response = render(request, "annotation/recruitment/join.html", context)
        _set_cookie(
            response, channel, participant.external_id if participant else _id_in_cookie(request, channel) or _new_id()
        )
        return response

    def panel(self, channel: Channel) -> Panel:
        """Show the address and the raters."""
        context = rows_of(raters_of_channel(channel), MOST_SHOWN)
        return Panel("annotation/recruitment/_anonymous_panel.html", context)

    def completion_message(
        self, *, annotator: Annotator, outcome: WorkOutcome, at: datetime
    ) -> CompletionMessage | None:
        """Tell raters who have finished how to come back."""
        if outcome not in (WorkOutcome.COMPLETED, WorkOutcome.TIMED_OUT):
            return None
        return CompletionMessage(
            _("Thank you. Should there be more to rate, the same link leads you on, in this browser.")
        )


def _may_lead_on(request: HttpRequest, participant: Participant) -> bool:
    """Tell whether to redirect a known browser at once: not if another user is signed in, who has to confirm first."""
    user = participant.annotator.user
    if user is None or not user.is_active:
        return False
    return request.method == "POST" or not request.user.is_authenticated or request.user.pk == user.pk


def _welcome(request: HttpRequest, channel: Channel, participant: Participant) -> HttpResponse:
    """Sign a participant in unless they are, and redirect them to their work."""
    user = participant.annotator.user
    if user is None or not user.is_active:
        return refusal_page(request, channel, _("Your place in this study is no longer there."))
    if request.user.pk != user.pk:
        sign_in(request, participant.annotator)
    response = redirect_to_work()
    _set_cookie(response, channel, participant.external_id)
    return response


def _participant_of_cookie(request: HttpRequest, channel: Channel) -> Participant | None:
    named = _id_in_cookie(request, channel)
    if named is None:
        return None
    return channel.participants.filter(external_id=named).select_related("annotator__user").first()


def _cookie(channel: Channel) -> str:
    return f"tandem-{channel.key}"


def _id_in_cookie(request: HttpRequest, channel: Channel) -> str | None:
    """Return the id that this server gave to the browser, or None if forged or expired."""
    named = request.get_signed_cookie(_cookie(channel), default="", salt=_SALT, max_age=SESSION_LIFETIME)
    return named or None


def _set_cookie(response: HttpResponse, channel: Channel, external_id: str) -> None:
    """Set the cookie with a browser's id. Each visit renews it."""
    set_browser_cookie(response, channel, _cookie(channel), external_id, salt=_SALT)


def _new_id() -> str:
    return secrets.token_urlsafe(24)
