"""Runs whose worker is gone, handed to the queue again."""

import logging

from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from judging.models import JudgeRun
from judging.services import leases
from judging.tasks import execute_run

log = logging.getLogger(__name__)
REQUEUE_SECONDS = 15.0


def requeue_runs() -> int:
    """Enqueue runs that are under way without anybody working on them; returns how many.

    Harmless when it happens twice: of two tasks for one run, the second finds it taken or done.
    """
    tasks = DBTaskResult.objects.filter(task_path=execute_run.module_path)
    waiting = {task.args_kwargs["args"][0] for task in tasks.filter(status=TaskResultStatus.READY)}
    count = 0
    for run in JudgeRun.objects.filter(status__in=[JudgeRun.Status.QUEUED, JudgeRun.Status.RUNNING]):
        if run.pk in waiting or leases.is_alive(run):
            continue
        close_tasks_of_the_dead(run)
        execute_run.enqueue(run.pk)
        log.info("%s goes back to the queue", run)
        count += 1
    return count


def close_tasks_of_the_dead(run: JudgeRun) -> None:
    """Mark the tasks of a run that nobody works on as failed; they would count as running for ever."""
    running = DBTaskResult.objects.filter(task_path=execute_run.module_path, status=TaskResultStatus.RUNNING)
    for task in running:
        started_long_ago = task.started_at is None or leases.has_run_out(task.started_at)
        if task.args_kwargs["args"] == [run.pk] and started_long_ago:
            task.set_failed(RuntimeError("the worker that ran this is gone"))
