"""Outcomes and usage of runs, aggregated in the database."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum

from annotation.models import Study
from judging.methods.sc2.record import MAKING
from judging.models import JudgeRun, Judgment
from judging.outcomes.judgments import jury_answers
from judging.outcomes.provenance import provenance_of_run, warnings_of
from judging.runs.usage import (
    RunUsage,
    calls_by_kind,
    failures_by_cause,
    reported_costs,
    usage_of,
)

Status = Judgment.Status
FIRST_WON = Q(order="ab", verdict=-1) | Q(order="ba", verdict=1)


@dataclass(frozen=True)
class Counts:
    """Presentations by outcome: a + tie + b + unparsed + refused + errors = asked.

    pending : not asked yet, not part of `asked`
    first   : verdicts for the text shown first
    fetched : answers fetched for these judgments; `from_cache`: answers from the cache
    """

    a: int
    tie: int
    b: int
    unparsed: int
    refused: int
    errors: int
    pending: int
    first: int
    fetched: int
    from_cache: int

    @property
    def asked(self) -> int:
        """Presentations that have an outcome."""
        return self.parsed + self.unparsed + self.refused + self.errors

    @property
    def parsed(self) -> int:
        """Presentations with a verdict."""
        return self.a + self.tie + self.b

    @property
    def total(self) -> int:
        """All presentations of the run."""
        return self.asked + self.pending

    def as_dict(self) -> dict[str, int]:
        """Return the counts for JSON, where `calls` are answers fetched and `cached` those from the cache."""
        counts = {"asked": self.asked, "parsed": self.parsed, **asdict(self)}
        counts["calls"], counts["cached"] = counts.pop("fetched"), counts.pop("from_cache")
        return counts


# In the order of the fields of `Counts`.
COUNTED = {
    "a": Count("pk", filter=Q(verdict=-1)),
    "tie": Count("pk", filter=Q(verdict=0)),
    "b": Count("pk", filter=Q(verdict=1)),
    "unparsed": Count("pk", filter=Q(status=Status.UNPARSED)),
    "refused": Count("pk", filter=Q(status=Status.REFUSED)),
    "errors": Count("pk", filter=Q(status=Status.ERROR)),
    "pending": Count("pk", filter=Q(status=Status.PENDING)),
    "first": Count("pk", filter=FIRST_WON),
    "fetched": Sum(F("calls") - F("cached"), default=0),
    "from_cache": Sum("cached", default=0),
}


def count_judgments(judgments: QuerySet[Judgment]) -> Counts:
    """Count a set of judgments in one query."""
    return Counts(**judgments.order_by().aggregate(**COUNTED))


def count_runs(study: Study) -> dict[tuple[int, int], Counts]:
    """Return the counts of every run of a study by primary key and question, in one query."""
    judgments = Judgment.objects.filter(run__study=study).order_by()
    rows = judgments.values("run_id", "question").annotate(**COUNTED).values_list("run_id", "question", *COUNTED)
    return {(run, question): Counts(*values) for run, question, *values in rows}


def counts_by_question(judgments: QuerySet[Judgment]) -> dict[int, Counts]:
    """Return the counts of a set of judgments by question, in one query."""
    rows = judgments.order_by("question").values("question").annotate(**COUNTED).values_list("question", *COUNTED)
    return {question: Counts(*values) for question, *values in rows}


def counts_of_run(run: JudgeRun) -> dict[int, Counts]:
    """Return the counts of a run by question. A jury's are of its verdicts on pairs."""
    if not run.judge.is_jury:
        return counts_by_question(run.judgments.all())
    result = {}
    for number in run.questions:
        counts = Counter(jury_answers(run.study, run.judge, question=number).values())
        a, tie, b = (counts[Status.PARSED, verdict] for verdict in (-1, 0, 1))
        unparsed, errors = counts[Status.UNPARSED, None], counts[Status.ERROR, None]
        result[number] = Counts(a, tie, b, unparsed, 0, errors, pending=0, first=0, fetched=0, from_cache=0)
    return result


def together(counts: Iterable[Counts]) -> Counts:
    """Add up counts."""
    rows = [astuple(count) for count in counts]
    return Counts(*(sum(column) for column in zip([0] * len(COUNTED), *rows, strict=True)))


