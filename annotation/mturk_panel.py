"""What a Mechanical Turk channel's page shows: places on offer, assignments and their state, what awaits an answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.models import Channel, PlatformAction, Submission
from annotation.services.mturk_actions import awaiting
from annotation.services.mturk_hits import on_offer
from annotation.services.mturk_site import MturkSettings
from annotation.services.mturk_sync import NO_WORK, OTHER_CODE, OTHER_WORKER
from annotation.services.mturk_work import HIT

MOST_SHOWN = 200
_PROBLEMS: Mapping[str, Any] = {
    OTHER_WORKER: _("submitted on MTurk by another worker than the one who came here"),
    NO_WORK: _("submitted on MTurk, but nothing was done here"),
    OTHER_CODE: _("submitted on MTurk with another code than the one given here"),
}


@dataclass(frozen=True)
class Row:
    """One MTurk assignment, under the code of its rater."""

    assignment_id: str
    rater: str
    state: str
    on_mturk: str
    problem: Any
    decidable: bool


def panel_context(channel: Channel) -> dict[str, Any]:
    """Return the context of the panel; MTurk itself is not asked."""
    given, now = MturkSettings.of(channel), timezone.now()
    offered = on_offer(channel, now)
    submissions = channel.submissions.select_related("participant__annotator").order_by("-pk")
    unanswered = channel.actions.exclude(state=PlatformAction.State.DONE).order_by("pk")
    return {
        "given": given,
        "is_live": channel.options.get("site") == "live",
        "hits": channel.actions.filter(kind=HIT, state=PlatformAction.State.DONE).count(),
        "hits_on_offer": len(offered),
        "places_on_offer": sum(offered.values()),
        "awaiting_count": len(awaiting(channel)),
        "rows": [_row(submission) for submission in submissions[:MOST_SHOWN]],
        "more": max(submissions.count() - MOST_SHOWN, 0),
        "unanswered": [(one.key, one.get_state_display(), one.answer.get("error", "")) for one in unanswered[:20]],
        "unanswered_count": unanswered.count(),
    }


def _row(submission: Submission) -> Row:
    participant, details = submission.participant, submission.details
    status = details.get("mturk", {}).get("status", "")
    return Row(
        assignment_id=submission.external_id,
        # Nothing of those who withdrew is shown, but what they are owed can still be paid.
        rater=participant.annotator.code if participant and not participant.annotator.withdrawn_at else "",
        state=submission.get_state_display(),
        on_mturk=status,
        problem=_PROBLEMS.get(details.get("problem", ""), ""),
        decidable=bool(status),
    )
