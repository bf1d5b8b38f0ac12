"""Queueing the sampling of texts, and its status: web workers make no calls."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from annotation.models import Study
from judging.core.errors import BadSettings
from judging.core.pricing import check_cap
from judging.generation.instances import InstanceSelection, check_selection, count_instances
from judging.generation.services import Sampling, start_generating
from judging.generation.tasks import generate_texts
from judging.jobs import leases
from judging.models import GenerationRun

ATTEMPTS = 5  # workers that may die of one task before it fails
UNDER_WAY = (TaskResultStatus.READY, TaskResultStatus.RUNNING)


@dataclass(frozen=True)
class GenerationStatus:
    """The status of a run's last task.

    waiting, running : queued for a worker; running in one
    error            : why it ended early; empty otherwise
    """

    waiting: bool
    running: bool
    error: str
    came: dict[str, Any]

    @property
    def under_way(self) -> bool:
        """Tell whether it is queued or running."""
        return self.waiting or self.running


@transaction.atomic
def queue_generating(
    study: Study,
    name: str,
    sampling: Sampling,
    *,
    selection: InstanceSelection,
    in_flight: int,
    max_cost: Decimal | None = None,
    by: str = "",
) -> bool:
    """Queue the sampling of a system's texts; False if that is queued or running.

    Raises: BadSettings, UnknownName for invalid settings, or if there is nothing to sample.
    """
    check_cap(max_cost, sampling.endpoint)
    check_selection(study, selection)
    run = start_generating(study, name, sampling, by=by)
    if count_instances(study, name, selection).open == 0:
        raise BadSettings(f"there is nothing to ask: every chosen instance has texts of {name}, or no source")
    last = last_task(run)
    if last is not None and last.status in UNDER_WAY and not is_dead(last, run):
        return False
    cap = None if max_cost is None else str(max_cost)
    generate_texts.enqueue(
        study.pk, run.pk, selection.dataset, list(selection.instances), selection.limit, in_flight, cap
    )
    return True


def last_task(run: GenerationRun) -> DBTaskResult[Any, Any] | None:
    """Return the last task that samples a run's texts."""
    tasks = DBTaskResult.objects.filter(task_path=generate_texts.module_path, args_kwargs__args__1=run.pk)
    return tasks.order_by("enqueued_at").last()


def status_by_run(study: Study) -> dict[int, GenerationStatus]:
    """Return the status of the last task of each of a study's runs, by the run's primary key."""
    tasks = DBTaskResult.objects.filter(task_path=generate_texts.module_path, args_kwargs__args__0=study.pk)
    return {task.args_kwargs["args"][1]: _work(task) for task in tasks.order_by("enqueued_at")}


def _work(task: DBTaskResult[Any, Any]) -> GenerationStatus:
    came: dict[str, Any] = task.return_value or {}
    failed = task.status == TaskResultStatus.FAILED
    return GenerationStatus(
        waiting=task.status == TaskResultStatus.READY,
        running=task.status == TaskResultStatus.RUNNING,
        error=came.get("error", "") or (f"unexpected: {task.exception_class_path}" if failed else ""),
        came=came,
    )


def is_dead(task: DBTaskResult[Any, Any], run: GenerationRun | None) -> bool:
    """Tell whether a running task's lease and its run's heartbeat have expired."""
    if task.status != TaskResultStatus.RUNNING or task.started_at is None or not leases.lease_expired(task.started_at):
        return False
    return run is None or run.heartbeat_at is None or leases.lease_expired(run.heartbeat_at)


def requeue_generating() -> int:
    """Requeue tasks whose worker is dead; returns how many. No answered call is repeated."""
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


def is_running(run: GenerationRun) -> bool:
    """Tell whether a run's heartbeat is fresh."""
    return run.heartbeat_at is not None and run.heartbeat_at > timezone.now() - leases.LEASE
