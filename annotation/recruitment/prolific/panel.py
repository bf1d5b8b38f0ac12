"""The panel of a Prolific channel: addresses for Prolific, submissions, and pending requests, and its actions."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.db.models import Case, IntegerField, Q, QuerySet, Value, When
from django.template.defaultfilters import pluralize
from django.urls import reverse

from annotation.core.errors import Unacceptable, UnknownName
from annotation.models import Channel, Submission
from annotation.recruitment.base import Panel
from annotation.recruitment.channel_counts import WorkCount, count_by, submitted_by
from annotation.recruitment.launch_checks import first_work_checks, open_requests, rater_shown
from annotation.recruitment.prolific.actions import approve, bonus, reject
from annotation.recruitment.prolific.client import ProlificClient
from annotation.recruitment.prolific.launch import (
    LONGEST_DESCRIPTION,
    LONGEST_NAME,
    MOST_PLACES,
    PLACEHOLDERS,
    USUAL,
    checks,
    free_places,
    hits_of_place,
    is_published,
    make_draft,
    publish,
    reward_of,
    set_places,
)
from annotation.recruitment.prolific.site import API, CATEGORIES, LONGEST_REASON, SHORTEST_REASON, ProlificSettings
from annotation.recruitment.prolific.submissions import release_browser
from annotation.recruitment.prolific.updates import OTHER_PARTICIPANT, sync
from annotation.recruitment.prolific.work import Openings


class DraftForm(forms.Form):
    """The fields of a draft beyond the channel's settings."""

    name = forms.CharField(label="Title for participants", max_length=LONGEST_NAME)
    places = forms.IntegerField(label="Places", min_value=1, max_value=MOST_PLACES)
    description = forms.CharField(
        label="Description for participants", max_length=LONGEST_DESCRIPTION, widget=forms.Textarea({"rows": 3})
    )
    screening = forms.CharField(
        label="Screening, one filter a line",
        required=False,
        max_length=2000,
        widget=forms.Textarea({"rows": 2}),
        help_text=(
            "Only participants who pass all of them see the study. Ids are those of Prolific’s list of filters: "
            "approval_rate >= 95, age >= 18, fluent-languages in 19."
        ),
    )

    def __init__(self, hits_of_place: int, **options: Any) -> None:
        super().__init__(**options)
        self.fields["places"].help_text = (
            f"Free slots; a place pays for {hits_of_place} HIT."
            if hits_of_place == 1
            else f"Free slots, divided by the {hits_of_place} HITs that a place pays for."
        )


class PlacesForm(forms.Form):
    """The number of places of a published study."""

    places = forms.IntegerField(label="Places in all", min_value=1, max_value=MOST_PLACES)

    def __init__(self, free: int, **options: Any) -> None:
        super().__init__(**options)
        self.fields["places"].help_text = f"Begin with a few. Free slots are left for {free} place{pluralize(free)}."


class ProlificDecisionForm(forms.Form):
    """The fields of a rejection or a bonus."""

    category = forms.ChoiceField(
        label="Category of a rejection",
        required=False,
        choices=[("", "Choose one"), *CATEGORIES.items()],
    )
    reason = forms.CharField(
        label="Reason of a rejection",
        required=False,
        max_length=LONGEST_REASON,
        widget=forms.Textarea({"rows": 3}),
    )
    amount = forms.CharField(
        label="Bonus",
        required=False,
        widget=forms.TextInput({"inputmode": "decimal", "autocomplete": "off"}),
    )
    reference = forms.CharField(
        label="Reference of the bonus",
        required=False,
        max_length=20,
        help_text="Only to pay the same amount a second time.",
        widget=forms.TextInput({"autocomplete": "off"}),
    )

    def __init__(self, cap: Decimal, **options: Any) -> None:
        super().__init__(**options)
        self.fields["reason"].help_text = f"The participant reads it: at least {SHORTEST_REASON} characters."
        self.fields["amount"].help_text = f"In the study’s currency, such as 0.75; at most {cap}."


MOST_SHOWN = 200
State = Submission.State
DONE_BEFORE = "That was done before; nothing was sent."
_PROBLEMS = {OTHER_PARTICIPANT: "Prolific says that it is another participant’s"}


