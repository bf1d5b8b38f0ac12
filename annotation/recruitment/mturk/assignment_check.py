"""Verify an assignment named in an arrival's address by asking MTurk."""

import logging
from contextlib import closing

from django.utils.translation import gettext as _

from annotation.annotators.participants import refuse_closed
from annotation.core.errors import ClaimRefused
from annotation.models import Channel
from annotation.recruitment.mturk.client import KeyMissing, MturkClient, MturkRefused, MturkUnreachable
from annotation.recruitment.mturk.site import MturkSettings
from annotation.recruitment.mturk.work import UNVERIFIED, MturkArrival, refuse_unknown_hit
from annotation.recruitment.throttling import (
    is_unresponsive,
    note_refused,
    note_unresponsive,
    throttle_lookup,
    was_refused,
)

log = logging.getLogger(__name__)
ACCEPTED, SUBMITTED = "accepted", "submitted"


def check_arrival(channel: Channel, arrival: MturkArrival, address: str | None) -> str:
    """Verify a new assignment with MTurk, which names its worker only after submission. Return MTurk's answer.

    Without a key, or while MTurk doesn't answer, the assignment is accepted unverified, and `sync` compares later.
    address : network address of the visitor, whose look-ups are limited
    Raises: ClaimRefused when there is no such assignment, it is another worker's, or the channel is shut;
    TooManyArrivals.
    """
    mturk = MturkSettings.of(channel)
    is_known = channel.submissions.filter(external_id=arrival.assignment_id).exists()
    if is_known or not mturk.has_key:
        return UNVERIFIED
    if not channel.participants.filter(external_id=arrival.worker_id).exists():
        refuse_closed(channel)
    refuse_unknown_hit(channel, arrival.hit_id)
    throttle_lookup(channel=channel, address=address)
    name = "-".join((arrival.worker_id, arrival.assignment_id, arrival.hit_id))
    if was_refused(channel, name):
        raise ClaimRefused(_("MTurk does not know this assignment. Please open the HIT on MTurk."))
    if is_unresponsive(channel):
        return UNVERIFIED
    try:
        return _verify(mturk, arrival)
    except ClaimRefused:
        note_refused(channel, name)
        raise
    except (MturkUnreachable, KeyMissing) as error:
        note_unresponsive(channel)
        log.warning("channel %s: an arrival was not checked: %s", channel.pk, error)
        return UNVERIFIED


def _verify(mturk: MturkSettings, arrival: MturkArrival) -> str:
    with closing(MturkClient(mturk, patient=False)) as client:
        try:
            assignment = client.call("get_assignment", AssignmentId=arrival.assignment_id)["Assignment"]
        except MturkRefused as refusal:
            if "does not exist" in str(refusal):
                raise ClaimRefused(_("MTurk does not know this assignment. Please open the HIT on MTurk.")) from None
            # "Can be called with a status of" means that it is accepted and not submitted. `sync` reports a refused key.
            return ACCEPTED if "can be called with a status of" in str(refusal) else UNVERIFIED
    if assignment.get("WorkerId") != arrival.worker_id or assignment.get("HITId") != arrival.hit_id:
        raise ClaimRefused(_("This link belongs to another person."))
    return SUBMITTED
