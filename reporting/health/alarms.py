"""Alarms: one table of rules, checked each minute; a mail is sent when an alarm begins and when it ends."""

import logging
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import translation
from django.utils.translation import gettext as _

from annotation.mail.outbox import write_mail
from annotation.models import Assignment, Batch, Mail, Slot
from judging.models import JudgeRun
from reporting.health.numbers import read_numbers
from reporting.health.readiness import failing
from reporting.health.signs import BACKUP, WORKER, is_worker_silent, take_turn
from reporting.models import Alarm, Sign

EVERY = timedelta(minutes=1)
ENDS_AFTER = timedelta(minutes=10)  # without being seen: what comes and goes is one alarm
QUEUE_TOO_LONG = timedelta(hours=1)
LITTLE_SPACE = 0.1  # share of the disk
STUCK_AFTER = timedelta(days=1)
Found = Iterable[tuple[str, str]]  # the key of what an alarm is about, and its text

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Rule:
    """When there is an alarm, and its text; `is_event`: no mail is sent of its end."""

    find: Callable[[datetime], Found]
    is_event: bool = False


def _failing_checks(_at: datetime) -> Iterator[tuple[str, str]]:
    for name in failing():
        yield name[:60], _("A check of this server fails: %(name)s.") % {"name": _(name)}


def _silent_worker(at: datetime) -> Iterator[tuple[str, str]]:
    if is_worker_silent(at=at):
        seen = Sign.objects.get(name=WORKER)
        yield "", _("No worker has given a sign of life since %(at)s (UTC).") % {"at": f"{seen.at:%Y-%m-%d %H:%M}"}


def _long_queue(_at: datetime) -> Iterator[tuple[str, str]]:
    waits = timedelta(seconds=read_numbers().oldest_waiting)
    if waits > QUEUE_TOO_LONG:
        yield "", _("The first task in the queue has waited for more than an hour: more workers are needed.")


