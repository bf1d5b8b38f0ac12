"""The panel of a Mechanical Turk channel: HITs on offer, assignments, pending requests, and its actions."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django import forms
from django.urls import reverse
from django.utils import timezone

from annotation.core.errors import Unacceptable, UnknownName
from annotation.models import Channel, PlatformAction, Submission
from annotation.recruitment.counted_work import WorkCount, count_by, submitted_by
from annotation.recruitment.launch_checks import first_work_checks
from annotation.recruitment.mturk.actions import approve, awaiting, bonus, reject
from annotation.recruitment.mturk.hits import expire, on_offer, publish
from annotation.recruitment.mturk.launch import checks, offer_of
from annotation.recruitment.mturk.site import MturkSettings
from annotation.recruitment.mturk.sync import NO_WORK, OTHER_CODE, OTHER_WORKER, sync
from annotation.recruitment.mturk.work import HIT, release_browser

AT_ONCE = 25  # requests to MTurk per web request; the command has no limit
MOST_SHOWN = 200
_PROBLEMS: Mapping[str, Any] = {
    OTHER_WORKER: "submitted on MTurk by another worker than the one who came here",
    NO_WORK: "submitted on MTurk, but nothing was done here",
    OTHER_CODE: "submitted on MTurk with another code than the one given here",
}


class MturkDecisionForm(forms.Form):
    """Input of a rejection, a bonus or a late approval. The actions check it, since commands call them too."""

    feedback = forms.CharField(
        label="Words for the workers",
        required=False,
        max_length=1024,
        help_text="Why rejected, or what a bonus is for.",
        widget=forms.Textarea({"rows": 2}),
    )
    amount = forms.CharField(
        label="Bonus in dollars",
        required=False,
        widget=forms.TextInput({"inputmode": "decimal", "autocomplete": "off"}),
    )
    label = forms.CharField(
        label="Name of the bonus",
        required=False,
        max_length=20,
        help_text="Only to pay the same assignment a second one.",
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    override = forms.BooleanField(label="Approve also what was rejected before", required=False)


class ReleaseForm(forms.Form):
    """The worker who may continue in another browser."""

    rater = forms.CharField(label="Code of the rater", widget=forms.TextInput({"autocomplete": "off"}))


def panel_context(channel: Channel) -> dict[str, Any]:
    """Return the panel's context, without requests to MTurk."""
    now = timezone.now()
    offered, offer = on_offer(channel, now), offer_of(channel)
    published = channel.actions.filter(kind=HIT, state=PlatformAction.State.DONE).count()
    submissions = channel.submissions.select_related("participant__annotator").order_by("-pk")
    on_page = list(submissions[:MOST_SHOWN])
    work = _work_of(on_page)
    unanswered = channel.actions.exclude(state=PlatformAction.State.DONE).order_by("pk")
    return {
        "given": MturkSettings.of(channel),
        "is_live": channel.options.get("site") == "live",
        "hits": published,
        "checks": checks(channel, offer),
        "day_checks": first_work_checks(channel) if published else [],
        "offer": offer,
        "preview_url": reverse("annotation:join", args=[channel.key]),
        "hits_on_offer": len(offered),
        "places_on_offer": sum(offered.values()),
        "awaiting_count": len(awaiting(channel)),
        "rows": [_row(submission, work.get(submission.assignment_id, WorkCount())) for submission in on_page],
        "more": max(submissions.count() - MOST_SHOWN, 0),
        "unanswered": [
            (action.key, action.get_state_display(), action.answer.get("error", "")) for action in unanswered[:20]
        ],
        "unanswered_count": unanswered.count(),
    }


def panel_forms(channel: Channel) -> dict[str, forms.Form]:
    """Return the forms of the panel's actions."""
    return {
        "decision": MturkDecisionForm(auto_id="decision-%s"),
        "release": ReleaseForm(auto_id="release-%s"),
    }


def _work_of(submissions: Sequence[Submission]) -> dict[int | None, WorkCount]:
    """Return our assignment's primary key → whether it counts, for the HITs of these submissions."""
    people = {row.participant.annotator_id for row in submissions if row.participant is not None}
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


def run_panel_action(*, channel: Channel, action: str, data: Mapping[str, str], at: datetime) -> str:
    """Run an action, and return a message with its result.

    Raises: Unacceptable for an unknown action or missing input; UnknownName; KeyMissing; MturkRefused;
    MturkUnreachable.
    """
    common: dict[str, Any] = {"channel": channel, "at": at, "limit": AT_ONCE}
    if action == "publish":
        return publish(**common).summary("HITs offered")
    if action == "expire":
        return expire(**common).summary("HITs taken down")
    if action == "sync":
        return _sync(channel, at)
    if action == "approve-all":
        return approve(assignment_ids=None, **common).summary("Assignments approved")
    if action == "release":
        return _release(channel, data.get("rater", "").strip())
    ids = _selected_ids(data)
    if action == "approve":
        override = bool(data.get("override"))
        return approve(assignment_ids=ids, override=override, **common).summary("Assignments approved")
    if action == "reject":
        rejected = reject(assignment_ids=ids, feedback=data.get("feedback", ""), **common)
        return rejected.summary("Assignments rejected")
    if action == "bonus":
        amount, reason, label = data.get("amount", ""), data.get("feedback", ""), data.get("label") or "1"
        paid = bonus(assignment_ids=ids, amount=amount, reason=reason, label=label, **common)
        return paid.summary("Bonuses paid")
    raise Unacceptable(f"This channel has no action {action}.")


def _selected_ids(data: Mapping[str, str]) -> list[str]:
    """Return the selected assignments.

    Raises: Unacceptable when there is none.
    """
    get_list = getattr(data, "getlist", None)
    ids = get_list("assignment") if get_list else data.get("assignment", "").split()
    if not ids:
        raise Unacceptable("Choose one or more assignments first.")
    return list(ids)


def _sync(channel: Channel, at: datetime) -> str:
    counts = sync(channel=channel, at=at, limit=AT_ONCE)
    message = f"HITs asked about: {counts['hits']}; assignments submitted: {counts['assignments']}."
    if counts["hits_left"]:
        message += f" Press again to ask about the other {counts['hits_left']}."
    return message


def _release(channel: Channel, code: str) -> str:
    participant = channel.participants.filter(annotator__code=code).first()
    if participant is None:
        raise UnknownName(f"No rater of this channel: {code}")
    release_browser(participant=participant)
    return f"{code} may continue in another browser: the next one that opens a link in the MTurk window."
