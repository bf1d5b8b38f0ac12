"""Rows → arrays: judges' verdicts in the shape of people's; and rows for exports."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any

import numpy as np
from django.db.models import QuerySet
from django.db.models.functions import Length

from analysis.logic import averaged_verdict
from analysis.types import BoolArray, FloatArray, IntArray, Verdict
from annotation.models import Batch, Pair, Study
from annotation.questions.questions import MAIN
from annotation.studies.outcomes import Selection, rated_pairs
from annotation.studies.questions import named_questions
from annotation.studies.rated_pairs import RatedPairs
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
    """One verdict per pair, and the counts of the presentations behind them (asked = parsed + unparsed + refused + errors; and pending).

    If a judge is asked both orders, verdicts that disagree are a tie, or their probabilities are averaged, by the judge's
    settings; a pair that lacks one of the two has no verdict (NaN), and `rated.first_is_a` has no meaning: use
    `presentations`. Only the first repeat of the plain question counts: the others measure a judge's stability, and
    would give a pair more weight here.
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
    p_b: float | None

    @property
    def first_is_a(self) -> bool:
        return self.order == Judgment.Order.AB


def judges_of(study: Study, batches: Iterable[Batch] | None = None, *, question: int = MAIN) -> list[JudgeRun]:
    """Return the latest run of each judge that answers a question of the study, sorted by the judges' names.

    batches : only judges that ran on one of them, or on the whole study
    """
    runs = study.judge_runs.select_related("judge__endpoint").order_by("created_at", "pk")
    wanted = None if batches is None else {batch.pk for batch in batches}
    latest = {
        run.judge_id: run
        for run in runs
        if question in run.questions and (wanted is None or run.batch_id is None or run.batch_id in wanted)
    }
    return sorted(latest.values(), key=lambda run: run.judge.name)


def judgments(selection: Selection, judge: Judge | JudgeRun, *, question: int = MAIN) -> JudgedPairs:
    """Return a judge's verdicts on a selection, one per pair, from all its runs on the study.

    A run stands for its judge; of several runs the latest outcome of a presentation counts.
    """
    judge = judge.judge if isinstance(judge, JudgeRun) else judge
    found = _presented(selection, judge, question)
    by_pair: dict[int, list[_Presented]] = {}
    for presented in found:
        by_pair.setdefault(presented.pair_id, []).append(presented)
    verdicts = _one_verdict_each(by_pair.values(), judge)
    rows = [
        (group[0].matchup_id, group[0].pair_index, verdict, f"judge:{judge.name}", group[0].first_is_a)
        for group, verdict in zip(by_pair.values(), verdicts, strict=True)
    ]
    return JudgedPairs(rated_pairs(selection, rows), _count(found))


def verdicts_by_pair(study: Study, judge: Judge, *, dataset: str = "", question: int = MAIN) -> dict[int, int | None]:
    """Return a judge's verdict, or `None`, on each pair of a study that it was asked about.

    By the rules of `judgments`; over all configurations, or those of one data set.
    """
    rows = _rows(study, judge.pk, question)
    if dataset:
        rows = rows.filter(pair__matchup__instance__dataset=dataset)
    by_pair: dict[int, list[_Presented]] = {}
    for one in _latest(rows).values():
        if one.status != PENDING:
            by_pair.setdefault(one.pair_id, []).append(one)
    return dict(zip(by_pair, _one_verdict_each(by_pair.values(), judge), strict=True))


def presentations(selection: Selection, judge: Judge | JudgeRun, *, question: int = MAIN) -> RatedPairs:
    """Return every presentation that was asked, with what was shown first; NaN where it has no verdict."""
    judge = judge.judge if isinstance(judge, JudgeRun) else judge
    rows = [
        (one.matchup_id, one.pair_index, one.verdict, f"judge:{judge.name}", one.first_is_a)
        for one in _presented(selection, judge, question)
        if one.status != PENDING
    ]
    return rated_pairs(selection, rows)


