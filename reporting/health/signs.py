"""Signs of life: when something was last done that alarms wait for."""

from datetime import datetime, timedelta

from django.db import DatabaseError

from reporting.models import Sign

WORKER, BACKUP = "worker", "backup"  # names of signs
WORKER_SILENT = timedelta(minutes=5)


def note_sign(name: str, *, at: datetime, went_well: bool = True) -> None:
    """Store when something was done; a database that takes nothing is known by other checks."""
    try:
        Sign.objects.update_or_create(name=name, defaults={"at": at, "went_well": went_well})
    except DatabaseError:
        return


def take_turn(name: str, *, at: datetime, every: timedelta) -> bool:
    """Tell whether something that one process does at a time is due, and note that it is done."""
    _sign, made = Sign.objects.get_or_create(name=name, defaults={"at": at})
    return made or Sign.objects.filter(name=name, at__lte=at - every).update(at=at) > 0


def is_worker_silent(*, at: datetime) -> bool:
    """Tell whether a worker has given a sign of life, and none has lately."""
    return Sign.objects.filter(name=WORKER, at__lt=at - WORKER_SILENT).exists()
