"""A piece of work on a run: how far it is, who is told, and who may stop it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from judging.models import JudgeRun
from judging.services.stopping import StopFlag


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


@dataclass(frozen=True)
class Job:
    """One run that this process holds the lease on."""

    run: JudgeRun
    progress: Progress
    stop: StopFlag
    on_progress: OnProgress = quiet
