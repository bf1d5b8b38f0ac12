"""Tasks that Redis delivers (TASKS_URL): the database records each one, and RQ brings its id to a worker.

What Redis loses costs time, no task: `deliver_due` looks in the record for what is due and not in Redis' queue. Needs the extra `redis`.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Any

import django_rq
from django.core.checks import CheckMessage
from django.db import transaction
from django_tasks import task
from django_tasks.backends.base import BaseTaskBackend
from django_tasks_db.backend import DatabaseBackend
from django_tasks_db.models import DBTaskResult
from django_tasks_rq import RQBackend
from django_tasks_rq.backend import Job
from redis.exceptions import RedisError
from rq import Queue

log = logging.getLogger(__name__)
QUEUE = "tandem"


class RecordedBackend(DatabaseBackend):
    """Queues a task in the database, and delivers it when the transaction is committed."""

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        """Queue a task. One for later is delivered by `deliver_due`."""
        result: Any = super().enqueue(task, args, kwargs)
        if task.run_after is None:
            transaction.on_commit(lambda: deliver([result.id]))
        return result


class DeliveryBackend(RQBackend):
    """RQ's queue, without the tables and admin pages of django-rq."""

    def check(self, **kwargs: Any) -> Iterable[CheckMessage]:
        """Check what Django's own backends do: no app need be installed."""
        return BaseTaskBackend.check(self, **kwargs)


_run: Callable[[str], None] | None = None


def serve(run: Callable[[str], None]) -> None:
    """Have this process' worker do the tasks that are delivered, each by its id."""
    global _run  # noqa: PLW0603  a process has one worker
    _run = run


@task(backend="redis", queue_name=QUEUE)
def run_recorded(task_id: str) -> None:
    """Do the task of the record that has this id, in a worker process."""
    if _run is None:
        raise RuntimeError("only `worker` does tasks that Redis delivers")
    _run(task_id)


def deliver(task_ids: Iterable[str]) -> None:
    """Bring tasks to Redis. While that does not answer they stay in the record."""
    try:
        for task_id in task_ids:
            run_recorded.enqueue(task_id)
    except RedisError:
        log.warning("Redis does not take tasks; they are delivered when it answers", exc_info=True)


def deliver_due() -> None:
    """Deliver what is due and not in the queue: tasks for later, of dead workers, and those that Redis lost.

    One that a worker is just taking may be delivered twice: the second worker finds that it is claimed.
    """
    keys = [str(key) for key in DBTaskResult.objects.ready().values_list("pk", flat=True)]
    try:
        queued = {job.args[0] for job in redis_queue().jobs}
    except RedisError:
        log.warning("Redis does not answer; %s tasks wait", len(keys), exc_info=True)
    else:
        deliver(task_id for task_id in keys if task_id not in queued)


def redis_queue() -> Queue:
    """Return RQ's queue of tasks to deliver."""
    return django_rq.get_queue(QUEUE, job_class=Job)


def ping() -> None:
    """Ask Redis for an answer. Raises: ConnectionError."""
    try:
        redis_queue().connection.ping()
    except RedisError as error:
        raise ConnectionError(f"Redis does not answer: {error}") from None
