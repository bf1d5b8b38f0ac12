"""Time and money of a batch: so far, and projected for all of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import Count, Min, Q, Sum

from annotation.core.money import to_cents
from annotation.models import Assignment, Batch
from annotation.monitoring.batch_annotators import RaterRow
from annotation.monitoring.batch_status import Slots

HOUR = timedelta(hours=1)
LEAST_PERIOD = timedelta(minutes=1)  # a pace of seconds says nothing
LONGEST_FORECAST = 24 * 365.0  # hours


@dataclass(frozen=True)
class Figures:
    """Time and money of a batch. Hours are active time of present raters. Pay is that of all raters.

    hours, pay  : so far, hidden repeats of this batch's HITs and uncounted work included
    *_total     : projected to all slots at the mean pace so far; future hidden checks are left out
    measured    : False when nothing was timed yet, and the study's expected minutes are used
    """

    hours: float
    hours_total: float | None
    measured: bool
    pay: Decimal
    pay_total: Decimal | None
    currency: str
    last_hour: int
    finish: datetime | None


def figures_of(batch: Batch, slots: Slots, raters: Sequence[RaterRow], at: datetime) -> Figures:
    """Sum up a batch's time and money, in one query besides its raters' rows."""
    study = batch.study
    recent = Q(submitted_at__gt=at - HOUR, submitted_at__lte=at, slot__isnull=False)
    sums = Assignment.objects.filter(hit__batch=batch).aggregate(
        pay=Sum("pay_due"),
        last_hour=Count("pk", filter=recent & Q(state=Assignment.State.SUBMITTED)),
        began=Min("claimed_at"),
    )
    seconds, timed = sum(row.votes.seconds for row in raters), sum(row.votes.timed for row in raters)
    pay, free_slots = to_cents(sums["pay"] or Decimal(0)), slots.total - slots.filled
    pay_due = study.pay_for(free_slots)
    a_hit = _hours_of_a_hit(batch, seconds, timed)
    return Figures(
        hours=seconds / 3600,
        hours_total=None if a_hit is None or not slots.total else seconds / 3600 + free_slots * a_hit,
        measured=timed > 0,
        pay=pay,
        pay_total=None if pay_due is None or not slots.total else to_cents(pay + pay_due),
        currency=study.currency,
        last_hour=sums["last_hour"],
        finish=_finish(free_slots, sums["last_hour"], sums["began"], at),
    )


def _hours_of_a_hit(batch: Batch, seconds: float, timed: int) -> float | None:
    """Return the mean hours per HIT: the mean, not the median, since it is multiplied to a sum."""
    if timed:
        return seconds / timed * batch.pairs_per_hit / 3600
    return batch.study.minutes_per_hit / 60 if batch.study.minutes_per_hit else None


def _finish(free_slots: int, last_hour: int, began: datetime | None, at: datetime) -> datetime | None:
    """Return when the last slot is filled at the pace of the last hour, or None without submissions or open slots.

    began : when the batch's first HIT was claimed; work of less than an hour has a higher pace
    """
    if not free_slots or not last_hour:
        return None
    period = HOUR if began is None else min(max(at - began, LEAST_PERIOD), HOUR)
    remaining = free_slots / last_hour * (period / HOUR)
    return None if remaining > LONGEST_FORECAST else at + remaining * HOUR
