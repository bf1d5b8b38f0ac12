"""Asking a platform while somebody waits at the door: seldom, briefly, and not twice about the same.

A request to a platform holds a process of this server. So that a stranger with made-up ids can't hold them all, an
address has an allowance, a refusal is remembered for a while, and a platform that doesn't answer is left alone for some
seconds. What is kept lies in the process's memory and may be lost.
"""

from django.core.cache import cache
from django.utils.translation import gettext as _

from annotation.models import Channel
from annotation.services.arrivals import WINDOW, TooManyArrivals, allowance_of, hashed_address

REFUSED_SECONDS = 60
AWAY_SECONDS = 5


def refuse_asking(*, channel: Channel, address: str | None) -> None:
    """Count a question that a newcomer's arrival takes; refuse it when their address has had its share in the last hour.

    Raises: TooManyArrivals.
    """
    name = f"arrivals-asked:{channel.key}:{hashed_address(channel, address)}"
    cache.add(name, 0, WINDOW.total_seconds())
    try:
        count = cache.incr(name)
    except ValueError:  # it ran out, or was thrown out, at this very moment
        count = 1
    if count > allowance_of(channel):
        raise TooManyArrivals(
            _("Many people have come from your network in the last hour. Please try again later."),
            retry_after=int(WINDOW.total_seconds()),
        )


def was_refused(channel: Channel, external_id: str) -> bool:
    """Tell whether the platform has said no of this piece of work a moment ago."""
    return cache.get(_refused(channel, external_id)) is not None


def note_refused(channel: Channel, external_id: str) -> None:
    """Remember that the platform has said no of this piece of work."""
    cache.set(_refused(channel, external_id), True, REFUSED_SECONDS)


def is_away(channel: Channel) -> bool:
    """Tell whether the platform didn't answer a moment ago."""
    return cache.get(f"arrivals-away:{channel.key}") is not None


def note_away(channel: Channel) -> None:
    """Remember that the platform doesn't answer."""
    cache.set(f"arrivals-away:{channel.key}", True, AWAY_SECONDS)


def _refused(channel: Channel, external_id: str) -> str:
    return f"arrivals-refused:{channel.key}:{external_id}"