def _presented(selection: Selection, judge: Judge, question: int) -> list[_Presented]:
    """Load the first repeats of the plain presentations of a selection's pairs, sorted by pair and order."""
    rows = _rows(selection.configuration.study, judge.pk, question).filter(
        pair__matchup__in=selection.configuration.matchups().order_by()
    )
    found = [one for one in _latest(rows).values() if one.pair_id in selection.pair_ids]
    places = selection.codes
    return sorted(found, key=lambda one: (places[one.matchup_id], one.pair_index, one.order))


def _rows(study: Study, judge_id: int, question: int) -> QuerySet[Judgment]:
    return Judgment.objects.of_question(question).filter(
        run__judge_id=judge_id, run__study=study, repeat=0, negated=False
    )


def _latest(rows: QuerySet[Judgment]) -> dict[tuple[int, str], _Presented]:
    """Keep the latest run's outcome of each presentation; an open cell doesn't replace one."""
    stored = rows.order_by("run__created_at", "run_id", "pk").values_list(
        "pair_id", "pair__matchup_id", "pair__index", "order", "status", "verdict", "p_b"
    )
    latest: dict[tuple[int, str], _Presented] = {}
    for row in stored:
        one = _Presented(*row)
        key = (one.pair_id, one.order)
        if one.status != PENDING or key not in latest:
            latest[key] = one
    return latest


def _one_verdict_each(groups: Iterable[list[_Presented]], judge: Judge) -> list[int | None]:
    """Combine each pair's presentations, in one or both orders, into a verdict."""
    both = judge.order == Judge.OrderPolicy.BOTH
    if both and judge.combine == Judge.Combine.PROBABILITY:
        return _averaged(groups)
    return [_one_verdict(group, wanted=1 + both) for group in groups]


def _one_verdict(group: list[_Presented], *, wanted: int) -> int | None:
    verdicts = [one.verdict for one in group]
    if len(verdicts) < wanted or None in verdicts:
        return None
    return verdicts[0] if len(set(verdicts)) == 1 else int(Verdict.TIE)


def _averaged(groups: Iterable[list[_Presented]]) -> list[int | None]:
    """Average the probabilities of both orders; if one is missing there is no verdict."""
    found = [[one.p_b if one.status == PARSED else None for one in group] for group in groups]
    known = [ps if len(ps) == 2 else [None, None] for ps in found]
    columns = np.array(known, dtype=np.float64).reshape(-1, 2)  # None becomes NaN
    means = averaged_verdict(columns[:, 0], columns[:, 1])
    return [None if np.isnan(mean) else int(mean) for mean in means]


def _count(found: Iterable[_Presented]) -> dict[str, int]:
    counts = {"asked": 0, **dict.fromkeys(COUNTED_AS.values(), 0)}
    for one in found:
        counts[COUNTED_AS[Judgment.Status(one.status)]] += 1
        counts["asked"] += one.status != PENDING
    return counts


@dataclass(frozen=True, eq=False)
class RunCells:
    """A run's cells of one question that were asked, one row each, and the lengths of the two texts in characters.

    pair, instance, repeat : (n,) primary keys of the pair and of its instance; which repeat, from 0
    negated, first_is_a    : (n,) bool
    verdict                : (n,) -1, 0, +1 in study order, NaN where there is none
    length_a, length_b     : (n,) Unicode code points, as stored
    """

    pair: IntArray
    instance: IntArray
    repeat: IntArray
    negated: BoolArray
    first_is_a: BoolArray
    verdict: FloatArray
    length_a: FloatArray
    length_b: FloatArray


