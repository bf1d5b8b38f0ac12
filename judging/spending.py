"""What runs took: calls, tokens and money, counted in the database; and how fast one is going."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Case, Count, F, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Left, StrIndex

from annotation.models import Study
from judging.models import Completion, JudgeRun, Judgment

RATE_SECONDS = 60
MOST_KINDS = 12
LONGEST_KIND = 80


@dataclass(frozen=True)
class Spent:
    """What a run's cells took: the calls made for them, without the answers that came from the cache.

    tokens are `None` when no endpoint told; unpriced : cells whose calls have no known price, and are no part of `cost`
    """

    calls: int
    cached: int
    prompt_tokens: int | None
    completion_tokens: int | None
    priced: Decimal
    unpriced: int
    verdicts: int
    currency: str

    @property
    def cost(self) -> Decimal | None:
        """What was paid, as far as it is known; `None` when nothing of it is."""
        return None if self.unpriced and not self.priced else self.priced

    @property
    def per_verdict(self) -> Decimal | None:
        """What a verdict cost; `None` without a verdict, or when part of the cost is unknown."""
        return None if self.unpriced or not self.verdicts else self.priced / self.verdicts


MADE = Q(calls__gt=F("cached"))
SPENT = {
    "calls_made": Sum(F("calls") - F("cached"), default=0),
    "from_cache": Sum("cached", default=0),
    "sent": Sum("prompt_tokens"),
    "written": Sum("completion_tokens"),
    "priced": Sum("cost"),
    "unpriced": Count("pk", filter=MADE & Q(cost=None)),
    "verdicts": Count("pk", filter=Q(status=Judgment.Status.PARSED)),
}


def spent_by_run(study: Study) -> dict[int, Spent]:
    """Add up what every run of a study took, in one query, by the run's primary key."""
    judgments = Judgment.objects.filter(run__study=study).order_by()
    rows = judgments.values("run_id", "run__judge__endpoint__currency").annotate(**SPENT)
    return {row["run_id"]: _spent(row, row["run__judge__endpoint__currency"] or "") for row in rows}


def spent_on(judgments: QuerySet[Judgment], currency: str) -> Spent:
    """Add up what a set of judgments took."""
    return _spent(judgments.order_by().aggregate(**SPENT), currency)


def _spent(row: Mapping[str, Any], currency: str) -> Spent:
    return Spent(
        calls=row["calls_made"],
        cached=row["from_cache"],
        prompt_tokens=row["sent"],
        completion_tokens=row["written"],
        priced=row["priced"] or Decimal(0),
        unpriced=row["unpriced"],
        verdicts=row["verdicts"],
        currency=currency,
    )


@dataclass(frozen=True)
class Pace:
    """How fast a run has been going in the last minute.

    per_second : presentations that were answered; `None` before the first
    seconds_left : until none is open, at this pace; `None` when there is none
    """

    per_second: float | None
    seconds_left: float | None


def pace_of(run: JudgeRun, *, pending: int, now: datetime) -> Pace:
    """Measure the pace of a run over the last minute, or since it started if that is less."""
    window = RATE_SECONDS if run.started_at is None else (now - run.started_at).total_seconds()
    seconds = max(1.0, min(float(RATE_SECONDS), window))
    done = run.judgments.filter(judged_at__gte=now - timedelta(seconds=seconds)).count()
    if not done:
        return Pace(None, None)
    return Pace(done / seconds, pending * seconds / done)


@dataclass(frozen=True)
class KindOfCall:
    """Answers of one kind behind a run's cells, each counted once however many cells use it."""

    kind: str
    answers: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: Decimal | None
    unpriced: int


def calls_by_kind(run: JudgeRun) -> list[KindOfCall]:
    """Count the answers behind a run by what they were for: those fetched for it, and those that the cache had."""
    used = Judgment.completions.through.objects.filter(judgment__run=run).order_by().values("completion_id")
    rows = Completion.objects.filter(pk__in=used).order_by("kind").values("kind")
    counted = rows.annotate(
        answers=Count("pk"),
        sent=Sum("prompt_tokens"),
        written=Sum("completion_tokens"),
        paid=Sum("cost"),
        unpriced=Count("pk", filter=Q(cost=None)),
    )
    return [
        KindOfCall(row["kind"], row["answers"], row["sent"], row["written"], row["paid"], row["unpriced"])
        for row in counted
    ]


def failures_by_kind(run: JudgeRun) -> list[tuple[str, int]]:
    """Count a run's errors by what their message begins with (to the first colon), the most frequent first."""
    colon = StrIndex("failure", Value(":"))
    kind = Case(When(colon__gt=0, then=Left("failure", F("colon") - 1)), default=Left("failure", LONGEST_KIND))
    errors = run.judgments.filter(status=Judgment.Status.ERROR).order_by()
    rows = errors.annotate(colon=colon).annotate(kind=kind).values_list("kind").annotate(found=Count("pk"))
    return [(kind[:LONGEST_KIND], count) for kind, count in rows.order_by("-found", "kind")[:MOST_KINDS]]
