"""The database side of a worker: claims cells, prepares requests, processes answers, writes results, sends heartbeats.

It runs in one thread, step by step, while the event loop in another makes the calls.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from judging.calls.cases import Case, StoredAnswer
from judging.calls.procedure_pool import ProcedurePool
from judging.calls.requests import Request, Requests, setting_of
from judging.calls.store import PendingWrites, stamp_of, write
from judging.core.constants import FAILURES_IN_A_ROW
from judging.jobs import leases
from judging.jobs.leases import HeartbeatReply
from judging.jobs.progress import Job
from judging.methods import AskingMethod
from judging.models import Judgment
from judging.runs.claims import claim, load

MIN_CLAIM, MAX_CLAIM = 16, 512  # cells claimed at a time: few, so that workers finish together
MAX_CLAIM_TO_ASK = 64  # cells that need calls; answers wait while they are prepared
MAX_OPEN = 2048  # cells in memory: thousands may wait for one shared answer


@dataclass(frozen=True)
class FailedCall:
    """A call without an answer, after all retries.

    rejected : the endpoint rejects this request, but may accept others
    charged  : unusable answer that has to be paid; `again`: the request may be sent again
    """

    key: str
    reason: str
    rejected: bool = False
    charged: StoredAnswer | None = None
    again: bool = False


@dataclass
class StepResult:
    """The result of one step.

    follow_up, first : requests to send now: of cells in progress, which have priority, and of new ones
    stored    : keys of the answers that are stored now
    failed    : keys of the calls that failed
    taken     : number of cells claimed
    exhausted : there are no more cells to claim
    heartbeat : the reply to a heartbeat, if one was sent
    halt      : why the run can't continue
    """

    follow_up: list[Request] = field(default_factory=list)
    first: list[Request] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    taken: int = 0
    exhausted: bool = False
    heartbeat: HeartbeatReply | None = None
    halt: str = ""


class RunWorkerSession:
    """One worker's cells."""

    def __init__(self, job: Job, method: AskingMethod) -> None:
        self.job = job
        self.run = job.run
        setting = setting_of(job.run.judge)
        requests = Requests(job.run.judge, method)
        self.pool = ProcedurePool(method, setting, requests)
        self.stamp = stamp_of(job.run, method, setting, requests.base_url, worker=job.worker.pk)
        self.exhausted = False
        self._claim_size = MIN_CLAIM
        self._next_heartbeat = 0.0
        self._failures = 0

    def step(
        self,
        answers: Sequence[StoredAnswer | FailedCall] = (),
        *,
        wanted: int = 0,
        under_way: int = 0,
        outstanding: Decimal = Decimal(0),
        send_heartbeat: bool = False,
    ) -> StepResult:
        """Process answers, claim new cells if calls are `wanted`, and write the results.

        under_way, outstanding : calls in flight, and what they may cost, for the heartbeat
        send_heartbeat : send one even if none is due
        """
        result = StepResult()
        advanced = self._take(answers, result)
        result.follow_up += self.pool.advance(advanced)
        if wanted > len(result.follow_up) and not self.exhausted and self.pool.under_way < MAX_OPEN:
            cases = self._new_cases(wanted)
            result.taken, result.first = len(cases), self.pool.advance(cases)
            # Large claims while the cache fills cells, else only a little ahead of the calls.
            self._claim_size = MIN_CLAIM if result.first else min(MAX_CLAIM, 2 * self._claim_size)
        self._write(result)
        result.exhausted = self.exhausted
        if send_heartbeat or time.monotonic() >= self._next_heartbeat:
            result.heartbeat = leases.send_heartbeat(self.job.worker, in_flight=under_way, outstanding=outstanding)
            self._next_heartbeat = time.monotonic() + leases.HEARTBEAT_SECONDS
            if result.heartbeat.lost:
                self.pool.drop_waiting()
                result.follow_up, result.first, self.exhausted = [], [], False
            if result.heartbeat.others:
                self.job.count_done()
            self.job.on_progress(self.job.progress)
        return result

    def release_cells(self) -> None:
        """Release the open cells: this worker's share of calls is 0."""
        self.pool.drop_waiting()
        given = (
            Judgment.objects.of_every_question()
            .filter(worker=self.job.worker, status=Judgment.Status.PENDING)
            .update(worker=None)
        )
        if self.job.cells_left is not None:
            self.job.cells_left += given
        self.exhausted = False

    def _take(self, answers: Sequence[StoredAnswer | FailedCall], result: StepResult) -> list[Case]:
        advanced: list[Case] = []
        for answer in answers:
            if isinstance(answer, FailedCall):
                result.failed.append(answer.key)
                request = self.pool.charge(answer.charged) if answer.charged else None
                if request and answer.again:
                    result.follow_up.append(request)
                    continue
                advanced += self.pool.fail(answer.key, answer.reason, rejected=answer.rejected)
            else:
                result.stored.append(answer.key)
                advanced += self.pool.answer(answer)
        return advanced

    def _new_cases(self, wanted: int) -> list[Case]:
        limit = max(self._claim_size, min(wanted, MAX_CLAIM_TO_ASK))
        if self.job.cells_left is not None:
            limit = min(limit, self.job.cells_left)
        ids = claim(self.run, self.job.worker, limit=limit) if limit else []
        if self.job.cells_left is not None:
            self.job.cells_left -= len(ids)
        self.exhausted = len(ids) < limit or not limit
        return self.pool.start(load(self.run, ids)) if ids else []

    def _write(self, result: StepResult) -> None:
        writes = self.pool.take_writes()
        if not writes:
            return
        write(writes, self.stamp)
        self.job.report(
            (one.reading.status for one in writes.results), cached=sum(one.cached for one in writes.results)
        )
        result.halt = self._count_failures(writes)

    def _count_failures(self, writes: PendingWrites) -> str:
        for result in writes.results:
            if result.reading.status != Judgment.Status.ERROR:
                self._failures = 0
                continue
            self._failures += 1
            if self._failures >= FAILURES_IN_A_ROW:
                return f"{self._failures} questions in a row got no answer, the last one: {result.reading.failure}"
        return ""
