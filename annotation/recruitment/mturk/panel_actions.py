"""Actions of a Mechanical Turk channel's panel: those of the command, limited to what a web request can do."""

from collections.abc import Mapping
from datetime import datetime

from django.utils.translation import gettext as _

from annotation.core.errors import Unacceptable, UnknownName
from annotation.models import Channel
from annotation.recruitment.mturk.actions import approve, bonus, reject
from annotation.recruitment.mturk.hits import expire, publish
from annotation.recruitment.mturk.sync import sync
from annotation.recruitment.mturk.work import release_browser

AT_ONCE = 25  # requests to MTurk per web request; the command has no limit


def run_panel_action(*, channel: Channel, action: str, data: Mapping[str, str], at: datetime) -> str:
    """Run an action, and return a message with its result.

    Raises: Unacceptable for an unknown action or missing input; UnknownName; KeyMissing; MturkRefused;
    MturkUnreachable.
    """
    if action == "publish":
        return publish(channel=channel, at=at, limit=AT_ONCE).message
    if action == "expire":
        return expire(channel=channel, at=at, limit=AT_ONCE).message
    if action == "sync":
        return _sync(channel, at)
    if action == "approve-all":
        return approve(channel=channel, assignment_ids=None, at=at, limit=AT_ONCE).message
    if action == "release":
        return _release(channel, data.get("rater", "").strip())
    chosen = _chosen(data)
    if action == "approve":
        override = bool(data.get("override"))
        return approve(channel=channel, assignment_ids=chosen, at=at, override=override, limit=AT_ONCE).message
    if action == "reject":
        return reject(
            channel=channel, assignment_ids=chosen, feedback=data.get("feedback", ""), at=at, limit=AT_ONCE
        ).message
    if action == "bonus":
        return bonus(
            channel=channel,
            assignment_ids=chosen,
            amount=data.get("amount", ""),
            reason=data.get("feedback", ""),
            label=data.get("label") or "1",
            at=at,
            limit=AT_ONCE,
        ).message
    raise Unacceptable(_("This channel has no action %(action)s.") % {"action": action})


def _chosen(data: Mapping[str, str]) -> list[str]:
    """Return the selected assignments.

    Raises: Unacceptable when there is none.
    """
    many = getattr(data, "getlist", None)
    chosen = many("assignment") if many else data.get("assignment", "").split()
    if not chosen:
        raise Unacceptable(_("Choose one or more assignments first."))
    return list(chosen)


def _sync(channel: Channel, at: datetime) -> str:
    found = sync(channel=channel, at=at, limit=AT_ONCE)
    message = _("Asked about %(hits)d HITs: %(assignments)d assignments were submitted.") % found
    if found["hits_left"]:
        message += " " + _("Press again to ask about the other %(count)d.") % {"count": found["hits_left"]}
    return message


def _release(channel: Channel, code: str) -> str:
    participant = channel.participants.filter(annotator__code=code).first()
    if participant is None:
        raise UnknownName(_("No rater of this channel: %(codes)s") % {"codes": code})
    release_browser(participant=participant)
    return _("%(code)s may continue in another browser: the next one that opens a link in the MTurk window.") % {
        "code": code
    }