def report_on(runs: Sequence[JudgeRun]) -> dict[str, Any]:
    """Return outcomes and usage of some runs of one endpoint for JSON. Unknown costs and tokens are `None`.

    failures      : presentations without an answer, by cause
    cost          : of all calls; `None` if one has no known price: `cost_known` is the known part
    calls_by_kind : answers behind the runs, each counted once, cached ones included
    provenance    : of each run with stored answers, who gave them, and how many prompts were probably cut
    """
    endpoint = runs[0].judge.endpoint
    provenance = [
        (run, provenance_found) for run in runs if (provenance_found := provenance_of_run(run, MAKING)) is not None
    ]
    origin_warnings = [warning for run, result in provenance for warning in warnings_of(str(run.judge), result)]
    return {
        "method": runs[0].judge.method,
        "status": [run.status for run in runs],
        "messages": [run.message.text for run in runs if run.message],
        "warnings": origin_warnings,
        **_sums(runs, endpoint.currency if endpoint else ""),
        "failures": [asdict(cause) for cause in failures_by_cause(*runs)],
        "calls_by_kind": [kind.as_dict() for run in runs for kind in calls_by_kind(run)],
        "provenance": [
            {"run": run.pk, **result.as_json(), **reported_costs(run).as_dict()} for run, result in provenance
        ],
    }


def reports_by_procedure(runs: Sequence[JudgeRun]) -> list[dict[str, Any]]:
    """Sum runs by method and currency."""
    groups: dict[tuple[str, str], list[JudgeRun]] = {}
    for run in runs:
        currency = run.judge.endpoint.currency if run.judge.endpoint else ""
        groups.setdefault((run.judge.method, currency), []).append(run)
    return [
        {"method": method, "judges": len({run.judge_id for run in members}), **_sums(members, currency)}
        for (method, currency), members in sorted(groups.items())
    ]


def _sums(runs: Sequence[JudgeRun], currency: str) -> dict[str, Any]:
    """Return outcomes, tokens and money of some runs of one method for JSON.

    Where their study asks several questions, the verdicts are counted for each by itself.
    """
    judgments, questions = Judgment.objects.filter(run__in=runs), runs[0].study.questions
    if runs[0].judge.is_jury:
        each = [counts_of_run(run) for run in runs]
        numbers = sorted(set().union(*each))
        by_question = {number: together(item[number] for item in each if number in item) for number in numbers}
    else:
        by_question = counts_by_question(judgments)
    counts = together(by_question.values())
    outcomes: dict[str, Any] = dict(counts.as_dict())
    if len(questions) > 1:
        outcomes = {name: count for name, count in outcomes.items() if name not in ("a", "tie", "b", "first")}
        outcomes["questions"] = [
            {"question": questions[key].key, **item.as_dict()} for key, item in by_question.items()
        ]
    return {**outcomes, **tokens_and_money(usage_of(judgments, currency), counts.parsed)}


def tokens_and_money(usage: RunUsage, verdicts: int) -> dict[str, Any]:
    """Return tokens and cost, in all and per verdict."""
    is_known = usage.prompt_tokens is not None and usage.completion_tokens is not None
    tokens = (usage.prompt_tokens or 0) + (usage.completion_tokens or 0) if is_known or not usage.calls else None
    cost = None if usage.unpriced else usage.priced
    return {
        "prompt_tokens": usage.prompt_tokens if usage.calls else 0,
        "completion_tokens": usage.completion_tokens if usage.calls else 0,
        "tokens": tokens,
        "tokens_per_verdict": tokens / verdicts if tokens is not None and verdicts else None,
        "calls_per_verdict": usage.calls / verdicts if verdicts else None,
        "cost": None if cost is None else float(cost),
        "cost_known": float(usage.priced),
        "cost_per_verdict": float(cost / verdicts) if cost is not None and verdicts else None,
        "currency": usage.currency,
    }


def pairs_without_source(run: JudgeRun) -> int:
    """Count the pairs of a run that have no source text, as in some imported ratings."""
    if run.judge.endpoint_id is None:
        return 0  # baselines ask nothing
    return run.judgments.filter(pair__matchup__instance__source="").values("pair").distinct().count()
