"""The worker process where Redis delivers the tasks: RQ's worker takes them from there, Tandem's does what they name."""

import logging
import time
from types import FrameType

from django.db import close_old_connections
from django_tasks_db.models import DBTaskResult
from django_tasks_db.utils import exclusive_transaction
from redis.exceptions import RedisError
from rq import Queue, SimpleWorker
from rq.exceptions import StopRequested
from rq.job import Job

from annotation.core.tasks.redis_queue import deliver_due, redis_queue, serve
from reporting.worker import TandemWorker

log = logging.getLogger(__name__)
WORKER_TTL = (
    16  # seconds; RQ asks Redis for a task that many less 15 at a time, so that its connection's time limit holds
)


class RedisWorker(TandemWorker):
    """Does the tasks that Redis delivers, each claimed in the database first."""

    def run(self) -> None:
        """Work until a stop signal or, in a batch, until none is due."""
        serve(self.run_delivered)
        while self.running:
            try:
                queue = redis_queue()
                self._receiver(queue).work(burst=self.batch)
                if self.batch:
                    deliver_due()
                    if queue.is_empty():
                        return
            except RedisError as error:
                log.warning("Redis does not answer: %s", error)
                time.sleep(self.interval)

    def _receiver(self, queue: Queue) -> "Receiver":
        receiver = Receiver(
            [queue],
            name=self.worker_id.replace(":", "-"),
            connection=queue.connection,
            job_class=queue.job_class,
            serializer=queue.serializer,
            worker_ttl=WORKER_TTL,
        )
        receiver.worker = self
        return receiver

    def run_delivered(self, task_id: str) -> None:
        """Claim a task and run it, unless another worker has it."""
        close_old_connections()
        with exclusive_transaction():
            task = DBTaskResult.objects.ready().filter(pk=task_id).get_locked()
            if task is not None:
                task.claim(self.worker_id)
        if task is not None:
            self.run_task(task)
        close_old_connections()


class Receiver(SimpleWorker):
    """RQ's worker without processes of its own. Signals go to Tandem's."""

    worker: RedisWorker

    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        """Stop as Tandem's worker does."""
        self.worker.shutdown(signum, frame)

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Do a task, the last one after a signal."""
        super().execute_job(job, queue)
        if not self.worker.running:
            raise StopRequested