def _full_disk(_at: datetime) -> Iterator[tuple[str, str]]:
    disk = shutil.disk_usage(Path(settings.DATA_DIR))
    if disk.free < LITTLE_SPACE * disk.total:
        text = _("The disk of the data folder is nearly full: %(share)d %% are free.")
        yield "", text % {"share": 100 * disk.free // disk.total}


def _stopped_runs(_at: datetime) -> Iterator[tuple[str, str]]:
    over_cap = Q(status=JudgeRun.Status.PAUSED) & ~Q(message="")  # one stopped on request has no message
    for run in JudgeRun.objects.filter(Q(status=JudgeRun.Status.FAILED) | over_cap).select_related("study"):
        yield (
            str(run.pk),
            _("Judge run %(run)s of %(study)s has stopped: %(why)s")
            % {
                "run": run.pk,
                "study": run.study.slug,
                "why": run.message[:200] or "–",
            },
        )


def _rated_here() -> QuerySet[Batch]:
    rated = Batch.objects.open().filter(purpose=Batch.Purpose.RATING, origin=Batch.Origin.COLLECTED)
    return rated.select_related("study")


def _unfilled() -> Exists:
    return Exists(Slot.objects.filter(batch=OuterRef("pk")).exclude(assignment__state=Assignment.State.SUBMITTED))


def _finished_batches(_at: datetime) -> Iterator[tuple[str, str]]:
    has_slots = Exists(Slot.objects.filter(batch=OuterRef("pk")))
    for batch in _rated_here().filter(has_slots, ~_unfilled()):
        yield str(batch.pk), _("Batch %(batch)s of %(study)s has all its ratings.") % _names(batch)


def _stuck_batches(at: datetime) -> Iterator[tuple[str, str]]:
    lately = Exists(Assignment.objects.filter(slot__batch=OuterRef("pk"), submitted_at__gt=at - STUCK_AFTER))
    for batch in _rated_here().filter(_unfilled(), ~lately, launched_at__lt=at - STUCK_AFTER):
        text = _("Batch %(batch)s of %(study)s is open, and no HIT of it was submitted for a day.")
        yield str(batch.pk), text % _names(batch)


def _names(batch: Batch) -> dict[str, str]:
    return {"batch": batch.name, "study": batch.study.slug}


def _failed_backup(_at: datetime) -> Iterator[tuple[str, str]]:
    if Sign.objects.filter(name=BACKUP, went_well=False).exists():
        yield "", _("The last backup failed.")


def _old_backup(at: datetime) -> Iterator[tuple[str, str]]:
    oldest = at - timedelta(hours=settings.BACKUP_HOURS)
    if settings.BACKUP_HOURS and not Sign.objects.filter(name=BACKUP, went_well=True, at__gte=oldest).exists():
        yield "", _("There is no backup of the last %(hours)d hours.") % {"hours": settings.BACKUP_HOURS}


RULES = {
    "check": Rule(_failing_checks),
    "worker": Rule(_silent_worker),
    "queue": Rule(_long_queue),
    "disk": Rule(_full_disk),
    "run": Rule(_stopped_runs),
    "batch-finished": Rule(_finished_batches, is_event=True),
    "batch-stuck": Rule(_stuck_batches),
    "backup-failed": Rule(_failed_backup),
    "backup-old": Rule(_old_backup),
}


def open_alarms() -> QuerySet[Alarm]:
    """Return the alarms that have not ended, the newest first."""
    return Alarm.objects.filter(ended_at=None)


def look_from_worker(at: datetime) -> None:
    """Record that a worker is alive, and check the rules, once a minute among all workers."""
    if take_turn(WORKER, at=at, every=EVERY):
        look(at=at)


def look(*, at: datetime) -> None:
    """Check each rule, and store a mail about alarms that begin and end."""
    with translation.override(settings.LANGUAGE_CODE):
        found = {name: _found(name, rule, at) for name, rule in RULES.items()}
        with transaction.atomic():
            begun = [
                text for name, rows in found.items() for about, text in rows or () if _is_new(name, about, text, at)
            ]
            looked_at = [name for name, rows in found.items() if rows is not None]
            ended = list(_end_unseen(looked_at, at))
            if begun or ended:
                _tell(begun, ended, at)


def _found(name: str, rule: Rule, at: datetime) -> list[tuple[str, str]] | None:
    """Return what a rule finds; None if it can't be checked, which ends no alarm."""
    try:
        return list(rule.find(at))
    except Exception:  # one rule must not silence the others
        log.exception("the rule %s of alarms can't be looked at", name)
        return None


def _is_new(rule: str, about: str, text: str, at: datetime) -> bool:
    alarm, made = Alarm.objects.get_or_create(
        rule=rule, about=about, ended_at=None, defaults={"text": text[:500], "began_at": at, "seen_at": at}
    )
    if not made:
        Alarm.objects.filter(pk=alarm.pk).update(seen_at=at)
    return made


def _end_unseen(rules: list[str], at: datetime) -> Iterator[str]:
    """End alarms that were not seen for a while; yield the texts of those whose end is reported."""
    for alarm in open_alarms().filter(rule__in=rules, seen_at__lte=at - ENDS_AFTER):
        ended = Alarm.objects.filter(pk=alarm.pk, ended_at=None).update(ended_at=at)
        if ended and not RULES[alarm.rule].is_event:
            yield alarm.text


def _tell(begun: list[str], ended: list[str], at: datetime) -> None:
    """Store one mail for each recipient."""
    if not settings.MAIL_ON:
        return
    subject = _("Tandem: %(text)s") % {"text": (begun or ended)[0]} if begun else _("Tandem: an alarm has ended")
    lines = [
        *begun,
        *(_("Ended: %(text)s") % {"text": text} for text in ended),
        f"{settings.BASE_URL.rstrip('/')}/status/",
    ]
    text = "\n\n".join(lines)
    for address in recipients():
        write_mail(kind=Mail.Kind.ALARM, address=address, text=f"{' '.join(subject.split())}\n{text}", at=at)


def recipients() -> list[str]:
    """Return the addresses of ALARM_ADDRESSES, else those that site admins have confirmed."""
    admins = User.objects.filter(is_superuser=True, is_active=True).exclude(email="").order_by("pk")
    return settings.ALARM_ADDRESSES or list(admins.values_list("email", flat=True))
