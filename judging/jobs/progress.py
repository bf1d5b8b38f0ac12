"""A worker's job on a run: its progress, the progress callback and the stop flag."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from annotation.core.tasks.stopping import StopFlag
from annotation.jobs.work import Hold
from judging.models import JudgeRun, Judgment, RunWorker


@dataclass
class Progress:
    """A run's cells, and this process's work on them.

    done      : cells with an outcome, by this process or before
    calls     : requests sent to the endpoint, retries included
    cached    : answers taken from the cache
    ended     : cells that this process filled, by status
    errors    : failed calls by kind, whether or not they were retried
    cost      : of the calls; `None` if a part is unknown
    in_flight, allowed : calls in flight, and their limit
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


def ignore_progress(progress: Progress) -> None:
    """Do nothing."""


def noted_by(hold: Hold, on_progress: OnProgress) -> OnProgress:
    """Return a callback for progress that notes it in a job before it calls another one."""

    def report(progress: Progress) -> None:
        hold.note(progress.done, progress.total)
        on_progress(progress)

    return report


@dataclass
class RunWork:
    """A run that this process works on.

    cells_left       : cells that it may still start; `None`: all
    wait_for_batches : stay until a provider's batches are finished, rather than poll them once
    """

    run: JudgeRun
    worker: RunWorker
    progress: Progress
    stop: StopFlag
    on_progress: OnProgress = ignore_progress
    cells_left: int | None = None
    wait_for_batches: bool = True

    def count_done(self) -> None:
        """Count the cells with an outcome, also those that other workers filled."""
        self.progress.total = self.run.judgments.count()
        open_cells = self.run.judgments.filter(status=Judgment.Status.PENDING).count()
        self.progress.done = self.progress.total - open_cells

    def report(self, statuses: Iterable[str], *, cached: int = 0) -> None:
        """Report cells that this process filled, given by their statuses. `cached`: answers from the cache among theirs."""
        ended = Counter(statuses)
        self.progress.ended += ended
        self.progress.done += ended.total()
        self.progress.cached += cached
        self.on_progress(self.progress)
