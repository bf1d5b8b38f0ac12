"""The anonymous link: one address for everybody, and a cookie that knows a person's browser again."""

import secrets
from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.access import client_ip
from annotation.channel_counts import raters_of_channel
from annotation.errors import ClaimRefused
from annotation.models import Annotator, Channel, Participant
from annotation.recruitment.arriving import KEPT, about, lead_on, participant_of_session, sign_in, too_many, turn_away
from annotation.recruitment.base import Adapter, Farewell, Outcome, Panel, register
from annotation.recruitment.options import OpenDoorForm
from annotation.services.arrivals import TooManyArrivals, join_by_link
from annotation.services.participants import refuse_shut

_SALT = "tandem.anonymous"
MOST_SHOWN = 200


@register
class Anonymous(Adapter):
    """Anybody with the address may join, without a name.

    Opening the address makes nobody a rater, so that programs that look at links make none; its button does. The
    browser is given a signed random id beforehand: a button that is pressed twice makes one rater, and whoever comes
    back with it is the same rater, also when their session has ended.
    """

    kind = Channel.Kind.ANONYMOUS
    options_form = OpenDoorForm

    def arrive(self, request: HttpRequest, channel: Channel) -> HttpResponse:
        """Lead a known browser on; show others the button, and make a rater of whoever presses it."""
        known = participant_of_session(request, channel) or _participant_of_cookie(request, channel)
        if known is not None and _may_lead_on(request, known):
            return _welcome(request, channel, known)
        try:
            if known is None:
                refuse_shut(channel)
            if request.method == "POST":
                drawn = _id_in_cookie(request, channel) or _new_id()
                now = timezone.now()
                known = join_by_link(channel=channel, external_id=drawn, address=client_ip(request), at=now)
                return _welcome(request, channel, known)
        except TooManyArrivals as refusal:
            return too_many(request, channel, str(refusal), refusal.retry_after)
        except ClaimRefused as refusal:
            return turn_away(request, channel, str(refusal))
        context = about(channel, is_known=known is not None)
        response = render(request, "annotation/recruitment/join.html", context)
        _set_cookie(response, channel, known.external_id if known else _id_in_cookie(request, channel) or _new_id())
        return response

    def panel(self, channel: Channel) -> Panel:
        """Show the address and who came."""
        raters = raters_of_channel(channel)
        context: dict[str, Any] = {"raters": raters[:MOST_SHOWN], "more": max(raters.count() - MOST_SHOWN, 0)}
        return Panel("annotation/recruitment/_anonymous_panel.html", context)

    def farewell(self, *, annotator: Annotator, outcome: Outcome, at: datetime) -> Farewell | None:
        """Tell those who did all that there was how to come back: they have no account to remember."""
        if outcome != Outcome.COMPLETED:
            return None
        return Farewell(_("Thank you. Should there be more to rate, the same link leads you on, in this browser."))


def _may_lead_on(request: HttpRequest, known: Participant) -> bool:
    """Tell whether a known browser goes on at once: not if somebody else is signed in there, who has to say so first."""
    user = known.annotator.user
    if user is None or not user.is_active:
        return False
    return request.method == "POST" or not request.user.is_authenticated or request.user.pk == user.pk


def _welcome(request: HttpRequest, channel: Channel, known: Participant) -> HttpResponse:
    """Sign a participant in, unless they are, and lead them on."""
    user = known.annotator.user
    if user is None or not user.is_active:
        return turn_away(request, channel, _("Your place in this study is no longer there."))
    if request.user.pk != user.pk:
        sign_in(request, known.annotator)
    response = lead_on()
    _set_cookie(response, channel, known.external_id)
    return response


def _participant_of_cookie(request: HttpRequest, channel: Channel) -> Participant | None:
    named = _id_in_cookie(request, channel)
    if named is None:
        return None
    return channel.participants.filter(external_id=named).select_related("annotator__user").first()


def _cookie(channel: Channel) -> str:
    return f"tandem-{channel.key}"


def _id_in_cookie(request: HttpRequest, channel: Channel) -> str | None:
    """Return the id that this server gave to the browser; None for one that somebody made up, or that is too old."""
    named = request.get_signed_cookie(_cookie(channel), default="", salt=_SALT, max_age=KEPT)
    return named or None


def _set_cookie(response: HttpResponse, channel: Channel, external_id: str) -> None:
    """Keep a browser's id there, for this channel's address only and out of reach of scripts; each visit renews it."""
    response.set_signed_cookie(
        _cookie(channel),
        external_id,
        salt=_SALT,
        max_age=KEPT,
        path=reverse("annotation:join", args=[channel.key]),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _new_id() -> str:
    return secrets.token_urlsafe(24)