def panel_of(channel: Channel) -> Panel:
    """Return the panel, without requests to Prolific."""
    prolific, published = ProlificSettings(channel), is_published(channel)
    rows, hits = shown(channel), hits_of_place(channel)
    on_page = list(rows[:MOST_SHOWN])
    by_annotator: dict[int, list[Submission]] = defaultdict(list)
    people = {submission.participant_id for submission in on_page if submission.participant_id}
    for submission in Submission.objects.filter(participant__in=people).select_related("participant"):
        if submission.participant is not None:
            by_annotator[submission.participant.annotator_id].append(submission)
    openings = {annotator: Openings(own) for annotator, own in by_annotator.items()}
    work = count_by(submitted_by(openings), key=lambda hit: openings[hit.annotator].current_at(hit.at))
    context = {
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
        "rows": [
            {
                "external_id": row.external_id,
                "rater": rater_shown(row),
                "state": row.get_state_display(),
                "at_prolific": row.details.get("status", ""),
                "code": row.code,
                "work": work.get(row.pk, WorkCount()),
                "problem": _PROBLEMS.get(row.details.get("problem", ""), ""),
                "came": row.participant is not None,
            }
            for row in on_page
        ],
        "more": max(rows.count() - MOST_SHOWN, 0),
        "awaiting": channel.submissions.filter(state=State.COMPLETED).exclude(participant=None).count(),
        **open_requests(channel),
    }
    free = free_places(channel)
    action_forms = {
        "draft": DraftForm(hits, auto_id="draft-%s", initial={"places": free, "screening": USUAL}),
        "all_places": PlacesForm(free, auto_id="all-%s"),
        "decision": ProlificDecisionForm(prolific.bonus_cap, auto_id="decision-%s"),
    }
    return Panel("annotation/recruitment/prolific/_panel.html", context, action_forms)


def shown(channel: Channel) -> QuerySet[Submission]:
    """Return the submissions of participants who came and of the study at Prolific, those awaiting a decision first.

    Webhooks report on all studies of a workspace: submissions without a participant that no sync listed are not ours.
    """
    waits = Case(When(state=State.COMPLETED, then=Value(0)), default=Value(1), output_field=IntegerField())
    ours = channel.submissions.filter(Q(participant__isnull=False) | Q(details__in_study=True))
    ours = ours.filter(participant__annotator__erased_at=None)  # erased ids can't be used at Prolific
    return ours.select_related("participant__annotator").annotate(waits=waits).order_by("waits", "-pk")


PAGES_AT_ONCE = 10


def run_panel_action(*, channel: Channel, action: str, data: Mapping[str, str], at: datetime) -> str:
    """Run an action, and return a message with its result.

    Raises: Unacceptable for an unknown action or invalid input; UnknownName; ProlificRefused; ProlificUnreachable;
    TokenMissing.
    """
    client = ProlificClient(ProlificSettings(channel), patient=False)
    if action == "sync":
        result = sync(channel=channel, client=client, at=at, most_pages=PAGES_AT_ONCE)
        return f"Submissions at Prolific: {result.seen}; new here: {result.new}; changed: {result.changed}."
    if action == "draft":
        study_id = make_draft(channel=channel, data=data, client=client)
        return f"The draft {study_id} is at Prolific. Look at it there, then publish it."
    if action == "publish":
        published = publish(channel=channel, client=client, at=at)
        return "The study is published: participants see it now." if published else DONE_BEFORE
    if action == "places":
        number = set_places(channel=channel, text=data.get("places", ""), client=client)
        return f"Places of the study at Prolific: {number} in all now."
    if action not in ("approve", "reject", "bonus", "release"):
        raise Unacceptable(f"This channel has no action {action}.")
    submission = find_submission(channel, data.get("submission", ""))
    if action == "release":
        release_browser(submission=submission)
        return "The next browser that opens this participant’s link is let in."
    common: dict[str, Any] = {"submission": submission, "client": client, "at": at}
    if action == "approve":
        done, message = approve(**common), "Approved."
    elif action == "reject":
        done = reject(reason=data.get("reason", ""), category=data.get("category", ""), **common)
        message = "Rejected."
    else:
        done = bonus(amount=data.get("amount", ""), reference=data.get("reference", ""), **common)
        message = "The bonus is on its way."
    return DONE_BEFORE if done.before else message


def find_submission(channel: Channel, external_id: str) -> Submission:
    """Return a submission of a channel by Prolific's id for it.

    Raises: UnknownName.
    """
    submissions = channel.submissions.select_related("participant__annotator")
    submission = submissions.filter(external_id=external_id.strip()).first()
    if submission is None:
        raise UnknownName(f"No submission {external_id[:64]} has come through this channel.")
    return submission
