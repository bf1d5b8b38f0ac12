"""How far a run is, for whoever waits for it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Progress:
    """Cells of a run and the work done on them since this process took it up.

    calls  : requests sent to the endpoint, the repeated ones included
    cached : answers that came from the cache instead
    """

    total: int = 0
    done: int = 0
    calls: int = 0
    cached: int = 0
    ended: Counter[str] = field(default_factory=Counter)


OnProgress = Callable[[Progress], None]


def quiet(progress: Progress) -> None:
    """Tell nobody."""
