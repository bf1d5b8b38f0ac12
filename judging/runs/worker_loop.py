"""A worker's session on a run: claims cells, stores verdicts, renews its lease."""

from dataclasses import replace
from decimal import Decimal

from judging.calls.budget import CallSizes
from judging.calls.cases import Case
from judging.calls.procedure_pool import JudgmentPool
from judging.calls.requests import Requests, setting_of
from judging.calls.session import Session
from judging.calls.store import PendingWrites, stamp_of, write
from judging.jobs import leases
from judging.jobs.leases import HeartbeatReply
from judging.jobs.progress import RunWork
from judging.methods import AskingMethod
from judging.models import Judgment
from judging.runs.claims import claim, load


class RunWorkerSession(Session):
    """One worker's cells."""

    pool: JudgmentPool

    def __init__(self, job: RunWork, method: AskingMethod) -> None:
        self.job = job
        self.run = job.run
        setting = setting_of(job.run.judge)
        requests = Requests(job.run.judge, method)
        super().__init__(
            JudgmentPool(method, setting, requests),
            in_flight=job.run.in_flight,
            stop=job.stop,
            progress=job.progress,
            on_progress=job.on_progress,
        )
        self.stamp = stamp_of(job.run, method, setting, worker=job.worker.pk)

    def learn_sizes(self, sizes: CallSizes) -> None:
        """Learn from the stored answers of a capped run."""
        if self.run.max_cost is not None:
            sizes.learn_from_run(self.run)

    def send_heartbeat(self, *, in_flight: int, outstanding: Decimal, needed: Decimal) -> HeartbeatReply:
        """Renew the lease. What other workers have filled is counted too."""
        heartbeat = leases.send_heartbeat(self.job.worker, in_flight=in_flight, outstanding=outstanding, needed=needed)
        if heartbeat.lost:
            self.stamp = replace(self.stamp, worker=self.job.worker.pk)
        if heartbeat.others:
            self.job.count_done()
        return heartbeat

    def release_cases(self) -> None:
        """Release the open cells."""
        super().release_cases()
        released = Judgment.objects.filter(worker=self.job.worker, status=Judgment.Status.PENDING).update(worker=None)
        if self.job.cells_left is not None:
            self.job.cells_left += released
        self.exhausted = False

    def start_cases(self, limit: int) -> list[Case]:
        """Claim cells, and start their procedures."""
        if self.job.cells_left is not None:
            limit = min(limit, self.job.cells_left)
        elif self.run.judge.params.get("together"):  # no other worker makes the same call
            limit += -limit % len(self.run.questions)
        ids = claim(self.run, self.job.worker, limit=limit) if limit else []
        if self.job.cells_left is not None:
            self.job.cells_left -= len(ids)
        self.exhausted = len(ids) < limit or not limit
        return self.pool.start(load(self.run, ids)) if ids else []

    def store(self, writes: PendingWrites) -> None:
        """Store answers and verdicts."""
        if not writes:
            return
        write(writes, self.stamp)
        self.job.report(
            (result.reading.status for result in writes.results), cached=sum(result.cached for result in writes.results)
        )
