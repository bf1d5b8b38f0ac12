"""`/readyz` for load balancers and monitors, and the status page of site admins with its alarms."""

import logging
import shutil
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.core.version import VERSION
from annotation.members.permissions import account_of
from annotation.models import Assignment, Batch, Slot
from judging.models import JudgeRun, Judgment
from reporting.health.metrics import read_numbers
from reporting.health.views import BACKUP, WORKER, failing, is_worker_silent
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


def _batches(condition: Q | Exists, **filters: Any) -> QuerySet[Batch]:
    rated = Batch.objects.open().filter(purpose=Batch.Purpose.RATING, origin=Batch.Origin.COLLECTED)
    return rated.filter(condition, **filters).select_related("study")


_HAS_SLOTS = Exists(Slot.objects.filter(batch=OuterRef("pk")))
_UNFILLED = Exists(Slot.objects.filter(batch=OuterRef("pk")).exclude(assignment__state=Assignment.State.SUBMITTED))


def _finished_batches(_at: datetime) -> Iterator[str]:
    for batch in _batches(_HAS_SLOTS & ~_UNFILLED):
        yield f"Batch {batch.name} of {batch.study.slug} has all its ratings."


def _stuck_batches(at: datetime) -> Iterator[str]:
    lately = Exists(Assignment.objects.filter(slot__batch=OuterRef("pk"), submitted_at__gt=at - STUCK_AFTER))
    for batch in _batches(_UNFILLED & ~lately, launched_at__lt=at - STUCK_AFTER):
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


TASK_STATES = {"ready": "Queued", "running": "Running", "successful": "Done", "failed": "Failed"}


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """Answer with each check's result: 503 when one fails."""
    failed = failing()
    status = "; ".join(failed) or "ok"
    return JsonResponse({"status": status, "failed": failed, "version": VERSION}, status=503 if failed else 200)


@require_safe
@never_cache
@login_required
def status(request: HttpRequest) -> HttpResponse:
    """Show a site admin what /readyz and /metrics say."""
    if not account_of(request).is_superuser:
        raise PermissionDenied
    numbers = read_numbers()
    states = (
        ("HITs claimed", numbers.claims, dict(Assignment.State.choices)),
        ("Tasks", numbers.tasks, TASK_STATES),
        ("Runs of judges", numbers.runs, dict(JudgeRun.Status.choices)),
        ("Judgments", numbers.judgments, dict(Judgment.Status.choices)),
    )
    context = {
        "failed": failing(),
        "alarms": open_alarms(at=timezone.now()),
        "numbers": numbers,
        "counts": {title: [(words[state], n) for state, n in counted.items()] for title, counted, words in states},
        "version": VERSION,
    }
    return render(request, "reporting/health/status.html", context)
