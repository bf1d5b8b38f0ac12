"""Limit on registration forms per address, valid or not, against guessing user names."""

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import Channel
from annotation.recruitment.arrival_limits import (
    WINDOW,
    TooManyArrivals,
    hashed_address,
    hourly_limit,
    refuse_over_limit,
)

ATTEMPTS_EACH = 5  # forms per rater that an address may make, for mistakes
_MOST_ADDRESSES = 1_000  # latest ones, whose attempts are stored


@transaction.atomic
def note_attempt(*, channel: Channel, address: str | None, at: datetime) -> None:
    """Count a submitted form, before it is validated.

    Raises: TooManyArrivals when the address has sent too many within an hour, or a newcomer would be refused anyway.
    """
    channel = Channel.objects.select_for_update(of=("self",)).get(pk=channel.pk)
    refuse_over_limit(channel=channel, address=address, at=at)
    hashed, since = hashed_address(channel, address), (at - WINDOW).timestamp()
    before = [[time, other, sent] for time, other, sent in channel.options.get("attempts", []) if time > since]
    first, sent = next(((time, sent) for time, other, sent in before if other == hashed), (int(at.timestamp()), 0))
    if sent >= ATTEMPTS_EACH * hourly_limit(channel):
        raise TooManyArrivals(
            _("Many people have joined from your network in the last hour. Please try again later."),
            retry_after=int(first + WINDOW.total_seconds() - at.timestamp()) + 1,
        )
    others = [one for one in before if one[1] != hashed]
    channel.options = {**channel.options, "attempts": [*others, [first, hashed, sent + 1]][-_MOST_ADDRESSES:]}
    channel.save(update_fields=["options"])
