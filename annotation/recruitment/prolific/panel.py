"""The panel of a Prolific channel: addresses for Prolific, submissions, and pending requests."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.db.models import Case, IntegerField, Q, QuerySet, Value, When
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from annotation.models import Channel, PlatformAction, Submission
from annotation.recruitment.counted_work import WorkCount, count_by, submitted_by
from annotation.recruitment.prolific.site import API, CATEGORIES, SHORTEST_REASON, ProlificSettings
from annotation.recruitment.prolific.sync import OTHER_PARTICIPANT
from annotation.recruitment.prolific.work import Openings

MOST_SHOWN = 200
PLACEHOLDERS = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
State = Submission.State
_PROBLEMS = {OTHER_PARTICIPANT: _("Prolific says that it is another participant’s")}


def panel_context(channel: Channel) -> dict[str, Any]:
    """Return the panel's context, without requests to Prolific."""
    given = ProlificSettings.of(channel)
    rows = shown(channel)
    on_page = list(rows[:MOST_SHOWN])
    work = _work_of(on_page)
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
        "rows": [_row(one, work.get(one.pk, WorkCount())) for one in on_page],
        "more": max(rows.count() - MOST_SHOWN, 0),
        "awaiting": channel.submissions.filter(state=State.COMPLETED).exclude(participant=None).count(),
        "unanswered": [(one.key, one.get_state_display(), one.answer.get("error", "")) for one in unanswered[:20]],
        "unanswered_count": unanswered.count(),
        "categories": CATEGORIES.items(),
        "shortest_reason": SHORTEST_REASON,
    }


def shown(channel: Channel) -> QuerySet[Submission]:
    """Return the submissions of participants who came and of the study at Prolific, those awaiting a decision first.

    Webhooks report on all studies of a workspace: submissions without a participant that no sync listed are not ours.
    """
    waits = Case(When(state=State.COMPLETED, then=Value(0)), default=Value(1), output_field=IntegerField())
    ours = channel.submissions.filter(Q(participant__isnull=False) | Q(details__in_study=True))
    ours = ours.filter(participant__annotator__erased_at=None)  # erased ids can't be used at Prolific
    return ours.select_related("participant__annotator").annotate(waits=waits).order_by("waits", "-pk")


def _work_of(submissions: Sequence[Submission]) -> dict[int, WorkCount]:
    """Count the HITs submitted for each submission, in two queries."""
    people = {one.participant_id for one in submissions if one.participant_id}
    by_annotator: dict[int, list[Submission]] = defaultdict(list)
    for one in Submission.objects.filter(participant__in=people).select_related("participant"):
        if one.participant is not None:
            by_annotator[one.participant.annotator_id].append(one)
    openings = {annotator: Openings(own) for annotator, own in by_annotator.items()}
    return count_by(submitted_by(openings), key=lambda hit: openings[hit.annotator].current_at(hit.at))


def _row(submission: Submission, work: WorkCount) -> dict[str, Any]:
    """Describe one submission, under the code of its rater."""
    participant, details = submission.participant, submission.details
    return {
        "external_id": submission.external_id,
        # Withdrawn raters stay unnamed, but can still be paid.
        "rater": participant.annotator.code if participant and not participant.annotator.withdrawn_at else "",
        "state": submission.get_state_display(),
        "at_prolific": details.get("status", ""),
        "code": submission.code,
        "work": work,
        "problem": _PROBLEMS.get(details.get("problem", ""), ""),
        "came": participant is not None,
    }
