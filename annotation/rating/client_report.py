"""What a page reports with a choice, such as the time spent, and how far it is trusted."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

_CLOCKS_APART = timedelta(minutes=5)


@dataclass(frozen=True)
class ClientReport:
    """Sent by the page's script; a form without JavaScript sends none of it.

    page           : identifies the loaded page, which tells tabs apart
    version        : number of changes of this pair's votes that the page knew of
    chosen_at      : when the choice was made, by the browser's clock
    active_seconds : while this pair was read, with the page visible and input in the last 30 s
    wall_seconds   : while this pair was read, pauses included
    source_opened  : whether the source was open on a page of this HIT before the choice
    translated     : whether the browser had translated the page

    Times are per pair and stage, summed over visits, reloads and tabs. One pair is current at a time, so the pairs'
    times sum to their HIT's.
    """

    page: str = ""
    version: int | None = None
    chosen_at: datetime | None = None
    active_seconds: float | None = None
    wall_seconds: float | None = None
    source_opened: bool | None = None
    translated: bool | None = None

    def moment(self, *, earliest: datetime, received_at: datetime) -> datetime | None:
        """When the choice was made; None for an impossible time."""
        if self.chosen_at is None or not earliest - _CLOCKS_APART <= self.chosen_at <= received_at + _CLOCKS_APART:
            return None
        return self.chosen_at

    def seconds(self, *, earliest: datetime, received_at: datetime) -> tuple[float | None, float | None]:
        """Active and wall seconds, each at most the time that has passed; None where not reported."""
        passed = max((received_at - earliest).total_seconds(), 0.0)
        wall = _within(self.wall_seconds, passed)
        return _within(self.active_seconds, passed if wall is None else wall), wall


def _within(seconds: float | None, most: float) -> float | None:
    # NaN fails the comparison, and gives None too.
    return min(seconds, most) if seconds is not None and 0 <= seconds < math.inf else None


def parse_times(lines: Iterable[str]) -> dict[str, ClientReport]:
    """Parse the times that a page reports when a stage is closed, `KEY:ACTIVE:WALL`; skip malformed lines."""
    times = {}
    for line in lines:
        key, *seconds = line.split(":")
        try:
            active, wall = map(float, seconds)
        except ValueError:
            continue
        times[key] = ClientReport(active_seconds=active, wall_seconds=wall)
    return times
