"""Calls, tokens, cost and pace of runs, aggregated in the database."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, F, Min, Q, QuerySet, Sum

from annotation.models import Study
from judging.core.constants import FINAL_CAUSES, NO_ANSWER
from judging.core.pricing import PLACES
from judging.models import Completion, JudgeRun, Judgment

RATE_SECONDS = 60
MOST_KINDS = 12


@dataclass(frozen=True)
class RunUsage:
    """The usage of a run's cells in calls made for them. Answers from the cache are `cached` only.

    Tokens are `None` if no endpoint reported them; unpriced : cells with calls of unknown cost, not part of `priced`
    """

    currency: str
    calls: int
    cached: int
    prompt_tokens: int | None
    completion_tokens: int | None
    priced: Decimal
    unpriced: int
    verdicts: int

    @property
    def cost(self) -> Decimal | None:
        """The known part of the cost, or `None` if nothing is known."""
        return None if self.unpriced and not self.priced else self.priced

    @property
    def per_verdict(self) -> Decimal | None:
        """The cost of a verdict, or `None` without verdicts, or if part of the cost is unknown."""
        return None if self.unpriced or not self.verdicts else self.priced / self.verdicts


MADE = Q(calls__gt=F("cached"))
# In the order of the fields of `RunUsage` after the currency.
USAGE_SUMS = {
    "calls_made": Sum(F("calls") - F("cached"), default=0),
    "from_cache": Sum("cached", default=0),
    "sent": Sum("prompt_tokens"),
    "written": Sum("completion_tokens"),
    "priced": Sum("cost", default=Decimal(0)),
    "unpriced": Count("pk", filter=MADE & Q(cost=None)),
    "verdicts": Count("pk", filter=Q(status=Judgment.Status.PARSED)),
}


def usage_by_run(study: Study) -> dict[int, RunUsage]:
    """Return the usage of every run of a study by primary key, in one query."""
    judgments = Judgment.objects.filter(run__study=study).order_by()
    rows = judgments.values("run_id", "run__judge__endpoint__currency").annotate(**USAGE_SUMS)
    return {
        run: RunUsage(currency or "", *sums)
        for run, currency, *sums in rows.values_list("run_id", "run__judge__endpoint__currency", *USAGE_SUMS)
    }


def usage_of(judgments: QuerySet[Judgment], currency: str) -> RunUsage:
    """Return the usage of a set of judgments."""
    return RunUsage(currency, *judgments.order_by().aggregate(**USAGE_SUMS).values())


@dataclass(frozen=True)
class RunPace:
    """The pace of a run in the last minute.

    per_second   : presentations answered; `None` before the first
    seconds_left : until all are answered; `None` without a pace
    """

    per_second: float | None
    seconds_left: float | None


def pace_of(run: JudgeRun, *, pending: int, now: datetime) -> RunPace:
    """Measure the pace of a run over the last minute, or since it started if that is less."""
    window = RATE_SECONDS if run.started_at is None else (now - run.started_at).total_seconds()
    seconds = max(1.0, min(float(RATE_SECONDS), window))
    done = run.judgments.filter(judged_at__gte=now - timedelta(seconds=seconds)).count()
    if not done:
        return RunPace(None, None)
    return RunPace(done / seconds, pending * seconds / done)


@dataclass(frozen=True)
class CallKindUsage:
    """The answers of one kind behind a run's cells, each counted once."""

    kind: str
    answers: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: Decimal | None
    unpriced: int

    def as_dict(self) -> dict[str, Any]:
        """Return the answers for JSON."""
        values = asdict(self)
        unknown = values.pop("unpriced") or self.cost is None
        return {**values, "cost": None if unknown else float(self.cost or 0)}


def calls_by_kind(run: JudgeRun) -> list[CallKindUsage]:
    """Count the answers behind a run by kind of call, cached ones included."""
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
        CallKindUsage(*row) for row in counted.values_list("kind", "answers", "sent", "written", "paid", "unpriced")
    ]


@dataclass(frozen=True)
class CauseCount:
    """The presentations of some runs that failed for one cause. `is_final`: only a retry asks them again."""

    cause: str
    label: str
    count: int
    example: str
    is_final: bool


def failures_by_cause(*runs: JudgeRun) -> list[CauseCount]:
    """Count the presentations of some runs without an answer by cause, most frequent first."""
    labels = dict(Judgment.Cause.choices)
    error, refused = Q(status=Judgment.Status.ERROR), Q(status=Judgment.Status.REFUSED)
    failed = Judgment.objects.filter(error | refused & ~Q(cause=""), run__in=runs).order_by()
    rows = failed.values_list("cause").annotate(count=Count("pk"), example=Min("failure")).order_by("-count", "cause")
    return [
        CauseCount(cause, labels[cause or NO_ANSWER], count, example.text, cause in FINAL_CAUSES)
        for cause, count, example in rows
    ]


@dataclass(frozen=True)
class ReportedCosts:
    """Costs that the endpoint reported with answers, beside what its prices say of them. Empty prices count nothing."""

    answers: int
    cost: Decimal
    list_price: Decimal

    @property
    def differs(self) -> bool:
        """Tell whether they differ by more than rounding."""
        return abs(self.cost - self.list_price) > self.answers * PLACES

    def as_dict(self) -> dict[str, Any]:
        """Return the costs for JSON, where there are any."""
        costs = {"answers": self.answers, "cost": float(self.cost), "list_price": float(self.list_price)}
        return {"reported_costs": costs} if self.answers else {}


def reported_costs(run: JudgeRun) -> ReportedCosts:
    """Add up the costs that the endpoint reported with the answers behind a run, where its prices are known."""
    used = Judgment.completions.through.objects.filter(judgment__run=run).order_by().values("completion_id")
    priced = Completion.objects.filter(pk__in=used, cost__isnull=False, list_price__isnull=False)
    zero = Decimal(0)
    sums = {"cost": Sum("cost", default=zero), "list_price": Sum("list_price", default=zero)}
    return ReportedCosts(**priced.aggregate(answers=Count("pk"), **sums))


def failures_by_kind(run: JudgeRun) -> list[tuple[str, int]]:
    """Count a run's errors by kind, most frequent first."""
    errors = run.judgments.filter(status=Judgment.Status.ERROR).order_by()
    rows = errors.values_list("failure_code").annotate(count=Count("pk"))
    return list(rows.order_by("-count", "failure_code")[:MOST_KINDS])
