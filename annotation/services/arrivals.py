"""How many may come through a door that is open to anybody: so many an hour from one address, and so many in all.

What is kept of an address is a keyed hash, in the channel's own row, for an hour; nothing ties it to a rater.
"""

import ipaddress
import secrets
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from annotation.errors import ClaimRefused
from annotation.models import Channel, Participant
from annotation.services.participants import join, raters_of, refuse_shut

WINDOW = timedelta(hours=1)
PER_ADDRESS = 20
MOST_RATERS = 500
# People whom a platform sends and has not vouched for: its own rules keep their number down, and many share an address.
PLATFORM_PER_ADDRESS = 60
PLATFORM_MOST_RATERS = 5000
_PLATFORMS = (Channel.Kind.PROLIFIC, Channel.Kind.MTURK)
_IPV6_NETWORK = 64  # what one household or one phone is given: any address in it is the same person's for the asking


class TooManyArrivals(ClaimRefused):
    """Too many have come; `retry_after` says in how many seconds to try again, None when that won't help."""

    def __init__(self, message: str, retry_after: int | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(message)


def allowance_of(channel: Channel) -> int:
    """Return how many newcomers an hour one address may send."""
    usual = PLATFORM_PER_ADDRESS if channel.kind in _PLATFORMS else PER_ADDRESS
    return int(channel.options.get("per_address") or usual)


def _most_raters(channel: Channel) -> int:
    usual = PLATFORM_MOST_RATERS if channel.kind in _PLATFORMS else MOST_RATERS
    return int(channel.options.get("most_raters") or usual)


def refuse_over(*, channel: Channel, address: str | None, at: datetime) -> None:
    """Refuse a newcomer when their address, or the whole channel, has had its share.

    Raises: TooManyArrivals.
    """
    if channel.participants.count() >= _most_raters(channel):
        raise TooManyArrivals(_("Enough people have joined already; nobody new is taken. Thank you for your interest."))
    hashed = hashed_address(channel, address)
    times = [time for time, other in _recent(channel, at) if other == hashed]
    if len(times) >= allowance_of(channel):
        wait = int(times[0] + WINDOW.total_seconds() - at.timestamp()) + 1
        raise TooManyArrivals(
            _("Many people have joined from your network in the last hour. Please try again later."), retry_after=wait
        )


@transaction.atomic
def join_by_link(*, channel: Channel, external_id: str, address: str | None, at: datetime) -> Participant:
    """Return the participant of this name, or make one for somebody who comes for the first time.

    Raises: as `join_counted`.
    """
    return join_counted(channel=channel, external_id=external_id, address=address, at=at)[0]


@transaction.atomic
def join_counted(*, channel: Channel, external_id: str, address: str | None, at: datetime) -> tuple[Participant, bool]:
    """Do as `join` does, for somebody whom nobody vouches for: a newcomer counts towards what the door lets in.

    Raises: ClaimRefused when the channel is shut; TooManyArrivals when there were too many before.
    """
    channel = _locked(channel)
    known = channel.participants.filter(external_id=external_id).select_related("annotator__user").first()
    if known is not None:
        return known, False
    _admit(channel, address, at)
    return join(channel=channel, external_id=external_id, at=at)


@transaction.atomic
def register_account(*, channel: Channel, user: User, address: str | None, at: datetime) -> Participant:
    """Store a new account, whose password is hashed already, and make it a rater of the channel's study.

    Raises: ClaimRefused when the channel is shut; TooManyArrivals when there were too many before.
    """
    channel = _locked(channel)
    _admit(channel, address, at)
    user.save()
    return Participant.objects.create(
        channel=channel,
        annotator=raters_of(channel, [user])[0],
        external_id=f"registered-{secrets.token_hex(8)}",
        joined_at=at,
    )


def _locked(channel: Channel) -> Channel:
    """Lock a channel, so that those who come at one moment are counted one by one, whichever process has them."""
    return Channel.objects.select_for_update(of=("self",)).select_related("study").get(pk=channel.pk)


def _admit(channel: Channel, address: str | None, at: datetime) -> None:
    """Note an arrival at a locked channel, and forget those of more than an hour ago; or refuse it."""
    refuse_shut(channel)
    refuse_over(channel=channel, address=address, at=at)
    arrivals = [*_recent(channel, at), [int(at.timestamp()), hashed_address(channel, address)]]
    channel.options = {**channel.options, "arrivals": arrivals}
    channel.save(update_fields=["options"])


def _recent(channel: Channel, at: datetime) -> list[list[Any]]:
    since = (at - WINDOW).timestamp()
    return [[time, hashed] for time, hashed in channel.options.get("arrivals", []) if time > since]


def hashed_address(channel: Channel, address: str | None) -> str:
    """Hash an address with the server's key, and with the channel's, so that channels can't be compared."""
    try:
        found = ipaddress.ip_address((address or "").split("%")[0])
    except ValueError:  # a socket without an address, or a proxy's own word: all of these share one allowance
        text = address or ""
    else:
        if isinstance(found, ipaddress.IPv6Address):
            mapped = found.ipv4_mapped
            text = str(mapped or ipaddress.ip_network((found, _IPV6_NETWORK), strict=False))
        else:
            text = str(found)
    return salted_hmac("tandem.arrivals", f"{channel.key} {text}", algorithm="sha256").hexdigest()[:16]
