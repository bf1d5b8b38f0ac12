"""Rows → arrays: judges' verdicts in the same shape as people's; and rows for exports."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from analysis.types import Verdict
from annotation.models import Batch, Study
from annotation.tables import RatedPairs, Selection, rated_pairs
from judging.models import Judge, JudgeRun, Judgment

PENDING = Judgment.Status.PENDING
PARSED = Judgment.Status.PARSED
EXPORT_CHUNK = 1000
COUNTED_AS = {
    PARSED: "parsed",
    Judgment.Status.UNPARSED: "unparsed",
    Judgment.Status.REFUSED: "refused",
    Judgment.Status.ERROR: "errors",
    PENDING: "pending",
}


@dataclass(frozen=True)
class JudgedPairs:
    """One verdict per pair, and what became of the presentations behind them (`status_counts`).

    With both orders, two that disagree are a tie, and a pair that lacks one of the two has no verdict (NaN). For such
    pairs `rated.first_is_a` says nothing: look at `presentations`.
    """

    rated: RatedPairs
    counts: dict[str, int]


@dataclass(frozen=True)
class _Presented:
    """One presentation of one pair, as stored."""

    pair_id: int
    matchup_id: int
    pair_index: int
    order: str
    status: str
    verdict: int | None

    @property
    def first_is_a(self) -> bool:
        return self.order == Judgment.Order.AB


def judges_of(study: Study, batches: Iterable[Batch] | None = None) -> list[JudgeRun]:
    """Return one run for each judge that has any on the study: its latest. Sorted by the judges' names.

    batches : only judges that ran on one of them, or on the whole study
    """
    runs = study.judge_runs.select_related("judge__endpoint").order_by("created_at", "pk")
    wanted = None if batches is None else {batch.pk for batch in batches}
    latest = {run.judge_id: run for run in runs if wanted is None or run.batch_id is None or run.batch_id in wanted}
    return sorted(latest.values(), key=lambda run: run.judge.name)


def judgments(selection: Selection, judge: Judge | JudgeRun) -> JudgedPairs:
    """Return a judge's verdicts on a selection, one per pair, from all its runs on the study.

    A run stands for its judge. Of a presentation made in several runs, the latest run's outcome counts.
    """
    found = _presented(selection, judge)
    by_pair: dict[int, list[_Presented]] = {}
    for presented in found:
        by_pair.setdefault(presented.pair_id, []).append(presented)
    rater, wanted = _rater(judge), _orders(judge)
    rows = [
        (group[0].matchup_id, group[0].pair_index, _one_verdict(group, wanted), rater, group[0].first_is_a)
        for group in by_pair.values()
    ]
    return JudgedPairs(rated_pairs(selection, rows), _count(found))


def presentations(selection: Selection, judge: Judge | JudgeRun) -> RatedPairs:
    """Return every presentation that was asked about, with what was shown first; NaN where no verdict came of it."""
    rater = _rater(judge)
    rows = [
        (one.matchup_id, one.pair_index, one.verdict, rater, one.first_is_a)
        for one in _presented(selection, judge)
        if one.status != PENDING
    ]
    return rated_pairs(selection, rows)


def status_counts(selection: Selection, judge: Judge | JudgeRun) -> dict[str, int]:
    """Count presentations: asked = parsed + unparsed + refused + errors; and pending, which were not asked yet."""
    return _count(_presented(selection, judge))


def _rater(judge: Judge | JudgeRun) -> str:
    return f"judge:{(judge.judge if isinstance(judge, JudgeRun) else judge).name}"


def _orders(judge: Judge | JudgeRun) -> int:
    setting = (judge.judge if isinstance(judge, JudgeRun) else judge).order
    return 2 if setting == Judge.Order.BOTH else 1


def _presented(selection: Selection, judge: Judge | JudgeRun) -> list[_Presented]:
    """Load the plain, first-time presentations of a selection's pairs, sorted by pair and order."""
    judge_id = judge.judge_id if isinstance(judge, JudgeRun) else judge.pk
    rows = (
        Judgment.objects.filter(
            run__judge_id=judge_id,
            run__study=selection.configuration.study,
            pair__matchup__in=selection.configuration.matchups().order_by(),
            repeat=0,
            negated=False,
        )
        .order_by("run__created_at", "run_id", "pk")
        .values_list("pair_id", "pair__matchup_id", "pair__index", "order", "status", "verdict")
    )
    latest: dict[tuple[int, str], _Presented] = {}
    for row in rows:
        one = _Presented(*row)
        key = (one.pair_id, one.order)
        if one.pair_id in selection.pair_ids and (one.status != PENDING or key not in latest):
            latest[key] = one
    places = selection.codes
    return sorted(latest.values(), key=lambda one: (places[one.matchup_id], one.pair_index, one.order))


