"""Limits on unverified newcomers of a channel (per hour and network address, and in all) and on registrations.

Of an address only a keyed hash is stored, in the channel's row, for an hour; it is not linked to a rater.
"""

import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import transaction
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from annotation.annotators.participants import join, locked_channel, raters_of, refuse_closed
from annotation.core.errors import ClaimRefused
from annotation.core.http import network_of
from annotation.models import Channel, Participant
from annotation.recruitment.outbox import PlatformUnreachable

WINDOW = timedelta(hours=1)
PER_ADDRESS = 20
MOST_RATERS = 500
# Unverified arrivals from a platform, whose own rules limit them; many share an address.
PLATFORM_PER_ADDRESS = 60
PLATFORM_MOST_RATERS = 5000
_PLATFORMS = (Channel.Kind.PROLIFIC, Channel.Kind.MTURK)
Result = TypeVar("Result")


class TooManyArrivals(ClaimRefused):
    """A limit is reached. `retry_after` is in seconds, None when waiting won't help."""

    def __init__(self, message: str, retry_after: int | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(message)


def hourly_limit(channel: Channel) -> int:
    """Return the number of newcomers per hour from one address."""
    usual = PLATFORM_PER_ADDRESS if channel.kind in _PLATFORMS else PER_ADDRESS
    return int(channel.options.get("per_address") or usual)


def refuse_over_limit(*, channel: Channel, address: str | None, at: datetime) -> None:
    """Refuse a newcomer when their address, or the channel, has reached its limit.

    Raises: TooManyArrivals.
    """
    usual = PLATFORM_MOST_RATERS if channel.kind in _PLATFORMS else MOST_RATERS
    if channel.participants.count() >= int(channel.options.get("most_raters") or usual):
        raise TooManyArrivals(
            _("Enough people have joined already; the study takes no more raters. Thank you for your interest.")
        )
    hashed = hashed_address(channel, address)
    times = [time for time, sender in _recent(channel, at) if sender == hashed]
    if len(times) >= hourly_limit(channel):
        wait = int(times[0] + WINDOW.total_seconds() - at.timestamp()) + 1
        raise TooManyArrivals(
            _("Many people have joined from your network in the last hour. Please try again later."), retry_after=wait
        )


def join_limited(*, channel: Channel, external_id: str, address: str | None, at: datetime) -> tuple[Participant, bool]:
    """Call `join` for an unverified arrival: newcomers count towards the limits.

    Raises: ClaimRefused when the channel is closed; TooManyArrivals.
    """
    admit = partial(_admit, address=address, at=at)
    return join(channel=channel, external_id=external_id, at=at, admit=admit)


@transaction.atomic
def register_account(*, channel: Channel, user: User, address: str | None, at: datetime) -> Participant:
    """Store a new account, whose password is hashed already, and make it a rater of the channel's study.

    Raises: ClaimRefused when the channel is closed; TooManyArrivals.
    """
    channel = locked_channel(channel)
    _admit(channel, address, at)
    user.save()
    return Participant.objects.create(
        channel=channel,
        annotator=raters_of(channel, [user])[0],
        external_id=f"registered-{secrets.token_hex(8)}",
        joined_at=at,
    )


def _admit(channel: Channel, address: str | None, at: datetime) -> None:
    """Record or refuse an arrival at a locked channel, and drop those older than an hour."""
    refuse_closed(channel)
    refuse_over_limit(channel=channel, address=address, at=at)
    arrivals = [*_recent(channel, at), [int(at.timestamp()), hashed_address(channel, address)]]
    channel.options = {**channel.options, "arrivals": arrivals}
    channel.save(update_fields=["options"])


def _recent(channel: Channel, at: datetime) -> list[list[Any]]:
    since = (at - WINDOW).timestamp()
    return [[time, hashed] for time, hashed in channel.options.get("arrivals", []) if time > since]


def hashed_address(channel: Channel, address: str | None) -> str:
    """Hash an address with the server's and the channel's key, so that channels can't be compared."""
    value = f"{channel.key} {network_of(address)}"
    return salted_hmac("tandem.arrivals", value, algorithm="sha256").hexdigest()[:16]


ATTEMPTS_EACH = 5  # forms per rater that an address may make, for mistakes
_MOST_ADDRESSES = 1_000  # latest ones, whose attempts are stored


@transaction.atomic
def note_attempt(*, channel: Channel, address: str | None, at: datetime) -> None:
    """Count a submitted form, before it is validated.

    Raises: TooManyArrivals when the address has sent too many within an hour, or a newcomer would be refused anyway.
    """
    channel = locked_channel(channel)
    refuse_over_limit(channel=channel, address=address, at=at)
    hashed, since = hashed_address(channel, address), (at - WINDOW).timestamp()
    before = [[time, sender, sent] for time, sender, sent in channel.options.get("attempts", []) if time > since]
    first, sent = next(((time, sent) for time, sender, sent in before if sender == hashed), (int(at.timestamp()), 0))
    if sent >= ATTEMPTS_EACH * hourly_limit(channel):
        raise TooManyArrivals(
            _("Many people have joined from your network in the last hour. Please try again later."),
            retry_after=int(first + WINDOW.total_seconds() - at.timestamp()) + 1,
        )
    other_attempts = [attempt for attempt in before if attempt[1] != hashed]
    channel.options = {**channel.options, "attempts": [*other_attempts, [first, hashed, sent + 1]][-_MOST_ADDRESSES:]}
    channel.save(update_fields=["options"])


REFUSED_SECONDS = 60
UNRESPONSIVE_SECONDS = 5


def look_up(*, channel: Channel, address: str | None, name: str, refusal: str, ask: Callable[[], Result]) -> Result:
    """Ask a platform about a newcomer, which occupies a process of this server.

    Look-ups of one address are limited, refusals are cached, and an unresponsive platform is not asked for some seconds.
    This state is in the cache, and may be lost.

    name : of what is looked up
    ask  : raises ClaimRefused for what the platform does not know
    Raises: ClaimRefused with `refusal` for what was refused lately; PlatformUnreachable; TooManyArrivals.
    """
    counter = f"arrivals-asked:{channel.key}:{hashed_address(channel, address)}"
    cache.add(counter, 0, WINDOW.total_seconds())
    try:
        count = cache.incr(counter)
    except ValueError:  # expired or evicted since `add`
        count = 1
    if count > hourly_limit(channel):
        raise TooManyArrivals(
            _("Many people have come from your network in the last hour. Please try again later."),
            retry_after=int(WINDOW.total_seconds()),
        )
    refused, away = f"arrivals-refused:{channel.key}:{name}", f"arrivals-away:{channel.key}"
    if cache.get(refused):
        raise ClaimRefused(refusal)
    if cache.get(away):
        raise PlatformUnreachable("", may_have_worked=False)
    try:
        return ask()
    except ClaimRefused:
        cache.set(refused, True, REFUSED_SECONDS)
        raise
    except PlatformUnreachable:
        cache.set(away, True, UNRESPONSIVE_SECONDS)
        raise
