"""The queue's tasks for runs."""

from datetime import timedelta

from django.utils import timezone
from django_tasks import task
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from annotation.core.tasks.stopping import WORKER_STOP
from annotation.core.tasks.task_queue import QueuedTask
from annotation.models.jobs import lease_expired
from judging.jobs import leases
from judging.models import JudgeRun

REQUEUE_SECONDS = 15.0  # between two looks for runs whose workers are gone
BATCH_CHECK_SECONDS = 60.0  # between two polls of a provider's batches
CALLS_PER_WORKER = 64  # calls in flight that keep one process busy


@task()
def execute_run(run_id: int, limit: int | None = None) -> str:
    """Work on a run until it is done, fails, or the worker gets a stop signal. Running it twice is harmless.

    limit : cells to fill this time
    """
    # Web processes import this module to enqueue, and must not load the HTTP client of endpoints.
    from judging.runs.execution import execute

    if limit is None:
        enqueue_extra_worker(run_id)
    ended = execute(run_id, stop=WORKER_STOP, limit=limit, wait_for_batches=False)
    if ended.batch_pending and run_id not in waiting_runs():  # poll its provider's batches then
        run_after = timezone.now() + timedelta(seconds=BATCH_CHECK_SECONDS)
        execute_run.using(run_after=run_after).enqueue(run_id, ended.cells_left)
    return ended.status


def enqueue_run(run_id: int, limit: int | None = None) -> None:
    """Queue a run. `limit`: cells to fill this time."""
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


def waiting_runs(*also: TaskResultStatus) -> set[int]:
    """Return the runs, by primary key, that wait for a worker to take them up, or have a task in a further status."""
    tasks = DBTaskResult.objects.filter(task_path=execute_run.module_path, status__in=[TaskResultStatus.READY, *also])
    return {task.args_kwargs["args"][0] for task in tasks}


def queue_unattended_runs() -> int:
    """Queue the active runs that have neither a live worker nor a task and return how many.

    Doing so twice is harmless: the second task's worker joins the first or finds the run done.
    """
    count = 0
    queued = waiting_runs(TaskResultStatus.RUNNING)
    for run in JudgeRun.objects.filter(status__in=leases.ACTIVE).exclude(pk__in=queued):
        if not leases.has_live_worker(run):
            enqueue_run(run.pk)
            count += 1
    return count


def is_orphaned(task: QueuedTask) -> bool:
    """Tell whether the worker of a run's task is gone. One that has just taken the task may not have joined yet.

    Others may have done the run since: its task is queued again too, to end.
    """
    run = JudgeRun.objects.filter(pk=task.args_kwargs["args"][0]).first()
    if run is None or any(leases.is_alive(worker) for worker in run.workers.all()):
        return False
    has_left = run.status in leases.ACTIVE and run.workers.exists()
    return has_left or task.started_at is None or lease_expired(task.started_at)
