"""The worker process: the queue's worker with a prompt stop, and the threads beside it."""

import logging
from types import FrameType
from typing import Any

from django.conf import settings
from django.utils import timezone
from django_tasks.base import TaskResultStatus
from django_tasks_db.management.commands.db_worker import Worker
from django_tasks_db.models import DBTaskResult

from annotation.core.tasks.processes import RepeatingThread
from annotation.core.tasks.stopping import WORKER_STOP
from annotation.core.tasks.task_queue import ATTEMPTS, DeathRule, requeue_tasks
from annotation.hits.slots import release_expired
from annotation.jobs.work import DEATH_RULE, do_job
from annotation.privacy.retention import erase_expired, erase_traces
from annotation.recruitment.invitations import send_mails
from judging.runs.tasks import REQUEUE_SECONDS, execute_run, is_orphaned, queue_unattended_runs
from reporting.findings.stopping import stop_settled_batches
from reporting.health.views import note_worker
from reporting.uploads import jobs as upload_jobs

log = logging.getLogger(__name__)
ERASURE_SECONDS = 3600.0
MAIL_SECONDS = 5.0
STOP_SECONDS = 15.0
LOOKED_AT: dict[tuple[int, str], int] = {}  # submitted HITs of each batch with a stop rule at its last look
DEATH_RULES = {
    upload_jobs.read_files.module_path: upload_jobs.DEATH_RULE,
    execute_run.module_path: DeathRule(is_orphaned, attempts=None),
    do_job.module_path: DEATH_RULE,
}
LOST_CONNECTION = ("django.db.utils.OperationalError", "django.db.utils.InterfaceError")


class TandemWorker(Worker):
    """Stops at the first signal: tasks that call models between two calls, others at once, to be requeued."""

    current: DBTaskResult[Any, Any] | None = None

    def shutdown(self, signum: int, frame: FrameType | None) -> None:
        """Stop. A second signal ends the process at once."""
        WORKER_STOP.set()
        self.running = False
        if self.running_task and self.current and stops_itself(self.current):
            self.reset_signals()
            return  # a run also releases its lease
        raise SystemExit(0)

    def run_task(self, db_task_result: DBTaskResult[Any, Any]) -> None:
        """Run a task, and requeue it if the stop or a lost database connection interrupts it."""
        self.current = db_task_result
        try:
            super().run_task(db_task_result)
        finally:
            self.current = None
        if not self.running and db_task_result.exception_class_path == "builtins.SystemExit":
            requeue(db_task_result, worker_ids=[])  # the worker has not died of the task
        elif db_task_result.exception_class_path in LOST_CONNECTION and len(db_task_result.worker_ids) < ATTEMPTS:
            log.warning("task %s lost the database and goes back to the queue", db_task_result.task_path)
            requeue(db_task_result, worker_ids=db_task_result.worker_ids)


def stops_itself(task: DBTaskResult[Any, Any]) -> bool:
    """Tell whether a task watches `WORKER_STOP`, and ends by itself."""
    if task.task_path == do_job.module_path:
        return WORKER_STOP.is_watched
    return bool(task.task_path == execute_run.module_path)


def requeue(task: DBTaskResult[Any, Any], *, worker_ids: list[str]) -> None:
    """Put a task that has ended back into the queue."""
    DBTaskResult.objects.filter(pk=task.pk).update(
        status=TaskResultStatus.READY,
        started_at=None,
        finished_at=None,
        worker_ids=worker_ids,
        exception_class_path="",
        traceback="",
    )


def requeue_and_release() -> None:
    """Requeue tasks and uploads whose process is gone, and release the slots of expired assignments.

    A claim releases those too; this is for hours without claims.
    """
    requeue_tasks(DEATH_RULES)
    queue_unattended_runs()
    upload_jobs.look_after_uploads()
    if settings.TASKS_URL:
        from annotation.core.tasks.redis_queue import deliver_due

        deliver_due()
    note_worker(timezone.now())
    while release_expired(at=timezone.now()):
        pass


def stop_batches() -> None:
    """Close the batches whose stop rule holds."""
    stop_settled_batches(LOOKED_AT)


def erase_expired_data() -> None:
    """Erase personal data whose retention time has ended."""
    erase_expired(at=timezone.now())
    erase_traces(at=timezone.now())


def repeating_threads() -> list[RepeatingThread]:
    """Return the threads beside a worker's tasks. No long task delays them, and a dead mail server delays no task."""
    threads = [
        RepeatingThread("requeueing", REQUEUE_SECONDS, requeue_and_release),
        RepeatingThread("erasure", ERASURE_SECONDS, erase_expired_data),
        RepeatingThread("stop rules", STOP_SECONDS, stop_batches),
    ]
    if settings.MAIL_ON:
        threads.append(RepeatingThread("mail", MAIL_SECONDS, lambda: send_mails(at=timezone.now())))
    return threads
