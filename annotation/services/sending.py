"""What a page says about a choice besides the choice itself, and what of that is believed."""

from dataclasses import dataclass
from datetime import datetime, timedelta

_CLOCKS_APART = timedelta(minutes=5)


@dataclass(frozen=True)
class Sent:
    """Sent along by a page; a form without JavaScript sends none of it.

    page           : names the loaded page, so that two tabs can be told apart
    version        : how many changes of this pair's votes the page knew of
    chosen_at      : when the choice was made, by the browser's clock
    active_seconds : on this pair, with the page visible and input in the last 30 s
    wall_seconds   : since the pair was first in view
    """

    page: str = ""
    version: int | None = None
    chosen_at: datetime | None = None
    active_seconds: float | None = None
    wall_seconds: float | None = None

    def moment(self, *, earliest: datetime, received_at: datetime) -> datetime | None:
        """When the choice was made; a time that can't be is no time."""
        if self.chosen_at is None or not earliest - _CLOCKS_APART <= self.chosen_at <= received_at + _CLOCKS_APART:
            return None
        return self.chosen_at

    def seconds(self, *, earliest: datetime, received_at: datetime) -> tuple[float | None, float | None]:
        """Active and wall seconds, each within what can have passed; None where the page didn't say."""
        passed = max((received_at - earliest).total_seconds(), 0.0)
        wall = _within(self.wall_seconds, passed)
        return _within(self.active_seconds, passed if wall is None else wall), wall


def _within(seconds: float | None, most: float) -> float | None:
    # A comparison with NaN is false, so that NaN is no time either.
    return min(seconds, most) if seconds is not None and seconds >= 0 else None
