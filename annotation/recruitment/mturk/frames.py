"""Pages shown in MTurk's frame: the only ones that another site may frame, identified by signed tokens.

Browsers block cookies in other sites' frames. So the frame's state is in its signed address, and the rating happens in
a window of its own, to which the frame links.
"""

from collections.abc import Mapping
from typing import Any

from csp.decorators import csp_replace
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt

from annotation.models import Channel, Submission
from annotation.recruitment.mturk.site import MturkSettings, Site
from annotation.recruitment.mturk.work import AT_WORK, DONE, cannot_continue, screen_out, settle

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
