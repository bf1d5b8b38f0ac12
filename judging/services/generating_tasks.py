"""Handing the sampling of texts to a worker, and how far that is: web workers make no calls."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from annotation.models import Study
from judging.errors import BadSettings
from judging.models import GenerationRun
from judging.services import leases
from judging.services.generating import Sampling, start_generating
from judging.services.generating_instances import Where, check_where, standing_of
from judging.services.talks import check_cap
from judging.tasks import generate_texts

ATTEMPTS = 5  # workers that may die of one task, before it is given up
UNDER_WAY = (TaskResultStatus.READY, TaskResultStatus.RUNNING)


@dataclass(frozen=True)
class Work:
    """The last task of a run.

    waiting, running : for a worker; by one
    error            : why it ended early; empty while it is under way or when all went well
    """

    waiting: bool
    running: bool
    error: str
    came: dict[str, Any]

    @property
    def under_way(self) -> bool:
        """Tell whether it isn't over."""
        return self.waiting or self.running


@transaction.atomic
def queue_generating(
    study: Study,
    name: str,
    sampling: Sampling,
    *,
    where: Where,
    in_flight: int,
    max_cost: Decimal | None = None,
    by: str = "",
) -> bool:
    """Have a worker sample a system's texts; False when that is under way already.

    Raises: BadSettings, UnknownName for what can't be asked, or when there is nothing to ask.
    """
    check_cap(max_cost, sampling.endpoint)
    check_where(study, where)
    run = start_generating(study, name, sampling, by=by)
    if standing_of(study, name, where).open == 0:
        raise BadSettings(f"there is nothing to ask: every chosen instance has texts of {name}, or no source")
    last = last_task(run)
    if last is not None and last.status in UNDER_WAY and not is_dead(last, run):
        return False
    cap = None if max_cost is None else str(max_cost)
    generate_texts.enqueue(study.pk, run.pk, where.dataset, list(where.instances), where.limit, in_flight, cap)
    return True


def last_task(run: GenerationRun) -> DBTaskResult | None:
    """Return the last task that samples a run's texts."""
    tasks = DBTaskResult.objects.filter(task_path=generate_texts.module_path, args_kwargs__args__1=run.pk)
    return tasks.order_by("enqueued_at").last()


def work_of(study: Study) -> dict[int, Work]:
    """Say how far the last task of each of a study's runs is, by the run's primary key."""
    tasks = DBTaskResult.objects.filter(task_path=generate_texts.module_path, args_kwargs__args__0=study.pk)
    return {task.args_kwargs["args"][1]: _work(task) for task in tasks.order_by("enqueued_at")}


def _work(task: DBTaskResult) -> Work:
    came: dict[str, Any] = task.return_value or {}
    failed = task.status == TaskResultStatus.FAILED
    return Work(
        waiting=task.status == TaskResultStatus.READY,
        running=task.status == TaskResultStatus.RUNNING,
        error=came.get("error", "") or (f"unexpected: {task.exception_class_path}" if failed else ""),
        came=came,
    )


def is_dead(task: DBTaskResult, run: GenerationRun | None) -> bool:
    """Tell whether a task that runs was begun a while ago and its run has no pulse."""
    if task.status != TaskResultStatus.RUNNING or task.started_at is None or not leases.has_run_out(task.started_at):
        return False
    return run is None or run.heartbeat_at is None or leases.has_run_out(run.heartbeat_at)


def requeue_generating() -> int:
    """Hand tasks whose worker is dead to the queue again; returns how many. Nothing is asked twice for that."""
    count = 0
    running = DBTaskResult.objects.filter(task_path=generate_texts.module_path, status=TaskResultStatus.RUNNING)
    for task in running:
        if not is_dead(task, GenerationRun.objects.filter(pk=task.args_kwargs["args"][1]).first()):
            continue
        if len(task.worker_ids) >= ATTEMPTS:
            task.set_failed(RuntimeError(f"{ATTEMPTS} workers in a row have died of this"))
            continue
        same = running.filter(pk=task.pk, started_at=task.started_at)
        count += same.update(status=TaskResultStatus.READY, started_at=None)
    return count


def is_at_work(run: GenerationRun) -> bool:
    """Tell whether a process samples a run's texts now, as far as its pulse shows."""
    return run.heartbeat_at is not None and run.heartbeat_at > timezone.now() - leases.LEASE
