"""The panel of a Mechanical Turk channel: HITs on offer, assignments, and pending requests."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.models import Channel, PlatformAction, Submission
from annotation.recruitment.counted_work import WorkCount, count_by, submitted_by
from annotation.recruitment.mturk.actions import awaiting
from annotation.recruitment.mturk.hits import on_offer
from annotation.recruitment.mturk.site import MturkSettings
from annotation.recruitment.mturk.sync import NO_WORK, OTHER_CODE, OTHER_WORKER
from annotation.recruitment.mturk.work import HIT

MOST_SHOWN = 200
_PROBLEMS: Mapping[str, Any] = {
    OTHER_WORKER: _("submitted on MTurk by another worker than the one who came here"),
    NO_WORK: _("submitted on MTurk, but nothing was done here"),
    OTHER_CODE: _("submitted on MTurk with another code than the one given here"),
}


def panel_context(channel: Channel) -> dict[str, Any]:
    """Return the panel's context, without requests to MTurk."""
    given, now = MturkSettings.of(channel), timezone.now()
    offered = on_offer(channel, now)
    submissions = channel.submissions.select_related("participant__annotator").order_by("-pk")
    on_page = list(submissions[:MOST_SHOWN])
    work = _work_of(on_page)
    unanswered = channel.actions.exclude(state=PlatformAction.State.DONE).order_by("pk")
    return {
        "given": given,
        "is_live": channel.options.get("site") == "live",
        "hits": channel.actions.filter(kind=HIT, state=PlatformAction.State.DONE).count(),
        "hits_on_offer": len(offered),
        "places_on_offer": sum(offered.values()),
        "awaiting_count": len(awaiting(channel)),
        "rows": [_row(one, work.get(one.assignment_id, WorkCount())) for one in on_page],
        "more": max(submissions.count() - MOST_SHOWN, 0),
        "unanswered": [(one.key, one.get_state_display(), one.answer.get("error", "")) for one in unanswered[:20]],
        "unanswered_count": unanswered.count(),
    }


def _work_of(submissions: Sequence[Submission]) -> dict[int | None, WorkCount]:
    """Return our assignment's primary key → whether it counts, for the HITs of these submissions."""
    people = {one.participant.annotator_id for one in submissions if one.participant is not None}
    return count_by(submitted_by(people), key=lambda hit: hit.assignment)


def _row(submission: Submission, work: WorkCount) -> dict[str, Any]:
    """Describe one MTurk assignment, under the code of its rater."""
    participant, details = submission.participant, submission.details
    status = details.get("mturk", {}).get("status", "")
    return {
        "assignment_id": submission.external_id,
        # Withdrawn raters stay unnamed, but can still be paid.
        "rater": participant.annotator.code if participant and not participant.annotator.withdrawn_at else "",
        "state": submission.get_state_display(),
        "on_mturk": status,
        "work": work,
        "problem": _PROBLEMS.get(details.get("problem", ""), ""),
        "decidable": bool(status),
    }
