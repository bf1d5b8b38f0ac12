"""Tasks that take long: finding one, and requeueing those whose worker is dead."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from annotation.core.reasons import NO_REASON, Reason, reason
from annotation.core.tasks.processes import is_gone

log = logging.getLogger(__name__)
QueuedTask = DBTaskResult[Any, Any]
ATTEMPTS = 5  # workers that may die of one task before it fails
LONGEST = timedelta(hours=6)  # of a task that sends no heartbeats; its worker on another machine is dead then
UNDER_WAY = (TaskResultStatus.READY, TaskResultStatus.RUNNING)


def last_task(path: str, **arguments: object) -> QueuedTask | None:
    """Return the last task of a path with these arguments, each named by its place as `args__0`."""
    conditions = {f"args_kwargs__{index}": value for index, value in arguments.items()}
    return DBTaskResult.objects.filter(task_path=path, **conditions).order_by("enqueued_at").last()


def is_under_way(path: str, is_dead: Callable[[QueuedTask], bool], **arguments: object) -> bool:
    """Tell whether the last task of a path with these arguments (as `last_task`) is queued, or runs in a live worker."""
    last = last_task(path, **arguments)
    return last is not None and last.status in UNDER_WAY and not is_dead(last)


def ignore(task: QueuedTask, why: Reason = NO_REASON) -> None:
    """Do nothing more than requeue or fail the task."""


@dataclass(frozen=True)
class DeathRule:
    """When the worker of a running task is dead.

    attempts : workers that may die of a task before it fails; `None`: any number
    requeue  : called with the task that goes back to the queue
    give_up  : called with the task that fails, and the reason
    """

    is_dead: Callable[[QueuedTask], bool]
    attempts: int | None = ATTEMPTS
    requeue: Callable[[QueuedTask], object] = ignore
    give_up: Callable[[QueuedTask, Reason], object] = ignore


def is_orphan(task: QueuedTask) -> bool:
    """Tell whether the process that runs a task has ended, on this machine, or must have."""
    if task.started_at is None or task.started_at < timezone.now() - LONGEST:
        return True
    return is_gone(task.worker_ids[-1])


BY_PROCESS = DeathRule(is_orphan)


def requeue_tasks(rules: Mapping[str, DeathRule]) -> int:
    """Requeue the running tasks whose worker is dead. Return how many.

    rules : by path, of tasks that send heartbeats; others go by the worker's process
    """
    running = DBTaskResult.objects.filter(status=TaskResultStatus.RUNNING)
    requeued = 0
    for task in running:
        rule = rules.get(task.task_path, BY_PROCESS)
        if not rule.is_dead(task):
            continue
        if rule.attempts is not None and len(task.worker_ids) >= rule.attempts:
            why = reason("workers_died", number=rule.attempts)
            rule.give_up(task, why)
            task.set_failed(RuntimeError(why.text))
            continue
        rule.requeue(task)
        log.info("task %s %s goes back to the queue", task.task_path, task.args_kwargs["args"])
        same = running.filter(pk=task.pk, started_at=task.started_at)
        requeued += same.update(status=TaskResultStatus.READY, started_at=None)
    return requeued
