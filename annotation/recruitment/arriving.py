"""Shared by adapters: sign a rater in and know them again, redirect them to their work, or refuse a visitor."""

import re
from datetime import timedelta
from typing import Any

from axes.handlers.proxy import AxesProxyHandler
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.core.errors import ClaimRefused
from annotation.core.http import restrict_referrer
from annotation.members.signed_in import ACCOUNT_BACKEND
from annotation.models import Annotator, Channel, Participant
from annotation.questions.labels import translate_default
from annotation.recruitment.arrival_limits import TooManyArrivals

SESSION_LIFETIME = timedelta(days=90)  # how long a browser is known without a password

# Programs that fetch the links in messages, for previews or malware scans. They get a page with a button instead of
# being signed in at once, so a false positive costs a person one click.
_ROBOTS = re.compile(
    r"bot\b|crawl|spider|slurp|preview|facebookexternalhit|whatsapp|embedly|vkshare|google-safety|safelinks|scanner|"
    r"bitlybot|snippet|link.?check|monitor",
    re.IGNORECASE,
)
_AHEAD = ("Sec-Purpose", "Purpose", "X-Purpose", "X-Moz")


def is_robot(request: HttpRequest) -> bool:
    """Tell whether a request looks like a link preview or a prefetch."""
    ahead = any(re.search("prefetch|preview", request.headers.get(header, "")) for header in _AHEAD)
    return ahead or _ROBOTS.search(request.headers.get("User-Agent", "")) is not None


def sign_in(request: HttpRequest, annotator: Annotator) -> None:
    """Sign a rater in, with a session that lasts SESSION_LIFETIME.

    The log of sign-ins gets neither their network address and browser, nor the page's address, which may hold a token.
    """
    AxesProxyHandler.update_request(request)
    for name, value in (("ip_address", None), ("user_agent", ""), ("path_info", ""), ("http_accept", "")):
        setattr(request, f"axes_{name}", value)
    login(request, annotator.user, backend=ACCOUNT_BACKEND)
    request.session.set_expiry(SESSION_LIFETIME)


def is_signed_in_as(request: HttpRequest, annotator: Annotator) -> bool:
    """Tell whether the browser's session is this rater's."""
    return bool(request.user.is_authenticated) and request.user.pk == annotator.user_id


def participant_of_session(request: HttpRequest, channel: Channel) -> Participant | None:
    """Return the participant of a channel whose session the browser has, if any."""
    if not isinstance(request.user, User):
        return None
    mine = channel.participants.filter(annotator__user=request.user)
    return mine.select_related("annotator__user").first()


def redirect_to_work() -> HttpResponse:
    """Redirect a signed-in rater to their work, without a referrer."""
    return restrict_referrer(redirect("annotation:rate"))


def public_context(channel: Channel, **more: Any) -> dict[str, Any]:
    """Return the context of pages shown before joining: the study's texts, never its name."""
    return {"study": channel.study, "question": translate_default(channel.study.question), **more}


def refusal_page(
    request: HttpRequest, channel: Channel, reason: str, *, status: int = 403, **more: Any
) -> HttpResponse:
    """Return a page that says why a visitor can't come in, and whom to ask."""
    context = public_context(channel, **{"reason": reason, "title": _("You can’t join here now"), **more})
    response = render(request, "annotation/recruitment/refused.html", context, status=status)
    return restrict_referrer(response, holds_form=bool(request.user.is_authenticated))


def refused(request: HttpRequest, channel: Channel, refusal: ClaimRefused) -> HttpResponse:
    """Return the page of a refusal. One at a limit has status 429, and says when to retry if that helps."""
    if not isinstance(refusal, TooManyArrivals):
        return refusal_page(request, channel, str(refusal))
    response = refusal_page(request, channel, str(refusal), status=429)
    if refusal.retry_after is not None:
        response["Retry-After"] = str(refusal.retry_after)
    return response


def confirmation_page(request: HttpRequest, channel: Channel) -> HttpResponse:
    """Return a page with a button, for link previews and for browsers in which another user is signed in."""
    response = render(request, "annotation/recruitment/begin.html", public_context(channel))
    return restrict_referrer(response, holds_form=True)


def set_browser_cookie(response: HttpResponse, channel: Channel, name: str, value: str, *, salt: str) -> None:
    """Set a signed cookie for this channel's address only, by which the browser is known when it comes again."""
    response.set_signed_cookie(
        name,
        value,
        salt=salt,
        max_age=SESSION_LIFETIME,
        path=reverse("annotation:join", args=[channel.key]),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def welcome(
    request: HttpRequest, channel: Channel, participant: Participant, cookie: str, value: str, *, salt: str
) -> HttpResponse:
    """Sign a participant in unless they are, and redirect them to their work, with a cookie for the browser."""
    user = participant.annotator.user
    if user is None or not user.is_active:
        return refusal_page(request, channel, _("Your place in this study is no longer there."))
    if request.user.pk != user.pk:
        sign_in(request, participant.annotator)
    response = redirect_to_work()
    set_browser_cookie(response, channel, cookie, value, salt=salt)
    return response