def _one_verdict(group: list[_Presented], wanted: int) -> int | None:
    verdicts = [one.verdict for one in group]
    if len(verdicts) < wanted or None in verdicts:
        return None
    return verdicts[0] if len(set(verdicts)) == 1 else int(Verdict.TIE)


def _count(found: Iterable[_Presented]) -> dict[str, int]:
    counts = {"asked": 0, **dict.fromkeys(COUNTED_AS.values(), 0)}
    for one in found:
        counts[COUNTED_AS[Judgment.Status(one.status)]] += 1
        counts["asked"] += one.status != PENDING
    return counts


# An exported row: each column that is read from the database as it is.
FIELDS = {
    "id": "pk",
    "study": "run__study__slug",
    "batch": "run__batch__name",
    "instance_id": "pair__matchup__instance__instance_id",
    "dataset": "pair__matchup__instance__dataset",
    "pair_index": "pair__index",
    "system_a": "pair__matchup__system_a__name",
    "system_b": "pair__matchup__system_b__name",
    "generation_a_index": "pair__generation_a__index",
    "generation_b_index": "pair__generation_b__index",
    "shown_first": "order",
    "rating": "verdict",
    "reason": "failure",
    "rated_at": "judged_at",
    "software_version": "run__software_version",
    "judge": "run__judge__name",
    "method": "run__judge__method",
    "model": "run__judge__endpoint__model",
    "params": "run__judge__params",
    "prompt_version": "prompt_version",
    "order": "order",
    "repeat": "repeat",
    "negated": "negated",
    "status": "status",
    "verdict": "verdict",
    "rationale": "rationale",
    "calls": "calls",
}
NOT_OF_JUDGES = {
    "hit": None,
    "rater_kind": "judge",
    "stage": "first",
    "arm": "",
    "table_variant": "",
    "active_seconds": None,
    "wall_seconds": None,
    "late": False,
    "excluded": False,
    "exclusion_reason": "",
    "p_b": None,
    "score_a": None,
    "score_b": None,
    "cost": None,
}


def judgment_rows(study: Study) -> Iterator[dict[str, Any]]:
    """Yield every presentation that was asked about, in a stable order; what is unknown is `None`.

    `reason` says why there is no verdict. Tokens and milliseconds are summed over the completions.
    """
    stored = (
        Judgment.objects.filter(run__study=study)
        .exclude(status=PENDING)
        .order_by(
            *("run__judge__name", "run_id", "pair__matchup__instance__position"),
            *("pair__matchup__system_a__position", "pair__matchup__system_b__position"),
            *("pair__index", "order", "repeat", "negated"),
        )
        .values_list(*FIELDS.values())
        .iterator(chunk_size=EXPORT_CHUNK)
    )
    while chunk := list(islice(stored, EXPORT_CHUNK)):
        found = [dict(zip(FIELDS, values, strict=True)) for values in chunk]
        spent = _spent([row["id"] for row in found])
        for row in found:
            yield _export_row(row, spent.get(row.pop("id"), []))


def _export_row(row: dict[str, Any], completions: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        **NOT_OF_JUDGES,
        **row,
        "rater": f"judge:{row['judge']}",
        "shown_first": "a" if row["order"] == Judgment.Order.AB else "b",
        "rated_at": row["rated_at"] and row["rated_at"].isoformat(),
        "prompt_tokens": _total(completions, "prompt_tokens"),
        "completion_tokens": _total(completions, "completion_tokens"),
        "latency_ms": _total(completions, "latency_ms"),
        "completion_keys": [one["cache_key"] for one in completions if one["cache_key"]],
    }


def _spent(judgment_ids: list[int]) -> dict[int, list[dict[str, Any]]]:
    """Return what the completions of each judgment took, in the order of the samples."""
    names = ("cache_key", "prompt_tokens", "completion_tokens", "latency_ms")
    links = (
        Judgment.completions.through.objects.filter(judgment_id__in=judgment_ids)
        .order_by("judgment_id", "completion__sample", "completion_id")
        .values_list("judgment_id", *(f"completion__{name}" for name in names))
    )
    spent: dict[int, list[dict[str, Any]]] = {}
    for judgment_id, *values in links:
        spent.setdefault(judgment_id, []).append(dict(zip(names, values, strict=True)))
    return spent


def _total(completions: list[dict[str, Any]], name: str) -> float | None:
    known = [one[name] for one in completions if one[name] is not None]
    return sum(known) if known else None
