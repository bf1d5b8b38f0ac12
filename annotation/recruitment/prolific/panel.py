"""The panel of a Prolific channel: addresses for Prolific, submissions, and pending requests, and its actions."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.db.models import Case, IntegerField, Q, QuerySet, Value, When
from django.urls import reverse

from annotation.core.errors import Unacceptable, UnknownName
from annotation.models import Channel, PlatformAction, Submission
from annotation.recruitment.counted_work import WorkCount, count_by, submitted_by
from annotation.recruitment.launch_checks import first_work_checks
from annotation.recruitment.prolific.actions import RequestResult, approve, bonus, reject
from annotation.recruitment.prolific.client import ProlificClient
from annotation.recruitment.prolific.launch import (
    PLACEHOLDERS,
    checks,
    free_places,
    hits_of_place,
    is_published,
    make_draft,
    publish,
    reward_of,
    set_places,
)
from annotation.recruitment.prolific.panel_forms import DraftForm, PlacesForm, ProlificDecisionForm
from annotation.recruitment.prolific.screening import USUAL
from annotation.recruitment.prolific.site import API, ProlificSettings
from annotation.recruitment.prolific.submissions import release_browser
from annotation.recruitment.prolific.sync import OTHER_PARTICIPANT, sync
from annotation.recruitment.prolific.work import Openings

MOST_SHOWN = 200
State = Submission.State
DONE_BEFORE = "That was done before; nothing was sent."
_PROBLEMS = {OTHER_PARTICIPANT: "Prolific says that it is another participant’s"}


def panel_context(channel: Channel) -> dict[str, Any]:
    """Return the panel's context, without requests to Prolific."""
    prolific = ProlificSettings.of(channel)
    rows = shown(channel)
    on_page = list(rows[:MOST_SHOWN])
    work = _work_of(on_page)
    unanswered, published = channel.actions.exclude(state=PlatformAction.State.DONE), is_published(channel)
    return {
        "given": prolific,
        "checks": checks(channel),
        "is_published": published,
        "day_checks": first_work_checks(channel) if published else [],
        "reward": reward_of(channel),
        "has_token": bool(prolific.token),
        "has_webhook_secret": bool(prolific.webhook_secret),
        "api_host": urlsplit(prolific.api).netloc if prolific.api != API else "",
        "entry_path": f"{reverse('annotation:join', args=[channel.key])}?{PLACEHOLDERS}",
        "webhook_path": reverse("annotation:prolific-webhook", args=[channel.key]),
        "codes": [
            ("Completed", prolific.completed),
            ("Screened out", prolific.screened_out),
            ("No consent", prolific.no_consent),
            ("Timed out", prolific.timed_out),
        ],
        "rows": [_row(row, work.get(row.pk, WorkCount())) for row in on_page],
        "more": max(rows.count() - MOST_SHOWN, 0),
        "awaiting": channel.submissions.filter(state=State.COMPLETED).exclude(participant=None).count(),
        "unanswered": [(row.key, row.get_state_display(), row.answer.get("error", "")) for row in unanswered[:20]],
        "unanswered_count": unanswered.count(),
    }


def panel_forms(channel: Channel) -> dict[str, forms.Form]:
    """Return the forms of the panel's actions."""
    free, hits = free_places(channel), hits_of_place(channel)
    return {
        "draft": DraftForm(hits, auto_id="draft-%s", initial={"places": free, "screening": USUAL}),
        "all_places": PlacesForm(free, auto_id="all-%s"),
        "decision": ProlificDecisionForm(ProlificSettings.of(channel).bonus_cap, auto_id="decision-%s"),
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
    people = {submission.participant_id for submission in submissions if submission.participant_id}
    by_annotator: dict[int, list[Submission]] = defaultdict(list)
    for submission in Submission.objects.filter(participant__in=people).select_related("participant"):
        if submission.participant is not None:
            by_annotator[submission.participant.annotator_id].append(submission)
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


PAGES_AT_ONCE = 10


def run_panel_action(*, channel: Channel, action: str, data: Mapping[str, str], at: datetime) -> str:
    """Run an action, and return a message with its result.

    Raises: Unacceptable for an unknown action or invalid input; UnknownName; ProlificRefused; ProlificUnreachable;
    TokenMissing.
    """
    client = ProlificClient(ProlificSettings.of(channel), patient=False)
    if action == "sync":
        result = sync(channel=channel, client=client, at=at, most_pages=PAGES_AT_ONCE)
        return f"Submissions at Prolific: {result.seen}; new here: {result.new}; changed: {result.changed}."
    if action == "draft":
        study_id = make_draft(channel=channel, data=data, client=client)
        return f"The draft {study_id} is at Prolific. Look at it there, then publish it."
    if action == "publish":
        done = publish(channel=channel, client=client, at=at)
        return "The study is published: participants see it now." if done else DONE_BEFORE
    if action == "places":
        number = set_places(channel=channel, text=data.get("places", ""), client=client)
        return f"Places of the study at Prolific: {number} in all now."
    if action not in ("approve", "reject", "bonus", "release"):
        raise Unacceptable(f"This channel has no action {action}.")
    submission = find_submission(channel, data.get("submission", ""))
    if action == "release":
        release_browser(submission=submission)
        return "The next browser that opens this participant’s link is let in."
    if action == "approve":
        return _message(approve(submission=submission, client=client, at=at), "Approved.")
    if action == "reject":
        words = {"reason": data.get("reason", ""), "category": data.get("category", "")}
        return _message(reject(submission=submission, client=client, at=at, **words), "Rejected.")
    paid = bonus(
        submission=submission,
        amount=data.get("amount", ""),
        reference=data.get("reference", ""),
        client=client,
        at=at,
    )
    return _message(paid, "The bonus is on its way.")


def find_submission(channel: Channel, external_id: str) -> Submission:
    """Return a submission of a channel by Prolific's id for it.

    Raises: UnknownName.
    """
    submission = (
        channel.submissions.select_related("participant__annotator").filter(external_id=external_id.strip()).first()
    )
    if submission is None:
        raise UnknownName(f"No submission {external_id[:64]} has come through this channel.")
    return submission


def _message(done: RequestResult, words: str) -> str:
    return DONE_BEFORE if done.before else words
