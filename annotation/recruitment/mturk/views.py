"""Views behind MTurk's frame: the state of an assignment, and the link into the rating pages."""

import secrets

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.core.errors import AnnotationError, ClaimRefused
from annotation.core.http import is_htmx, skip_prefetch, status_of
from annotation.models import Channel, Submission
from annotation.recruitment.arriving import (
    SESSION_LIFETIME,
    confirmation_page,
    is_robot,
    is_signed_in_as,
    redirect_to_work,
    sign_in,
)
from annotation.recruitment.mturk.frames import FRAME, framed, framed_refusal, read_frame, read_link, state_of
from annotation.recruitment.mturk.site import MturkSettings
from annotation.recruitment.mturk.work import begin

BROWSER_COOKIE = "tandem-mturk"
BROWSER_SALT = "tandem.mturk.browser"


def _channel(key: str) -> Channel:
    return get_object_or_404(Channel.objects.select_related("study"), key=key, kind=Channel.Kind.MTURK)


@never_cache
@require_safe
@skip_prefetch
def status(request: HttpRequest, channel_key: str, token: str) -> HttpResponse:
    """Show an assignment's state in MTurk's frame: the page, or its partial for htmx."""
    channel = _channel(channel_key)
    submission = read_frame(channel, token)
    if submission is None:
        return framed_refusal(
            request, channel, _("This page is too old. Please open the HIT on MTurk again."), status=404
        )
    settings = MturkSettings(channel)
    try:
        context = state_of(submission, settings, timezone.now())
    except AnnotationError as error:  # the middleware's page can't be framed
        return framed_refusal(request, channel, str(error), status=status_of(error))
    template = f"{FRAME}#state" if is_htmx(request) else FRAME
    return framed(request, settings.site, template, context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@skip_prefetch
def task(request: HttpRequest, channel_key: str, token: str) -> HttpResponse:
    """Sign a worker in, in a window of its own, and redirect them to their HIT.

    Link previews, and browsers in which another user is signed in, get a button first: neither must use up the link or
    change the session unasked.
    """
    channel, (submission_id, opens) = _channel(channel_key), read_link(token) or (0, 0)
    submissions = Submission.objects.filter(channel=channel).select_related("participant__annotator")
    submission = submissions.filter(pk=submission_id).first()
    if submission is None or submission.participant is None:
        raise ClaimRefused(_("This link is too old. Please take the one in the MTurk window."))
    own = is_signed_in_as(request, submission.participant.annotator)
    if request.method != "POST" and (is_robot(request) or (request.user.is_authenticated and not own)):
        return confirmation_page(request, channel)
    browser = request.get_signed_cookie(BROWSER_COOKIE, default="", salt=BROWSER_SALT) or secrets.token_urlsafe(24)
    annotator = begin(submission=submission, opens=opens, device=browser, at=timezone.now())
    if annotator.user is None:
        raise ClaimRefused(_("Your work in this study has ended. Thank you."))
    if request.user.pk != annotator.user.pk:
        sign_in(request, annotator)
    response = redirect_to_work()
    response.set_signed_cookie(
        BROWSER_COOKIE,
        browser,
        salt=BROWSER_SALT,
        max_age=SESSION_LIFETIME,
        httponly=True,
        samesite="Lax",
        secure=request.is_secure(),
    )
    return response
