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
from annotation.models import Annotator, Channel
from annotation.recruitment.arrival_limits import join_limited
from annotation.recruitment.arriving import (
    SESSION_LIFETIME,
    participant_of_session,
    public_context,
    refused,
    set_browser_cookie,
    welcome,
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
        cookie = f"tandem-{channel.key}"
        named = request.get_signed_cookie(cookie, default="", salt=_SALT, max_age=SESSION_LIFETIME) or ""
        participant = participant_of_session(request, channel)
        if participant is None and named:
            of_cookie = channel.participants.filter(external_id=named)
            participant = of_cookie.select_related("annotator__user").first()
        user = participant.annotator.user if participant is not None else None
        # Another user who is signed in has to confirm first.
        own = request.method == "POST" or not request.user.is_authenticated or request.user.pk == (user and user.pk)
        if participant is not None and user is not None and user.is_active and own:
            return welcome(request, channel, participant, cookie, participant.external_id, salt=_SALT)
        browser_id = named or secrets.token_urlsafe(24)
        try:
            if participant is None:
                refuse_closed(channel)
            if request.method == "POST":
                participant, _is_new = join_limited(
                    channel=channel, external_id=browser_id, address=client_ip(request), at=timezone.now()
                )
                return welcome(request, channel, participant, cookie, participant.external_id, salt=_SALT)
        except ClaimRefused as refusal:
            return refused(request, channel, refusal)
        context = public_context(channel, is_known=participant is not None)
        response = render(request, "annotation/recruitment/join.html", context)
        known = participant.external_id if participant else browser_id
        set_browser_cookie(response, channel, cookie, known, salt=_SALT)
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
