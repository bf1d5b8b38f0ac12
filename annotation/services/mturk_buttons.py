"""The buttons of a Mechanical Turk channel's page: each does a part of what the command does, small enough for a page."""

from collections.abc import Mapping
from datetime import datetime

from django.utils.translation import gettext as _

from annotation.errors import Unacceptable, UnknownName
from annotation.models import Channel
from annotation.services.mturk_actions import approve, bonus, reject
from annotation.services.mturk_hits import expire, publish
from annotation.services.mturk_sync import sync
from annotation.services.mturk_work import release_browser

AT_ONCE = 25  # requests to MTurk while somebody waits for a page; the command has no such limit


def press(*, channel: Channel, action: str, data: Mapping[str, str], at: datetime) -> str:
    """Do what a button asks for, and say what came of it.

    Raises: Unacceptable for an unknown button or missing input; UnknownName; KeyMissing; MturkRefused;
    MturkUnreachable.
    """
    if action == "publish":
        return publish(channel=channel, at=at, limit=AT_ONCE).words
    if action == "expire":
        return expire(channel=channel, at=at, limit=AT_ONCE).words
    if action == "sync":
        return _sync(channel, at)
    if action == "approve-all":
        return approve(channel=channel, assignment_ids=None, at=at, limit=AT_ONCE).words
    if action == "release":
        return _release(channel, data.get("rater", "").strip())
    chosen = _chosen(data)
    if action == "approve":
        override = bool(data.get("override"))
        return approve(channel=channel, assignment_ids=chosen, at=at, override=override, limit=AT_ONCE).words
    if action == "reject":
        return reject(
            channel=channel, assignment_ids=chosen, feedback=data.get("feedback", ""), at=at, limit=AT_ONCE
        ).words
    if action == "bonus":
        return bonus(
            channel=channel,
            assignment_ids=chosen,
            amount=data.get("amount", ""),
            reason=data.get("feedback", ""),
            label=data.get("label") or "1",
            at=at,
            limit=AT_ONCE,
        ).words
    raise Unacceptable(_("%(action)s is nothing that this channel does.") % {"action": action})


def _chosen(data: Mapping[str, str]) -> list[str]:
    """Return the assignments whose boxes were ticked.

    Raises: Unacceptable when none was.
    """
    many = getattr(data, "getlist", None)
    chosen = many("assignment") if many else data.get("assignment", "").split()
    if not chosen:
        raise Unacceptable(_("Choose one or more assignments first."))
    return list(chosen)


def _sync(channel: Channel, at: datetime) -> str:
    found = sync(channel=channel, at=at, limit=AT_ONCE)
    told = _("Asked about %(hits)d HITs: %(assignments)d assignments were submitted.") % found
    if found["hits_left"]:
        told += " " + _("Press again to ask about the other %(count)d.") % {"count": found["hits_left"]}
    return told


def _release(channel: Channel, code: str) -> str:
    participant = channel.participants.filter(annotator__code=code).first()
    if participant is None:
        raise UnknownName(_("No rater of this channel: %(codes)s") % {"codes": code})
    release_browser(participant=participant)
    return _("%(code)s may go on in another browser: the next that opens a link in the MTurk window.") % {"code": code}
