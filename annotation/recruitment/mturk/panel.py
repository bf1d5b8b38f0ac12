"""The panel of a Mechanical Turk channel: HITs on offer, assignments, pending requests, and its actions."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import forms
from django.urls import reverse
from django.utils import timezone

from annotation.core.errors import Unacceptable, UnknownName
from annotation.models import Channel, PlatformAction
from annotation.recruitment.base import Panel
from annotation.recruitment.channel_counts import WorkCount, count_by, submitted_by
from annotation.recruitment.launch_checks import first_work_checks, open_requests, rater_shown
from annotation.recruitment.mturk.actions import approve, awaiting, bonus, reject
from annotation.recruitment.mturk.hits import checks, expire, offer_of, on_offer, publish
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


def panel_of(channel: Channel) -> Panel:
    """Return the panel, without requests to MTurk."""
    offered, offer = on_offer(channel, timezone.now()), offer_of(channel)
    published = channel.actions.filter(kind=HIT, state=PlatformAction.State.DONE).count()
    submissions = channel.submissions.select_related("participant__annotator").order_by("-pk")
    on_page = list(submissions[:MOST_SHOWN])
    people = {row.participant.annotator_id for row in on_page if row.participant is not None}
    work: dict[int | None, WorkCount] = count_by(submitted_by(people), key=lambda hit: hit.assignment)
    statuses = [row.details.get("mturk", {}).get("status", "") for row in on_page]
    context = {
        "is_live": channel.options.get("site") == "live",
        "hits": published,
        "checks": checks(channel, offer),
        "day_checks": first_work_checks(channel) if published else [],
        "offer": offer,
        "preview_url": reverse("annotation:join", args=[channel.key]),
        "hits_on_offer": len(offered),
        "places_on_offer": sum(offered.values()),
        "awaiting_count": len(awaiting(channel)),
        "rows": [
            {
                "assignment_id": row.external_id,
                "rater": rater_shown(row),
                "state": row.get_state_display(),
                "on_mturk": status,
                "work": work.get(row.assignment_id, WorkCount()),
                "problem": _PROBLEMS.get(row.details.get("problem", ""), ""),
                "decidable": bool(status),
            }
            for row, status in zip(on_page, statuses, strict=True)
        ],
        "more": max(submissions.count() - MOST_SHOWN, 0),
        **open_requests(channel),
    }
    action_forms = {
        "decision": MturkDecisionForm(auto_id="decision-%s"),
        "release": ReleaseForm(auto_id="release-%s"),
    }
    return Panel("annotation/recruitment/mturk/_panel.html", context, action_forms)


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
        counts = sync(**common)
        message = f"HITs asked about: {counts['hits']}; assignments submitted: {counts['assignments']}."
        more = f" Press again to ask about the other {counts['hits_left']}." if counts["hits_left"] else ""
        return message + more
    if action == "approve-all":
        return approve(assignment_ids=None, **common).summary("Assignments approved")
    if action == "release":
        code = data.get("rater", "").strip()
        participant = channel.participants.filter(annotator__code=code).first()
        if participant is None:
            raise UnknownName(f"No rater of this channel: {code}")
        release_browser(participant=participant)
        return f"{code} may continue in another browser: the next one that opens a link in the MTurk window."
    get_list = getattr(data, "getlist", None)
    ids = list(get_list("assignment") if get_list else data.get("assignment", "").split())
    if not ids:
        raise Unacceptable("Choose one or more assignments first.")
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
