"""Executing a run in one worker, from joining it to leaving it."""

import logging
from dataclasses import dataclass, replace

from django.db import InterfaceError, OperationalError

from annotation.core.reasons import Reason, reason
from annotation.core.tasks.stopping import StopFlag
from judging.calls.engine import carry_out
from judging.calls.requests import parsed, setting_of
from judging.calls.store import PendingWrites, Result, stamp_of, write
from judging.core.errors import CapReached, JudgingError, RunBusy, RunStopped, StatusChanged
from judging.endpoints.retrying import MakeClient, checked, retrying_client
from judging.jobs import leases
from judging.jobs.progress import OnProgress, Progress, RunWork, ignore_progress
from judging.methods import AskingMethod, Baseline, Outcome, find_method
from judging.models import JudgeRun, Judgment
from judging.runs.cells import RunWorkerSession, claim, free_cells, load, reparse_run
from judging.runs.provider_batches.execution import BatchPending, BatchWork
from judging.runs.provider_batches.provider import cancel_batches

log = logging.getLogger(__name__)
BASELINE_CHUNK = 500


@dataclass(frozen=True)
class ExecutionResult:
    """The end of this worker's execution of a run, and its usage.

    as_asked      : stopped after the requested number of cells
    signal        : stopped because this process got a stop signal
    batch_pending : waiting for a provider's batch; to be resumed later, with `cells_left` cells (`None`: all)
    """

    status: str
    reason: Reason
    progress: Progress
    as_asked: bool = False
    signal: bool = False
    batch_pending: bool = False
    cells_left: int | None = None

    @property
    def message(self) -> str:
        """The reason in English."""
        return str(self.reason)


def execute(
    run_id: int,
    *,
    stop: StopFlag,
    when_stopped: str = JudgeRun.Status.QUEUED,
    on_progress: OnProgress = ignore_progress,
    make_client: MakeClient = retrying_client,
    limit: int | None = None,
    wait_for_batches: bool = True,
) -> ExecutionResult:
    """Work on a run until no cell is open, it fails, or `stop` is set (which leaves it `when_stopped`).

    Other workers may share it. A run that was stopped or is done stays as it is.
    limit            : cells to start this time
    wait_for_batches : stay until a provider's batches are finished
    """
    run, worker = leases.join(run_id)
    progress = Progress()
    if worker is None:
        cancel_batches(run)
        return ExecutionResult(run.status, run.message, progress)
    job = RunWork(run, worker, progress, stop, on_progress, limit, wait_for_batches)
    job.count_done()
    try:
        return work(job, when_stopped, make_client)
    except (OperationalError, InterfaceError):  # the database could not be reached: a worker resumes the run
        leases.leave(worker, status=JudgeRun.Status.QUEUED, only_if_last=True)
        raise
    except BaseException as error:
        leases.leave(worker, status=JudgeRun.Status.FAILED, message=reason("unexpected", error=type(error).__name__))
        raise


def work(job: RunWork, when_stopped: str, make_client: MakeClient) -> ExecutionResult:
    """Fill cells until done or stopped, leave the run, and return how it ended."""
    try:
        if fill_cells(job, make_client):
            job.run.refresh_from_db(fields=["status", "message"])
            return ExecutionResult(job.run.status, job.run.message, job.progress)
    except StatusChanged:  # stopped from elsewhere
        leases.leave(job.worker, status=JudgeRun.Status.PAUSED, only_if_last=True)
        job.run.refresh_from_db(fields=["status", "message"])
        cancel_batches(job.run)
        return ExecutionResult(job.run.status, job.run.message or reason("stopped_elsewhere"), job.progress)
    except BatchPending as error:
        status = leases.leave(job.worker, status=JudgeRun.Status.QUEUED, message=error.reason)
        pending = status == JudgeRun.Status.QUEUED
        return ExecutionResult(status, error.reason, job.progress, batch_pending=pending, cells_left=error.cells_left)
    except RunBusy as error:
        status = leases.leave(job.worker, status=JudgeRun.Status.PAUSED, only_if_last=True)
        return ExecutionResult(status, error.reason, job.progress)
    except CapReached as error:
        status = leases.leave(job.worker, status=JudgeRun.Status.PAUSED, message=error.reason)
        return ExecutionResult(status, error.reason, job.progress)
    except JudgingError as error:
        log.warning("%s stopped: %s", job.run, error)
        # Other workers may succeed, as when only this machine lacks the key.
        leases.leave(job.worker, status=JudgeRun.Status.FAILED, message=error.reason, only_if_last=True)
        return ExecutionResult(JudgeRun.Status.FAILED, error.reason, job.progress)
    if job.stop.is_set():
        status = leases.leave(job.worker, status=when_stopped, only_if_last=True)
        return ExecutionResult(status, reason("stopped_on_request"), job.progress, signal=True)
    status = leases.leave(job.worker, status=JudgeRun.Status.PAUSED, only_if_last=True)
    return ExecutionResult(status, reason("stopped_as_asked"), job.progress, as_asked=True)


def fill_cells(job: RunWork, make_client: MakeClient) -> bool:
    """Fill the open cells, also those added later or released by dead workers. Return False if stopped before the end."""
    method = find_method(job.run.judge.method)
    if isinstance(method, AskingMethod):
        reparse_run(job.run, method)
    while not leases.finish(job.run, job.worker):
        if job.stop.is_set() or job.cells_left == 0:
            return False
        if not free_cells(job.run).exists():  # other workers fill the last cells
            job.stop.wait_for(leases.HEARTBEAT_SECONDS)
            if not leases.send_heartbeat(job.worker).should_continue:
                raise StatusChanged
            job.count_done()
            job.on_progress(job.progress)
        elif isinstance(method, Baseline):
            fill_from_baseline(job, method)
        elif isinstance(method, AskingMethod):
            endpoint, tables = job.run.judge.endpoint, job.run.judge.table_endpoint
            if endpoint is None:
                raise RunStopped(reason("no_endpoint", judge=str(job.run.judge)))
            with checked(endpoint, tables):
                if job.run.way == JudgeRun.Way.BATCH:
                    BatchWork(job, method, endpoint).work()
                else:
                    carry_out(RunWorkerSession(job, method), endpoint, make_client, tables=tables)
        else:
            raise RunStopped(reason("made_elsewhere", method=method.name))
    return True


def fill_from_baseline(job: RunWork, method: Baseline) -> None:
    """Fill open cells with a baseline's verdicts."""
    run = job.run
    stamp = stamp_of(run, method, setting_of(run.judge), worker=job.worker.pk)
    while not job.stop.is_set():
        if not leases.send_heartbeat(job.worker).should_continue:
            raise StatusChanged
        stamp = replace(stamp, worker=job.worker.pk)  # another one, if the lease was lost
        limit = BASELINE_CHUNK if job.cells_left is None else min(job.cells_left, BASELINE_CHUNK)
        ids = claim(run, job.worker, limit=limit) if limit else []
        if not ids:
            return
        writes = PendingWrites()
        for cell in load(run, ids):
            verdict = method.decide(cell.shown, seed=run.judge.seed)
            writes.results.append(Result(cell.pk, cell.order, parsed(Outcome(verdict))))
        write(writes, stamp)
        if job.cells_left is not None:
            job.cells_left -= len(ids)
        job.report([Judgment.Status.PARSED] * len(ids))
