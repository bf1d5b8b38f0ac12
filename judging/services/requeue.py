"""Runs whose worker is gone, handed to the queue again; and further workers for runs that are too much for one."""

import logging
from datetime import timedelta

from django.utils import timezone
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from judging.models import JudgeRun
from judging.services import leases
from judging.tasks import enqueue_run, execute_run

log = logging.getLogger(__name__)
REQUEUE_SECONDS = 15.0
RETURN_SECONDS = 60.0  # until the next look at a provider's batches
CALLS_A_WORKER = 64  # in flight: so many keep one process busy


def requeue_runs() -> int:
    """Enqueue runs that are under way without anybody working on them; returns how many.

    Harmless when it happens twice: of two tasks for one run, the second helps the first or finds it done.
    """
    waiting = {task.args_kwargs["args"][0] for task in tasks_of_runs(TaskResultStatus.READY)}
    count = 0
    for run in JudgeRun.objects.filter(status__in=leases.ACTIVE):
        if run.pk in waiting or leases.is_alive(run):
            continue
        enqueue_run(run.pk, close_tasks_of_the_dead(run))
        log.info("%s goes back to the queue", run)
        count += 1
    return count


def close_tasks_of_the_dead(run: JudgeRun) -> int | None:
    """Mark the tasks of a run that nobody works on as failed; they would count as running for ever.

    Returns the limit on its cells that the last of them had.
    """
    limit: int | None = None
    for task in tasks_of_runs(TaskResultStatus.RUNNING):
        started_long_ago = task.started_at is None or leases.has_run_out(task.started_at)
        if task.args_kwargs["args"][0] == run.pk and started_long_ago:
            limit = next(iter(task.args_kwargs["args"][1:]), None)
            task.set_failed(RuntimeError("the worker that ran this is gone"))
    return limit


def call_for_help(run_id: int) -> None:
    """Queue a run once more while it has fewer workers than its calls in flight keep busy: who is idle may join."""
    run = JudgeRun.objects.filter(pk=run_id, status__in=leases.ACTIVE, way=JudgeRun.Way.CALLS).first()
    if run is None:
        return
    workers = sum(leases.breathes(worker) for worker in run.workers.all()) + 1  # and this one
    waiting = {task.args_kwargs["args"][0] for task in tasks_of_runs(TaskResultStatus.READY)}
    if workers * CALLS_A_WORKER < run.in_flight and run_id not in waiting:
        enqueue_run(run_id)


def come_back(run_id: int, limit: int | None) -> None:
    """Queue a run for later: its provider is at work on a batch, and nothing is to be done until then."""
    if run_id not in {task.args_kwargs["args"][0] for task in tasks_of_runs(TaskResultStatus.READY)}:
        later = timezone.now() + timedelta(seconds=RETURN_SECONDS)
        execute_run.using(run_after=later).enqueue(run_id, limit)


def tasks_of_runs(status: str) -> list[DBTaskResult]:
    """Return the tasks of this status that work on a run."""
    return list(DBTaskResult.objects.filter(task_path=execute_run.module_path, status=status).order_by("enqueued_at"))
