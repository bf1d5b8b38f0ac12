"""Pages shown in MTurk's frame: the only ones that another site may frame, identified by signed tokens.

Browsers block cookies in other sites' frames. So the frame's state is in its signed address, and the rating happens in
a window of its own, to which the frame links.
"""

import secrets
from collections.abc import Mapping
from typing import Any

from csp.decorators import csp_replace
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
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
from annotation.recruitment.mturk.site import MturkSettings, Site
from annotation.recruitment.mturk.work import AT_WORK, DONE, begin, cannot_continue, screen_out, settle

FRAME_SALT, LINK_SALT = "tandem.mturk.frame", "tandem.mturk.link"
FRAME_SECONDS = 31 * 24 * 60 * 60  # the longest duration of an assignment
LINK_SECONDS = 24 * 60 * 60
SUBMIT_PATH = "/mturk/externalSubmit"
FRAME = "annotation/recruitment/mturk/frame.html"


def framed(
    request: HttpRequest, site: Site, template: str, context: Mapping[str, Any], *, status: int = 200
) -> HttpResponse:
    """Render a page that only MTurk's pages of this site may frame, and whose form may only post there."""

    response = render(request, template, context, status=status)
    policy = csp_replace({"frame-ancestors": list(site.frames), "form-action": [site.submit]})
    never_cache(xframe_options_exempt(policy(lambda _request: response)))(request)
    return response


def framed_refusal(request: HttpRequest, channel: Channel, reason: str, *, status: int) -> HttpResponse:
    """Return a refusal as a page that MTurk may frame, unlike ordinary error pages."""
    context = {"refusal": reason, "study": channel.study, "state": "refused"}
    return framed(request, MturkSettings(channel).site, FRAME, context, status=status)


def read_frame(channel: Channel, token: str) -> Submission | None:
    """Return the submission of a frame's token, or None for an invalid one."""
    try:
        channel_id, worker, assignment_id = signing.loads(token, salt=FRAME_SALT, max_age=FRAME_SECONDS)
    except (signing.BadSignature, ValueError):
        return None
    submissions = channel.submissions.filter(external_id=assignment_id, participant__external_id=worker)
    return submissions.select_related("participant__annotator__study").first() if channel_id == channel.pk else None


def read_link(token: str) -> tuple[int, int] | None:
    """Return the submission of a link's token, and how many of its links were used before, or None for an invalid one."""
    try:
        submission, opens = signing.loads(token, salt=LINK_SALT, max_age=LINK_SECONDS)
    except (signing.BadSignature, ValueError):
        return None
    return submission, opens


def state_of(submission: Submission, settings: MturkSettings, at: Any) -> dict[str, Any]:
    """Return the frame's context: the link to the work, MTurk's form once it is done, or that it has to be returned."""
    participant = submission.participant
    if participant is None:
        raise ValueError(f"submission {submission.pk} has no worker")
    if submission.state in AT_WORK:
        settle(participant=participant)
        submission.refresh_from_db(fields=["state", "code", "details", "assignment"])
    out = submission.state in AT_WORK and cannot_continue(participant.annotator)
    if out and settings.screened_out == "submit":
        submission, out = screen_out(submission=submission, at=at), False
    key = submission.channel.key
    named = [submission.channel_id, participant.external_id, submission.external_id]
    frame_token = signing.dumps(named, salt=FRAME_SALT)
    context: dict[str, Any] = {
        "study": participant.annotator.study,
        "status_url": reverse("annotation:mturk-status", args=[key, frame_token]),
    }
    if submission.state in DONE:
        action = settings.site.submit + SUBMIT_PATH
        fields = {"assignmentId": submission.external_id, "code": submission.code}
        return {**context, "state": "done", "action": action, "fields": fields}
    if out or submission.state not in AT_WORK:
        return {**context, "state": "return"}
    opens = submission.details.get("opens", 0)
    link_token = signing.dumps([submission.pk, opens], salt=LINK_SALT)  # of a link that works once
    return {
        **context,
        "state": "begun" if opens else "new",
        "work_url": reverse("annotation:mturk-task", args=[key, link_token]),
    }


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
