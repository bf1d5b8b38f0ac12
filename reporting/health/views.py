"""Checks of the installation (database, disk, queue, migrations), `/healthz`, and signs of life of workers and backups."""

import logging
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.db import DatabaseError, OperationalError, connection, transaction
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_tasks.base import TaskResultStatus
from django_tasks_db.models import DBTaskResult

from annotation.core.system_checks import unapplied_migrations
from annotation.core.version import VERSION
from reporting.models import Sign

_TWO_PAGES = "0" * 8192  # two SQLite pages: more than the free space of the last page

logger = logging.getLogger(__name__)


def run_check(name: str, check: Callable[[], None]) -> bool:
    """Tell whether a check passes. Log why it does not."""
    try:
        check()
    except (DatabaseError, OSError) as error:
        logger.error("%s: %s", name, error)
        return False
    return True


def _read() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        cursor.fetchone()


def _write() -> None:
    """Check that the database accepts writes, without changing it.

    On SQLite by a write that is rolled back, which fails where the file is read-only or cannot grow. On PostgreSQL that
    would leave dead rows, so its transaction mode is read instead.
    """
    with connection.cursor() as cursor:
        if connection.vendor != "sqlite":
            cursor.execute("SHOW transaction_read_only")
            if cursor.fetchone() == ("on",):
                raise OperationalError("transactions are read-only")
            return
        cursor.execute("PRAGMA busy_timeout")
        (timeout_ms,) = cursor.fetchone()
        cursor.execute("PRAGMA busy_timeout = 0")
        try:
            with transaction.atomic():
                Session.objects.create(session_key="healthz", session_data=_TWO_PAGES, expire_date=timezone.now())
                transaction.set_rollback(True)
        except OperationalError as error:
            if "locked" not in str(error):  # locked: another request is writing, so writes work
                raise
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {int(timeout_ms)}")


def _space() -> None:
    folders = [Path(settings.DATA_DIR)]
    if connection.vendor == "sqlite":
        folders.append(Path(str(settings.DATABASES["default"]["NAME"])).parent)
    for folder in folders:
        if (free := shutil.disk_usage(folder).free) < settings.LEAST_FREE_BYTES:
            raise OSError(f"{free:,} bytes are free in {folder}, less than {settings.LEAST_FREE_BYTES:,}")


CHECKS: dict[str, Callable[[], None]] = {
    "database unavailable": _read,
    "database takes no writes": _write,
    "data folder missing or almost full": _space,
}


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer ok, or 503 with the name of the first check that fails. Its reason may name a path, and goes to the log only."""
    failed = next((name for name, check in CHECKS.items() if not run_check(name, check)), None)
    return JsonResponse({"status": failed or "ok", "version": VERSION}, status=503 if failed else 200)


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


WORKER, BACKUP = "worker", "backup"  # names of signs
WORKER_SILENT = timedelta(minutes=5)


def note_sign(name: str, *, at: datetime, went_well: bool = True) -> None:
    """Store when something was done. Other checks report a database that can't be written."""
    try:
        Sign.objects.update_or_create(name=name, defaults={"at": at, "went_well": went_well})
    except DatabaseError:
        return


def note_worker(at: datetime) -> None:
    """Store that a worker is alive."""
    note_sign(WORKER, at=at)


def is_worker_silent(*, at: datetime) -> bool:
    """Tell whether a worker has given a sign of life, and none has lately."""
    return Sign.objects.filter(name=WORKER, at__lt=at - WORKER_SILENT).exists()
