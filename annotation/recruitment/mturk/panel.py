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
from annotation.recruitment.mturk.panel_forms import MturkDecisionForm, ReleaseForm
from annotation.recruitment.mturk.site import MturkSettings
from annotation.recruitment.mturk.sync import NO_WORK, OTHER_CODE, OTHER_WORKER, sync
from annotation.recruitment.mturk.work import HIT, release_browser

MOST_SHOWN = 200
_PROBLEMS: Mapping[str, Any] = {
    OTHER_WORKER: "submitted on MTurk by another worker than the one who came here",
    NO_WORK: "submitted on MTurk, but nothing was done here",
    OTHER_CODE: "submitted on MTurk with another code than the one given here",
}


def panel_context(channel: Channel) -> dict[str, Any]:
    """Return the panel's context, without requests to MTurk."""
    given, now = MturkSettings.of(channel), timezone.now()
    offered, offer = on_offer(channel, now), offer_of(channel)
    made = channel.actions.filter(kind=HIT, state=PlatformAction.State.DONE).count()
    submissions = channel.submissions.select_related("participant__annotator").order_by("-pk")
    on_page = list(submissions[:MOST_SHOWN])
    work = _work_of(on_page)
    unanswered = channel.actions.exclude(state=PlatformAction.State.DONE).order_by("pk")
    return {
        "given": given,
        "is_live": channel.options.get("site") == "live",
        "hits": made,
        "checks": checks(channel, offer),
        "day_checks": first_work_checks(channel) if made else [],
        "offer": offer,
        "preview_url": reverse("annotation:join", args=[channel.key]),
        "hits_on_offer": len(offered),
        "places_on_offer": sum(offered.values()),
        "awaiting_count": len(awaiting(channel)),
        "rows": [_row(one, work.get(one.assignment_id, WorkCount())) for one in on_page],
        "more": max(submissions.count() - MOST_SHOWN, 0),
        "unanswered": [(one.key, one.get_state_display(), one.answer.get("error", "")) for one in unanswered[:20]],
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


AT_ONCE = 25  # requests to MTurk per web request; the command has no limit


def run_panel_action(*, channel: Channel, action: str, data: Mapping[str, str], at: datetime) -> str:
    """Run an action, and return a message with its result.

    Raises: Unacceptable for an unknown action or missing input; UnknownName; KeyMissing; MturkRefused;
    MturkUnreachable.
    """
    common: dict[str, Any] = {"channel": channel, "at": at, "limit": AT_ONCE}
    if action == "publish":
        return publish(**common).told("HITs offered")
    if action == "expire":
        return expire(**common).told("HITs taken down")
    if action == "sync":
        return _sync(channel, at)
    if action == "approve-all":
        return approve(assignment_ids=None, **common).told("Assignments approved")
    if action == "release":
        return _release(channel, data.get("rater", "").strip())
    chosen = _chosen(data)
    if action == "approve":
        override = bool(data.get("override"))
        return approve(assignment_ids=chosen, override=override, **common).told("Assignments approved")
    if action == "reject":
        rejected = reject(assignment_ids=chosen, feedback=data.get("feedback", ""), **common)
        return rejected.told("Assignments rejected")
    if action == "bonus":
        amount, reason, label = data.get("amount", ""), data.get("feedback", ""), data.get("label") or "1"
        paid = bonus(assignment_ids=chosen, amount=amount, reason=reason, label=label, **common)
        return paid.told("Bonuses paid")
    raise Unacceptable(f"This channel has no action {action}.")


def _chosen(data: Mapping[str, str]) -> list[str]:
    """Return the selected assignments.

    Raises: Unacceptable when there is none.
    """
    many = getattr(data, "getlist", None)
    chosen = many("assignment") if many else data.get("assignment", "").split()
    if not chosen:
        raise Unacceptable("Choose one or more assignments first.")
    return list(chosen)


def _sync(channel: Channel, at: datetime) -> str:
    found = sync(channel=channel, at=at, limit=AT_ONCE)
    message = f"HITs asked about: {found['hits']}; assignments submitted: {found['assignments']}."
    if found["hits_left"]:
        message += f" Press again to ask about the other {found['hits_left']}."
    return message


def _release(channel: Channel, code: str) -> str:
    participant = channel.participants.filter(annotator__code=code).first()
    if participant is None:
        raise UnknownName(f"No rater of this channel: {code}")
    release_browser(participant=participant)
    return f"{code} may continue in another browser: the next one that opens a link in the MTurk window."
