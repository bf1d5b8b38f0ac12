"""What adapters share when somebody arrives: signing a rater in, leading them on, and turning people away kindly."""

import re
from datetime import timedelta
from typing import Any

from axes.handlers.proxy import AxesProxyHandler
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from annotation.models import Annotator, Channel, Participant
from annotation.wording import spoken

KEPT = timedelta(days=90)  # how long a browser is known without a password

# What fetches the links in a message to draw a picture of them, or to look for malware. Whoever is taken for one of
# these sees a page with a button instead of being let in at once, so a mistake costs a person one press.
_ROBOTS = re.compile(
    r"bot\b|crawl|spider|slurp|preview|facebookexternalhit|whatsapp|embedly|vkshare|google-safety|safelinks|scanner|"
    r"bitlybot|snippet|link.?check|monitor",
    re.IGNORECASE,
)
_AHEAD = ("Sec-Purpose", "Purpose", "X-Purpose", "X-Moz")


def is_robot(request: HttpRequest) -> bool:
    """Tell whether a request looks like a program that looks ahead for somebody, and not like that person."""
    ahead = any(re.search("prefetch|preview", request.headers.get(header, "")) for header in _AHEAD)
    return ahead or _ROBOTS.search(request.headers.get("User-Agent", "")) is not None


def sign_in(request: HttpRequest, annotator: Annotator) -> None:
    """Begin a session of a rater, under a new session id, for as long as their browser is to be known.

    The log of sign-ins gets neither their address and browser, which nobody needs to know, nor the page's address,
    which may hold what signed them in.
    """
    AxesProxyHandler.update_request(request)
    for name, value in (("ip_address", None), ("user_agent", ""), ("path_info", ""), ("http_accept", "")):
        setattr(request, f"axes_{name}", value)
    login(request, annotator.user, backend="django.contrib.auth.backends.ModelBackend")
    request.session.set_expiry(KEPT)


def is_signed_in_as(request: HttpRequest, annotator: Annotator) -> bool:
    """Tell whether the browser's session is this rater's."""
    return bool(request.user.is_authenticated) and request.user.pk == annotator.user_id


def participant_of_session(request: HttpRequest, channel: Channel) -> Participant | None:
    """Return the participant of a channel whose session the browser has, if any."""
    if not isinstance(request.user, User):
        return None
    mine = channel.participants.filter(annotator__user=request.user)
    return mine.select_related("annotator__user").first()


def lead_on() -> HttpResponse:
    """Lead a rater who is signed in to their work, and tell no page from where."""
    return with_secret_address(redirect("annotation:rate"))


def with_secret_address(response: HttpResponse, *, holds_form: bool = False) -> HttpResponse:
    """Keep an address that signs somebody in away from other pages.

    holds_form : the page sends a form, which a browser that tells no page at all could not vouch for
    """
    response["Referrer-Policy"] = "same-origin" if holds_form else "no-referrer"
    return response


def about(channel: Channel, **more: Any) -> dict[str, Any]:
    """Return what a page says of the study before anybody has joined: its own words, and never its name."""
    return {"study": channel.study, "question": spoken(channel.study.question), **more}


def turn_away(request: HttpRequest, channel: Channel, reason: str, *, status: int = 403, **more: Any) -> HttpResponse:
    """Say why somebody can't come in, and whom to ask."""
    context = about(channel, **{"reason": reason, "title": _("You can’t join here now"), **more})
    response = render(request, "annotation/recruitment/refused.html", context, status=status)
    return with_secret_address(response, holds_form=bool(request.user.is_authenticated))


def too_many(request: HttpRequest, channel: Channel, reason: str, retry_after: int | None) -> HttpResponse:
    """Say that too many have come, and when to try again where that helps."""
    response = turn_away(request, channel, reason, status=429)
    if retry_after is not None:
        response["Retry-After"] = str(retry_after)
    return response
