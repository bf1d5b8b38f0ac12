"""worker [--interval SECONDS]"""

from typing import Any

from django.conf import settings

from annotation.core.system_checks import refuse_unready
from annotation.core.tasks.processes import this_process
from annotation.management.commands._base import TandemCommand, argument
from reporting.worker import TandemWorker, erase_expired_data, repeating_threads, requeue_and_release


def worker_class() -> type[TandemWorker]:
    """Return the worker for the queue of this installation."""
    if not settings.TASKS_URL:
        return TandemWorker
    from reporting.redis_worker import RedisWorker

    return RedisWorker


class Command(TandemCommand):
    is_audited = False
    help = "Work on queued tasks, such as judge runs. Several workers can run, on several machines."

    arguments = (
        argument("--interval", type=float, default=1.0, help="seconds between checks of an empty queue"),
        argument("--batch", action="store_true", help="stop when the queue is empty"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        refuse_unready()
        worker = worker_class()(
            queue_names=["*"],
            interval=options["interval"],
            batch=options["batch"],
            backend_name="default",
            startup_delay=False,
            max_tasks=None,
            worker_id=this_process(),
            excluded_queue_names=[],
        )
        worker.configure_signals()
        requeue_and_release()
        erase_expired_data()
        threads = repeating_threads()
        for thread in threads:
            thread.start()
        try:
            worker.run()
        finally:
            for thread in threads:
                thread.end(timeout=settings.EMAIL_TIMEOUT)
