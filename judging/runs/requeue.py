"""Requeueing runs whose workers are gone."""

import logging

from django_tasks.base import TaskResultStatus

from judging.jobs import leases
from judging.models import JudgeRun
from judging.runs.tasks import enqueue_run, tasks_of_runs

log = logging.getLogger(__name__)
REQUEUE_SECONDS = 15.0


def requeue_runs() -> int:
    """Enqueue active runs without a live worker; returns how many.

    Doing so twice is harmless: the second task's worker joins the first or finds the run done.
    """
    waiting = {task.args_kwargs["args"][0] for task in tasks_of_runs(TaskResultStatus.READY)}
    count = 0
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
    for task in tasks_of_runs(TaskResultStatus.RUNNING):
        started_long_ago = task.started_at is None or leases.lease_expired(task.started_at)
        if task.args_kwargs["args"][0] == run.pk and started_long_ago:
            limit = next(iter(task.args_kwargs["args"][1:]), None)
            task.set_failed(RuntimeError("the worker that ran this is gone"))
    return limit