def cells_of(run: JudgeRun, *, question: int = MAIN) -> RunCells:
    """Load the cells for a run's figures on a question, in two queries."""
    stored = run.judgments.of_question(question).exclude(status=PENDING).order_by()
    rows = list(stored.values_list("pair_id", "repeat", "negated", "order", "verdict"))
    pairs = Pair.objects.filter(pk__in=stored.values("pair_id")).order_by()
    lengths = {
        pk: found
        for pk, *found in pairs.values_list(
            "pk", "matchup__instance_id", Length("generation_a__text"), Length("generation_b__text")
        )
    }
    of_pair = np.array([lengths[row[0]] for row in rows], dtype=np.int64).reshape(-1, 3)
    return RunCells(
        pair=np.array([row[0] for row in rows], dtype=np.int64),
        instance=of_pair[:, 0],
        repeat=np.array([row[1] for row in rows], dtype=np.int64),
        negated=np.array([row[2] for row in rows], dtype=bool),
        first_is_a=np.array([row[3] == Judgment.Order.AB for row in rows], dtype=bool),
        verdict=np.array([np.nan if row[4] is None else row[4] for row in rows], dtype=np.float64),
        length_a=of_pair[:, 1].astype(np.float64),
        length_b=of_pair[:, 2].astype(np.float64),
    )


# The columns of an exported row that are read from the database unchanged.
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
} | {
    name: name
    for name in (
        *("prompt_version", "order", "repeat", "negated", "question", "status", "verdict", "p_b", "score_a", "score_b"),
        *("rationale", "calls", "prompt_tokens", "completion_tokens", "cost"),
    )
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
}


def judgment_rows(study: Study) -> Iterator[dict[str, Any]]:
    """Yield every presentation that was asked, in a stable order; unknown values are `None`.

    `question` is the key of the question, where the study asks several; else it is left out.
    Repeats and negated questions are separate rows; findings use repeat 0 of the plain question. `reason` says why there
    is no verdict. Tokens and milliseconds are summed over the completions behind a row, which rows may share. `cost` was
    paid for this row alone: the column sums to the total cost.
    """
    asked = named_questions(study)
    stored = (
        Judgment.objects.of_every_question()
        .filter(run__study=study)
        .exclude(status=PENDING)
        .order_by(
            *("run__judge__name", "run_id", "pair__matchup__instance__position"),
            *("pair__matchup__system_a__position", "pair__matchup__system_b__position"),
            *("pair__index", "order", "repeat", "negated", "question"),
        )
        .values_list(*FIELDS.values())
        .iterator(chunk_size=EXPORT_CHUNK)
    )
    while chunk := list(islice(stored, EXPORT_CHUNK)):
        found = [dict(zip(FIELDS, values, strict=True)) for values in chunk]
        spent = _spent([row["id"] for row in found])
        for row in found:
            number = row.pop("question")
            named = {"question": asked[number].key} if asked else {}
            yield {**_export_row(row, spent.get(row.pop("id"), [])), **named}


def _export_row(row: dict[str, Any], completions: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        **NOT_OF_JUDGES,
        **row,
        "rater": f"judge:{row['judge']}",
        "shown_first": "a" if row["order"] == Judgment.Order.AB else "b",
        "rated_at": row["rated_at"] and row["rated_at"].isoformat(),
        "prompt_tokens": _total(completions, "prompt_tokens", row["prompt_tokens"]),
        "completion_tokens": _total(completions, "completion_tokens", row["completion_tokens"]),
        "cost": _plain(row["cost"]),
        "latency_ms": _total(completions, "latency_ms"),
        "completion_keys": [one["cache_key"] for one in completions if one["cache_key"]],
    }


def _spent(judgment_ids: list[int]) -> dict[int, list[dict[str, Any]]]:
    """Return the usage of each judgment's completions, in the order of the samples."""
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


def _total(completions: list[dict[str, Any]], name: str, stored: float | None = None) -> float | None:
    """Sum over the completions; for a row without any, such as an imported one, return the `stored` value."""
    if not completions:
        return stored
    known = [one[name] for one in completions if one[name] is not None]
    return sum(known) if known else None


def _plain(money: Decimal | None) -> float | None:
    """Convert money to a float for JSON; exact to eight decimals below ten million."""
    return None if money is None else float(money)
