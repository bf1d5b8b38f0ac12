"""Asking MTurk whether an assignment that an address names is there, and whose it is."""

import logging

from django.utils.translation import gettext as _

from annotation.errors import ClaimRefused
from annotation.models import Channel
from annotation.services.asking import is_away, note_away, note_refused, refuse_asking, was_refused
from annotation.services.mturk_client import KeyMissing, MturkClient, MturkRefused, MturkUnreachable
from annotation.services.mturk_site import MturkSettings
from annotation.services.mturk_work import UNASKED, Arrival, refuse_strange_hit
from annotation.services.participants import refuse_shut

log = logging.getLogger(__name__)
ACCEPTED, SUBMITTED = "accepted", "submitted"


def check_arrival(channel: Channel, arrival: Arrival, address: str | None) -> str:
    """Ask MTurk about an assignment that was not seen before; whose it is MTurk tells only once it is submitted.

    Without a key, or while MTurk doesn't answer, whoever comes first has it, and `sync` compares later: MTurk's own
    workers are not to stand before a shut door because of an address that somebody else might type.
    address : where they come from; it has so many questions an hour
    Raises: ClaimRefused when there is no such assignment, it is another worker's, or the channel is shut;
    TooManyArrivals.
    """
    given = MturkSettings.of(channel)
    known = channel.submissions.filter(external_id=arrival.assignment_id).exists()
    if known or not given.has_key:
        return UNASKED
    if not channel.participants.filter(external_id=arrival.worker_id).exists():
        refuse_shut(channel)
    refuse_strange_hit(channel, arrival.hit_id)
    refuse_asking(channel=channel, address=address)
    name = "-".join((arrival.worker_id, arrival.assignment_id, arrival.hit_id))
    if was_refused(channel, name):
        raise ClaimRefused(_("MTurk does not know this assignment. Please open the HIT on MTurk."))
    if is_away(channel):
        return UNASKED
    try:
        return _ask(given, arrival)
    except ClaimRefused:
        note_refused(channel, name)
        raise
    except (MturkUnreachable, KeyMissing) as error:
        note_away(channel)
        log.warning("channel %s: an arrival was not checked: %s", channel.pk, error)
        return UNASKED


def _ask(given: MturkSettings, arrival: Arrival) -> str:
    client = MturkClient(given, patient=False)
    try:
        found = client.call("get_assignment", AssignmentId=arrival.assignment_id)["Assignment"]
    except MturkRefused as refusal:
        if "does not exist" in str(refusal):
            raise ClaimRefused(_("MTurk does not know this assignment. Please open the HIT on MTurk.")) from None
        # Accepted and not submitted yet: MTurk has it and says no more of it. A refused key is found out by `sync`.
        return ACCEPTED if "can be called with a status of" in str(refusal) else UNASKED
    finally:
        client.close()
    if found.get("WorkerId") != arrival.worker_id or found.get("HITId") != arrival.hit_id:
        raise ClaimRefused(_("This link belongs to somebody else."))
    return SUBMITTED
