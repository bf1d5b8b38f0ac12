"""Actions of a Prolific channel's panel: those of the command, with fewer retries."""

from collections.abc import Mapping
from datetime import datetime

from django.utils.translation import gettext as _

from annotation.core.errors import Unacceptable, UnknownName
from annotation.models import Channel, Submission
from annotation.recruitment.prolific.actions import RequestResult, approve, bonus, reject
from annotation.recruitment.prolific.client import ProlificClient
from annotation.recruitment.prolific.site import ProlificSettings
from annotation.recruitment.prolific.submissions import release_browser
from annotation.recruitment.prolific.sync import sync

PAGES_AT_ONCE = 10


def run_panel_action(*, channel: Channel, action: str, data: Mapping[str, str], at: datetime) -> str:
    """Run an action, and return a message with its result.

    Raises: Unacceptable for an unknown action or invalid input; UnknownName; ProlificRefused; ProlificUnreachable;
    TokenMissing.
    """
    client = ProlificClient(ProlificSettings.of(channel), patient=False)
    if action == "sync":
        found = sync(channel=channel, client=client, at=at, most_pages=PAGES_AT_ONCE)
        return _("Prolific lists %(seen)d submissions: %(new)d new here, %(changed)d with news.") % vars(found)
    if action not in ("approve", "reject", "bonus", "release"):
        raise Unacceptable(_("This channel has no action %(action)s.") % {"action": action})
    submission = find_submission(channel, data.get("submission", ""))
    if action == "release":
        release_browser(submission=submission)
        return _("The next browser that opens this participant’s link is let in.")
    if action == "approve":
        return _message(approve(submission=submission, client=client, at=at), _("Approved."))
    if action == "reject":
        words = {"reason": data.get("reason", ""), "category": data.get("category", "")}
        return _message(reject(submission=submission, client=client, at=at, **words), _("Rejected."))
    paid = bonus(
        submission=submission,
        amount=data.get("amount", ""),
        reference=data.get("reference", ""),
        client=client,
        at=at,
    )
    return _message(paid, _("The bonus is on its way."))


def find_submission(channel: Channel, external_id: str) -> Submission:
    """Return a submission of a channel by Prolific's id for it.

    Raises: UnknownName.
    """
    found = channel.submissions.select_related("participant__annotator").filter(external_id=external_id.strip()).first()
    if found is None:
        raise UnknownName(_("No submission %(id)s has come through this channel.") % {"id": external_id[:64]})
    return found


def _message(done: RequestResult, words: str) -> str:
    return _("That was done before; nothing was sent.") if done.before else words
