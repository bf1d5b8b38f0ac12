"""The health check endpoint for load balancers and monitors: of the database, and of the disk that holds the data."""

import logging
import shutil
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import DatabaseError, OperationalError, connection, transaction
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.core.version import VERSION

_TWO_PAGES = "0" * 8192  # two SQLite pages: more than the free space of the last page

logger = logging.getLogger(__name__)


def failed_check() -> str | None:
    """Return the name of the first check that fails. Its reason may name a path, and goes to the log only."""
    return next((name for name, check in CHECKS.items() if not run_check(name, check)), None)


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
    """Answer ok, or 503 with the name of the check that failed."""
    failed = failed_check()
    return JsonResponse({"status": failed or "ok", "version": VERSION}, status=503 if failed else 200)
