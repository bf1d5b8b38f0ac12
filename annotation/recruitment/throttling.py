"""Throttle look-ups at a platform that visitors cause on arrival.

A look-up occupies a process of this server. Against visitors with made-up ids, look-ups per address are limited,
refusals are cached, and an unresponsive platform is not asked for some seconds. State is in the cache and may be lost.
"""

from django.core.cache import cache
from django.utils.translation import gettext as _

from annotation.models import Channel
from annotation.recruitment.arrival_limits import WINDOW, TooManyArrivals, hashed_address, hourly_limit

REFUSED_SECONDS = 60
UNRESPONSIVE_SECONDS = 5


def throttle_lookup(*, channel: Channel, address: str | None) -> None:
    """Count a look-up for a newcomer. Refuse it when their address has reached the hourly limit.

    Raises: TooManyArrivals.
    """
    name = f"arrivals-asked:{channel.key}:{hashed_address(channel, address)}"
    cache.add(name, 0, WINDOW.total_seconds())
    try:
        count = cache.incr(name)
    except ValueError:  # expired or evicted since `add`
        count = 1
    if count > hourly_limit(channel):
        raise TooManyArrivals(
            _("Many people have come from your network in the last hour. Please try again later."),
            retry_after=int(WINDOW.total_seconds()),
        )


def was_refused(channel: Channel, external_id: str) -> bool:
    """Tell whether the platform has just refused this submission."""
    return cache.get(_refused(channel, external_id)) is not None


def note_refused(channel: Channel, external_id: str) -> None:
    """Remember that the platform refused this submission."""
    cache.set(_refused(channel, external_id), True, REFUSED_SECONDS)


def is_unresponsive(channel: Channel) -> bool:
    """Tell whether the platform has just failed to answer."""
    return cache.get(f"arrivals-away:{channel.key}") is not None


def note_unresponsive(channel: Channel) -> None:
    """Remember that the platform did not answer."""
    cache.set(f"arrivals-away:{channel.key}", True, UNRESPONSIVE_SECONDS)


def _refused(channel: Channel, external_id: str) -> str:
    return f"arrivals-refused:{channel.key}:{external_id}"
