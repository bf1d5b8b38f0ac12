"""What a Prolific channel's page shows: what to paste there, who came, what awaits a decision."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.db.models import Case, Count, IntegerField, Q, QuerySet, Value, When
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from annotation.models import Assignment, Channel, PlatformAction, Submission
from annotation.services.prolific_site import API, CATEGORIES, SHORTEST_REASON, ProlificSettings
from annotation.services.prolific_sync import OTHER_PARTICIPANT

MOST_SHOWN = 200
PLACEHOLDERS = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
State = Submission.State
_RATED = (Assignment.Purpose.RATING, Assignment.Purpose.GOLD, Assignment.Purpose.REPEAT)
_PROBLEMS = {OTHER_PARTICIPANT: _("Prolific says that it is another participant’s")}


@dataclass(frozen=True)
class Row:
    """One submission, under the code of its rater."""

    external_id: str
    rater: str
    state: Any
    at_prolific: str
    code: str
    hits: int
    problem: Any
    came: bool


def panel_context(channel: Channel) -> dict[str, Any]:
    """Return the context of the panel; Prolific itself is not asked."""
    given = ProlificSettings.of(channel)
    rows = shown(channel)
    unanswered = channel.actions.exclude(state=PlatformAction.State.DONE)
    return {
        "given": given,
        "has_token": bool(given.token),
        "has_webhook_secret": bool(given.webhook_secret),
        "api_host": urlsplit(given.api).netloc if given.api != API else "",
        "entry_path": f"{reverse('annotation:join', args=[channel.key])}?{PLACEHOLDERS}",
        "webhook_path": reverse("annotation:prolific-webhook", args=[channel.key]),
        "codes": [
            (_("Completed"), given.completed),
            (_("Screened out"), given.screened_out),
            (_("No consent"), given.no_consent),
            (_("Timed out"), given.timed_out),
        ],
        "rows": [_row(submission) for submission in rows[:MOST_SHOWN]],
        "more": max(rows.count() - MOST_SHOWN, 0),
        "awaiting": channel.submissions.filter(state=State.COMPLETED).exclude(participant=None).count(),
        "unanswered": [(one.key, one.get_state_display(), one.answer.get("error", "")) for one in unanswered[:20]],
        "unanswered_count": unanswered.count(),
        "categories": CATEGORIES.items(),
        "shortest_reason": SHORTEST_REASON,
    }


def shown(channel: Channel) -> QuerySet[Submission]:
    """Return the submissions of those who came and of the study at Prolific, those that await a decision first.

    A workspace's messages are about all its studies: what nobody came with, and Prolific didn't list, isn't ours.
    """
    waits = Case(When(state=State.COMPLETED, then=Value(0)), default=Value(1), output_field=IntegerField())
    done = Q(
        participant__annotator__assignments__state=Assignment.State.SUBMITTED,
        participant__annotator__assignments__purpose__in=_RATED,
    )
    ours = channel.submissions.filter(Q(participant__isnull=False) | Q(details__in_study=True))
    return (
        ours.select_related("participant__annotator")
        .annotate(hits=Count("participant__annotator__assignments", filter=done), waits=waits)
        .order_by("waits", "-pk")
    )


def _row(submission: Any) -> Row:
    participant, details = submission.participant, submission.details
    return Row(
        external_id=submission.external_id,
        # Nothing of those who withdrew is shown, but what they are owed can still be paid.
        rater=participant.annotator.code if participant and not participant.annotator.withdrawn_at else "",
        state=submission.get_state_display(),
        at_prolific=details.get("status", ""),
        code=submission.code,
        hits=submission.hits,
        problem=_PROBLEMS.get(details.get("problem", ""), ""),
        came=participant is not None,
    )
