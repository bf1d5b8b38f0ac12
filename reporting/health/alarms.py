"""Alarms: one table of rules, checked for the status page."""

import logging
import shutil
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.models import Assignment, Batch, Slot
from judging.models import JudgeRun
from reporting.health.numbers import read_numbers
from reporting.health.readiness import failing
from reporting.health.signs import BACKUP, WORKER, is_worker_silent
from reporting.models import Sign

QUEUE_TOO_LONG = timedelta(hours=1)
LITTLE_SPACE = 0.1  # share of the disk
STUCK_AFTER = timedelta(days=1)

log = logging.getLogger(__name__)


def _failing_checks(_at: datetime) -> Iterator[str]:
    for name in failing():
        yield f"A check of this server fails: {name}."


def _silent_worker(at: datetime) -> Iterator[str]:
    sign = Sign.objects.filter(name=WORKER).first()
    if sign is None:
        yield "No worker has ever run."
    elif is_worker_silent(at=at):
        yield f"No worker has responded since {sign.at:%Y-%m-%d %H:%M} (UTC)."


def _long_queue(_at: datetime) -> Iterator[str]:
    waits = timedelta(seconds=read_numbers().oldest_waiting)
    if waits > QUEUE_TOO_LONG:
        yield "The first task in the queue has waited for more than an hour: more workers are needed."


def _full_disk(_at: datetime) -> Iterator[str]:
    disk = shutil.disk_usage(Path(settings.DATA_DIR))
    if disk.free < LITTLE_SPACE * disk.total:
        yield f"The disk of the data folder is nearly full: {100 * disk.free // disk.total} % are free."


def _stopped_runs(_at: datetime) -> Iterator[str]:
    over_cap = Q(status=JudgeRun.Status.PAUSED) & ~Q(message="")  # one stopped on request has no message
    for run in JudgeRun.objects.filter(Q(status=JudgeRun.Status.FAILED) | over_cap).select_related("study"):
        why = run.message.text[:200] or "–"
        yield f"Judge run {run.pk} of {run.study.slug} has stopped: {why}"


def _rated_here() -> QuerySet[Batch]:
    rated = Batch.objects.open().filter(purpose=Batch.Purpose.RATING, origin=Batch.Origin.COLLECTED)
    return rated.select_related("study")


def _unfilled() -> Exists:
    return Exists(Slot.objects.filter(batch=OuterRef("pk")).exclude(assignment__state=Assignment.State.SUBMITTED))


def _finished_batches(_at: datetime) -> Iterator[str]:
    has_slots = Exists(Slot.objects.filter(batch=OuterRef("pk")))
    for batch in _rated_here().filter(has_slots, ~_unfilled()):
        yield f"Batch {batch.name} of {batch.study.slug} has all its ratings."


def _stuck_batches(at: datetime) -> Iterator[str]:
    lately = Exists(Assignment.objects.filter(slot__batch=OuterRef("pk"), submitted_at__gt=at - STUCK_AFTER))
    for batch in _rated_here().filter(_unfilled(), ~lately, launched_at__lt=at - STUCK_AFTER):
        yield f"Batch {batch.name} of {batch.study.slug} is open, but no HIT was submitted for a day."


def _failed_backup(_at: datetime) -> Iterator[str]:
    if Sign.objects.filter(name=BACKUP, went_well=False).exists():
        yield "The last backup failed."


def _old_backup(at: datetime) -> Iterator[str]:
    oldest = at - timedelta(hours=settings.BACKUP_HOURS)
    if settings.BACKUP_HOURS and not Sign.objects.filter(name=BACKUP, went_well=True, at__gte=oldest).exists():
        yield f"There is no backup of the last {settings.BACKUP_HOURS} hours."


RULES: dict[str, Callable[[datetime], Iterable[str]]] = {
    "check": _failing_checks,
    "worker": _silent_worker,
    "queue": _long_queue,
    "disk": _full_disk,
    "run": _stopped_runs,
    "batch-finished": _finished_batches,
    "batch-stuck": _stuck_batches,
    "backup-failed": _failed_backup,
    "backup-old": _old_backup,
}


def open_alarms(*, at: datetime) -> list[str]:
    """Return what each rule finds. A rule that can't be checked is logged and left out."""
    alarms: list[str] = []
    for name, rule in RULES.items():
        try:
            alarms += rule(at)
        except Exception:  # one rule must not silence the others
            log.exception("the rule %s of alarms can't be checked", name)
    return alarms
