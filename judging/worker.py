"""The worker process: the queue's own worker, told to stop promptly, and to look after runs and claims meanwhile."""

import logging
import threading
from types import FrameType

from django.db import connections
from django.utils import timezone
from django_tasks.base import TaskResultStatus
from django_tasks_db.management.commands.db_worker import Worker
from django_tasks_db.models import DBTaskResult

from annotation.services.separability_queue import requeue_separability
from annotation.services.slots import release_expired
from judging.services.aspect_tasks import requeue_distilling
from judging.services.generating_tasks import requeue_generating
from judging.services.requeue import REQUEUE_SECONDS, requeue_runs
from judging.services.stopping import WORKER_STOP
from judging.tasks import distil_aspects, execute_run, generate_texts

log = logging.getLogger(__name__)
STOP_BY_THEMSELVES = (execute_run.module_path, distil_aspects.module_path, generate_texts.module_path)


class TandemWorker(Worker):
    """Stops at the first signal: what asks models between two calls, any other task at once, to be done again later."""

    current: DBTaskResult | None = None

    def shutdown(self, signum: int, frame: FrameType | None) -> None:
        """Stop; a second signal ends the process whatever it is doing."""
        WORKER_STOP.set()
        self.running = False
        if self.running_task and self.current and self.current.task_path in STOP_BY_THEMSELVES:
            self.reset_signals()
            return  # a run gives its lease back as well
        raise SystemExit(0)

    def run_task(self, db_task_result: DBTaskResult) -> None:
        """Run a task; one that the stop cut off goes back to the queue."""
        self.current = db_task_result
        try:
            super().run_task(db_task_result)
        finally:
            self.current = None
        if not self.running and db_task_result.exception_class_path == "builtins.SystemExit":
            DBTaskResult.objects.filter(pk=db_task_result.pk).update(
                status=TaskResultStatus.READY, started_at=None, finished_at=None, exception_class_path="", traceback=""
            )


def look_after() -> None:
    """Put work that lost its worker back into the queue, and free the slots of claims whose time has run out.

    A claim frees those too, before it looks for a slot; this is for the hours in which nobody claims.
    """
    requeue_separability()
    requeue_runs()
    requeue_distilling()
    requeue_generating()
    while release_expired(at=timezone.now()):
        pass


class Caretaker(threading.Thread):
    """Looks after runs and claims, at the start and then regularly."""

    def __init__(self) -> None:
        super().__init__(name="requeue", daemon=True)
        self.ended = threading.Event()

    def start(self) -> None:
        """Look once before the worker asks for its first task, then go on looking beside it."""
        look_after()
        super().start()

    def run(self) -> None:
        """Look until told to end."""
        while not self.ended.wait(REQUEUE_SECONDS):
            try:
                look_after()
            except Exception:  # a database that is away for a moment must not end this thread
                log.exception("can't look after runs and claims; trying again")
            finally:
                connections.close_all()

    def end(self) -> None:
        """Stop looking, and wait until the last look is over."""
        self.ended.set()
        self.join()
