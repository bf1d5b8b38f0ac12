"""The database side of an engine's work: starts procedures, prepares requests, processes answers, stores results.

It runs in one thread, step by step, while the event loop in another makes the calls. What is started, and where results
go, is up to the subclasses: cells of a run, a single procedure, texts of a system.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from annotation.core.tasks.stopping import StopFlag
from judging.calls.budget import CallSizes
from judging.calls.cases import Case, StoredAnswer
from judging.calls.failures import FailedCall, FailureRate
from judging.calls.procedure_pool import ProcedurePool
from judging.calls.requests import Request
from judging.calls.store import PendingWrites
from judging.core.constants import FILTERED
from judging.jobs import leases
from judging.jobs.leases import HeartbeatReply
from judging.jobs.progress import OnProgress, Progress

MIN_START, MAX_START = 16, 512  # cases started at a time: few, so that workers finish together
MAX_START_TO_ASK = 64  # cases that need calls; answers wait while they are prepared
MAX_OPEN = 2048  # cases in memory: thousands may wait for one shared answer


@dataclass
class StepResult:
    """The result of one step.

    follow_up, first : requests to send now: of cases in progress, which have priority, and of new ones
    stored    : keys of the answers that are stored now
    failed    : keys of the calls that failed
    taken     : number of cases started
    exhausted : there are no more cases to start
    heartbeat : the reply to a heartbeat, if one was sent
    halt      : why the work can't continue
    """

    follow_up: list[Request] = field(default_factory=list)
    first: list[Request] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    taken: int = 0
    exhausted: bool = False
    heartbeat: HeartbeatReply | None = None
    halt: Exception | None = None


class Session(ABC):
    """One process's cases.

    in_flight : calls at once, before the first heartbeat
    """

    max_start_to_ask = MAX_START_TO_ASK

    def __init__(
        self, pool: ProcedurePool, *, in_flight: int, stop: StopFlag, progress: Progress, on_progress: OnProgress
    ) -> None:
        self.pool = pool
        self.in_flight = in_flight
        self.stop = stop
        self.progress = progress
        self.on_progress = on_progress
        self.exhausted = False
        self.failure_rate = FailureRate()
        self._start_size = MIN_START
        self._next_heartbeat = 0.0

    def step(
        self,
        answers: Sequence[StoredAnswer | FailedCall] = (),
        *,
        count: int = 0,
        under_way: int = 0,
        outstanding: Decimal = Decimal(0),
        needed: Decimal = Decimal(0),
        send_heartbeat: bool = False,
    ) -> StepResult:
        """Process answers, start new cases for `count` more calls, and store the results.

        under_way, outstanding : calls in flight, and what they may cost, for the heartbeat
        needed : what the next call may cost, for want of which it is held back
        send_heartbeat : send one even if none is due
        """
        result = StepResult()
        advanced = self._take(answers, result)
        result.follow_up += self.pool.advance(advanced)
        if count > len(result.follow_up) and not self.exhausted and self.pool.under_way < MAX_OPEN:
            count = max(count, self.in_flight // 4)  # each start has a fixed cost
            cases = self.start_cases(max(self._start_size, min(count, self.max_start_to_ask)))
            result.taken, result.first = len(cases), self.pool.advance(cases)
            # Many at a time while the cache answers them, else only a little ahead of the calls.
            self._start_size = MIN_START if result.first else min(MAX_START, 2 * self._start_size)
        result.halt = self.store(self.pool.take_writes()) or result.halt
        result.exhausted = self.exhausted
        if send_heartbeat or time.monotonic() >= self._next_heartbeat:
            result.heartbeat = self.send_heartbeat(in_flight=under_way, outstanding=outstanding, needed=needed)
            self._next_heartbeat = time.monotonic() + leases.HEARTBEAT_SECONDS
            if result.heartbeat.lost:
                self.pool.drop_waiting()
                result.follow_up, result.first, self.exhausted = [], [], False
            self.on_progress(self.progress)
        return result

    def _take(self, answers: Sequence[StoredAnswer | FailedCall], result: StepResult) -> list[Case]:
        advanced: list[Case] = []
        for answer in answers:
            if isinstance(answer, FailedCall):
                result.failed.append(answer.key)
                request = self.pool.charge(answer.charged) if answer.charged else None
                if request and answer.again:
                    result.follow_up.append(request)
                    continue
                if not (answer.rejected and answer.cause != FILTERED and self.pool.falls_back(answer.key)):
                    result.halt = self.note_failure(answer) or result.halt
                advanced += self.pool.fail(answer)
            else:
                result.stored.append(answer.key)
                self.failure_rate.note_answer()
                advanced += self.pool.answer(answer)
        return advanced

    def note_failure(self, failed: FailedCall) -> Exception | None:
        """Return why the work can't continue after a failed call, if it can't."""
        return self.failure_rate.note_failure(failed)

    def release_cases(self) -> None:
        """Release the open cases for other workers: this one's share of calls is 0."""
        self.pool.drop_waiting()

    @abstractmethod
    def learn_sizes(self, sizes: CallSizes) -> None:
        """Learn the sizes of calls from earlier ones, for a cap on costs."""

    @abstractmethod
    def start_cases(self, limit: int) -> list[Case]:
        """Start up to so many cases, and set `exhausted` if there are no more."""

    @abstractmethod
    def store(self, writes: PendingWrites) -> Exception | None:
        """Store answers and results in one transaction. Return why the work can't continue, if it can't."""

    @abstractmethod
    def send_heartbeat(self, *, in_flight: int, outstanding: Decimal, needed: Decimal) -> HeartbeatReply:
        """Return the share of calls and money."""
