"""Readiness of the installation: database, disk, queue and migrations."""

from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError
from django.utils import timezone
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from annotation.core.system_checks import unapplied_migrations
from reporting.health.signs import is_worker_silent
from reporting.health.views import CHECKS, run_check

WAITS_TOO_LONG = timedelta(minutes=10)  # a worker at work looks at the queue each second


def is_queue_served() -> bool:
    """Tell whether no task waits too long while none is being done, as without a worker.

    A worker that was killed leaves its task marked as running, until another worker looks.
    """
    is_running = DBTaskResult.objects.filter(status=TaskResultStatus.RUNNING).exists()
    if is_running and not is_worker_silent(at=timezone.now()):
        return True
    waiting = DBTaskResult.objects.filter(status=TaskResultStatus.READY, run_after__lt=timezone.now() - WAITS_TOO_LONG)
    return not waiting.filter(enqueued_at__lt=timezone.now() - WAITS_TOO_LONG).exists()


def _check_queue() -> None:
    if settings.TASKS_URL:
        from annotation.core.tasks.redis_queue import ping

        ping()
    if not is_queue_served():
        raise DatabaseError(f"tasks wait for more than {WAITS_TOO_LONG}, and none is running: is there a worker?")


def _check_migrations() -> None:
    if cache.get("all-migrated"):
        return
    if missing := unapplied_migrations():
        raise DatabaseError(f"migrations are missing: {', '.join(missing)}")
    cache.set("all-migrated", True, timeout=None)  # a process serves one version of the code


ALL_CHECKS: dict[str, Callable[[], None]] = {
    **CHECKS,
    "queued tasks are not done": _check_queue,
    "migrations are missing": _check_migrations,
}


def failing() -> list[str]:
    """Return the names of all checks that fail. Reasons go to the log."""
    return [name for name, check in ALL_CHECKS.items() if not run_check(name, check)]
