"""Signs of life: when something was last done that alarms wait for."""

from datetime import datetime, timedelta

from django.db import DatabaseError

from reporting.models import Sign

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
