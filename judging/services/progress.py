"""A piece of work on a run: how far it is, who is told, and who may stop it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

from judging.models import JudgeRun, Judgment, RunWorker
from judging.services.stopping import StopFlag


@dataclass
class Progress:
    """Cells of a run and the work done on them since this process took it up.

    done      : cells with an outcome, of this process and those that it found
    calls     : requests sent to the endpoint, the repeated ones included
    cached    : answers that came from the cache instead
    ended     : cells that this process filled, by what came of them
    errors    : calls that failed, by kind, whether or not they were made again
    cost      : of the calls; `None` when a part of it is unknown
    in_flight, allowed : calls under way, and how many may be
    """

    total: int = 0
    done: int = 0
    calls: int = 0
    cached: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    cost: Decimal | None = Decimal(0)
    currency: str = ""
    in_flight: int = 0
    allowed: int = 0


OnProgress = Callable[[Progress], None]


def quiet(progress: Progress) -> None:
    """Tell nobody."""


@dataclass
class Job:
    """One run that this process works on.

    left    : cells that it may still begin; `None`: all
    patient : it waits for a provider's batches, and doesn't only see how far they are
    """

    run: JudgeRun
    worker: RunWorker
    progress: Progress
    stop: StopFlag
    on_progress: OnProgress = quiet
    left: int | None = None
    patient: bool = True

    def count_done(self) -> None:
        """Count the cells with an outcome, those included that other workers have filled."""
        self.progress.total = self.run.judgments.count()
        open_cells = self.run.judgments.filter(status=Judgment.Status.PENDING).count()
        self.progress.done = self.progress.total - open_cells
