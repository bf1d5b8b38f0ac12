"""The queue's tasks for runs."""

import logging
from datetime import timedelta
from typing import Any

from django.utils import timezone
from django_tasks import task
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from judging.jobs import leases
from judging.jobs.stopping import WORKER_STOP
from judging.models import JudgeRun

log = logging.getLogger(__name__)
REQUEUE_SECONDS = 15.0  # between two looks for runs whose workers are gone
BATCH_CHECK_SECONDS = 60.0  # between two polls of a provider's batches
CALLS_PER_WORKER = 64  # calls in flight that keep one process busy


@task()
def execute_run(run_id: int, limit: int | None = None) -> str:
    """Work on a run until it is done, fails, or the worker gets a stop signal. Running it twice is harmless.

    limit : cells to fill this time
    """
    # Web processes import this module to enqueue, and must not load the `openai` client (60 MB).
    from judging.runs.execution import execute

    if limit is None:
        enqueue_extra_worker(run_id)
    ended = execute(run_id, stop=WORKER_STOP, limit=limit, wait_for_batches=False)
    if ended.batch_pending and run_id not in waiting_runs():  # poll its provider's batches then
        later = timezone.now() + timedelta(seconds=BATCH_CHECK_SECONDS)
        execute_run.using(run_after=later).enqueue(run_id, ended.cells_left)
    return ended.status


def enqueue_run(run_id: int, limit: int | None = None) -> None:
    """Queue a run; `limit`: cells to fill this time."""
    if limit is None:
        execute_run.enqueue(run_id)
    else:
        execute_run.enqueue(run_id, limit)


def enqueue_extra_worker(run_id: int) -> None:
    """Queue a run for another worker if its calls in flight exceed what the present workers can handle."""
    run = JudgeRun.objects.filter(pk=run_id, status__in=leases.ACTIVE, way=JudgeRun.Way.CALLS).first()
    if run is None:
        return
    workers = sum(leases.is_alive(worker) for worker in run.workers.all()) + 1  # and this one
    if workers * CALLS_PER_WORKER < run.in_flight and run_id not in waiting_runs():
        enqueue_run(run_id)


def tasks_of_runs(status: str) -> list[DBTaskResult[Any, Any]]:
    """Return the tasks of this status that work on a run."""
    return list(DBTaskResult.objects.filter(task_path=execute_run.module_path, status=status).order_by("enqueued_at"))


def waiting_runs() -> set[int]:
    """Return the runs, by primary key, that wait for a worker to take them up."""
    return {task.args_kwargs["args"][0] for task in tasks_of_runs(TaskResultStatus.READY)}


def requeue_runs() -> int:
    """Enqueue active runs without a live worker; returns how many.

    Doing so twice is harmless: the second task's worker joins the first or finds the run done.
    """
    count, waiting = 0, waiting_runs()
    for run in JudgeRun.objects.filter(status__in=leases.ACTIVE):
        if run.pk in waiting or leases.has_live_worker(run):
            continue
        enqueue_run(run.pk, fail_orphaned_tasks(run))
        log.info("%s goes back to the queue", run)
        count += 1
    return count


def fail_orphaned_tasks(run: JudgeRun) -> int | None:
    """Mark the running tasks of a run without live workers as failed; returns the last one's limit on cells."""
    limit: int | None = None
    for orphan in tasks_of_runs(TaskResultStatus.RUNNING):
        started_long_ago = orphan.started_at is None or leases.lease_expired(orphan.started_at)
        if orphan.args_kwargs["args"][0] == run.pk and started_long_ago:
            limit = next(iter(orphan.args_kwargs["args"][1:]), None)
            orphan.set_failed(RuntimeError("the worker that ran this is gone"))
    return limit
