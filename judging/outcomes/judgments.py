"""Rows → arrays: judges' verdicts in the shape of people's; and rows for exports."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from itertools import islice
from types import MappingProxyType
from typing import Any

import numpy as np
from django.db.models import Q, QuerySet, SmallIntegerField, Value
from django.db.models.functions import Length

from analysis.grouping import groups
from analysis.logic import averaged_verdict
from analysis.types import BoolArray, FloatArray, IntArray, Verdict
from annotation.core.database.columns import code_of, number_columns
from annotation.models import Batch, Pair, Study
from annotation.questions.questions import MAIN
from annotation.studies.outcomes import Rows, Selection, outcomes_on, rows_on_each
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
STATUSES = (PENDING, PARSED, *(one for one in COUNTED_AS if one not in (PENDING, PARSED)))
OPEN, PARSED_CODE = 0, 1  # places in `STATUSES`
GONE = (-1, -1)  # age and judge of a run that was deleted while its judgments were read


@dataclass(frozen=True, eq=False)
class Presented:
    """A judge's presentations, one row for each pair and order, by pair and then with A first; only the latest outcomes.

    pair       : (n,) primary keys
    first_is_a : (n,) bool
    status     : (n,) place in `STATUSES`: `OPEN`, `PARSED_CODE` and so on
    verdict    : (n,) -1, 0, +1; NaN where there is none
    p_b        : (n,) probability of B; NaN where there is none
    """

    pair: IntArray
    first_is_a: BoolArray
    status: IntArray
    verdict: FloatArray
    p_b: FloatArray

    def at(self, rows: IntArray | BoolArray) -> "Presented":
        """Return some of the rows."""
        return Presented(*(getattr(self, field.name)[rows] for field in fields(self)))

    def asked(self) -> "Presented":
        """Return those that were asked."""
        return self.at(self.status != OPEN)

    def begins(self) -> BoolArray:
        """(n,) whether a row is the first of its pair."""
        return np.append(True, np.diff(self.pair) != 0)[: len(self.pair)]


NOTHING = Presented(*(np.empty(0, dtype=kind) for kind in (np.int64, bool, np.int64, float, float)))


@dataclass(frozen=True, eq=False)
class Judged:
    """A judge on one selection: a verdict per pair, every presentation that was asked, and the presentations' counts.

    If a judge is asked both orders, verdicts that disagree are a tie, or their probabilities are averaged, by the judge's
    settings; a pair that lacks one of the two has no verdict (NaN), and `rated.first_is_a` has no meaning: use `shown`.
    Only the first repeat of the plain question counts: the others measure a judge's stability, and would give a pair
    more weight here.

    counts : asked = parsed + unparsed + refused + errors; and pending
    """

    rated: RatedPairs
    shown: RatedPairs
    counts: dict[str, int]


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


def judgments(selection: Selection, judge: Judge | JudgeRun, *, question: int = MAIN) -> Judged:
    """Return a judge's answers on a selection, from all its runs on the study.

    A run stands for its judge; of several runs the latest outcome of a presentation counts.
    """
    judge, one = judge.judge if isinstance(judge, JudgeRun) else judge, selection.configuration
    rows = _rows(one.study, question).filter(run__judge=judge, pair__matchup__in=one.matchups().order_by())
    return _judged([selection], judge, _presented(rows, [judge]).get(judge.pk, NOTHING))[0]


def judgments_on_each(
    study: Study, selections: Sequence[Selection], judges: Sequence[Judge], *, question: int = MAIN
) -> list[list[Judged]]:
    """Return the answers of each judge on each selection of a study, as `judgments` would."""
    found = _presented(_rows(study, question).filter(run__judge__in=judges), judges)
    return [_judged(selections, judge, found.get(judge.pk, NOTHING)) for judge in judges]


def verdicts_by_pair(study: Study, judge: Judge, *, dataset: str = "", question: int = MAIN) -> dict[int, int | None]:
    """Return a judge's verdict, or `None`, on each pair of a study that it was asked about.

    By the rules of `Judged`; over all configurations, or those of one data set.
    """
    rows = _rows(study, question).filter(run__judge=judge)
    if dataset:
        rows = rows.filter(pair__matchup__instance__dataset=dataset)
    asked = _presented(rows, [judge]).get(judge.pk, NOTHING).asked()
    pairs = asked.pair[asked.begins()].tolist()
    verdicts = _one_verdict_each(asked, judge).tolist()
    return {pair: None if np.isnan(verdict) else int(verdict) for pair, verdict in zip(pairs, verdicts, strict=True)}


def _rows(study: Study, question: int) -> QuerySet[Judgment]:
    """Return the first repeats of the plain presentations."""
    return Judgment.objects.of_question(question).filter(run__study=study, repeat=0, negated=False)


def _presented(rows: QuerySet[Judgment], judges: Iterable[Judge]) -> dict[int, Presented]:
    """Read presentations, by judge; of each the latest run's outcome, which an open cell doesn't replace.

    Probabilities are read where they decide a verdict of one of these judges.
    """
    status = code_of({code: Q(status=one) for code, one in enumerate(STATUSES)})
    p_b = "p_b" if any(map(_averages, judges)) else Value(None, SmallIntegerField())
    run, pair, is_a, code, verdict, probability = number_columns(
        rows.order_by(),
        *("run_id", "pair_id", code_of({1: Q(order=Judgment.Order.AB)}), status, "verdict", p_b),
    )
    runs, place = groups(run.astype(np.int64))
    found = JudgeRun.objects.filter(pk__in=runs.tolist()).order_by("created_at", "pk").values_list("pk", "judge_id")
    age = {pk: (number, judge_id) for number, (pk, judge_id) in enumerate(found)}
    age_of_run, judge_of_run = np.array([age.get(pk, GONE) for pk in runs.tolist()], dtype=np.int64).reshape(-1, 2).T
    judge = judge_of_run[place]
    order = np.lexsort((age_of_run[place], code != OPEN, 1 - is_a, pair, judge))
    last = np.append(np.diff(np.stack([judge, pair, is_a])[:, order]).any(axis=0), True)[: len(order)]
    latest = order[last]
    whose = judge[latest]
    everything = Presented(pair.astype(np.int64), is_a > 0, code.astype(np.int64), verdict, probability)
    return {int(one): everything.at(latest[whose == one]) for one in np.unique(whose).tolist()}


def _judged(selections: Sequence[Selection], judge: Judge, presented: Presented) -> list[Judged]:
    found = []
    for selection, each in zip(selections, rows_on_each(selections, presented.pair), strict=True):
        rows = each.selected()
        rows = rows.among(np.lexsort((rows.index, rows.instance)))
        here = presented.at(rows.at)
        begins, asked = here.begins(), here.status != OPEN
        counts = np.bincount(here.status, minlength=len(STATUSES)).tolist()
        found.append(
            Judged(
                _rated(selection, judge, rows.among(begins), _one_verdict_each(here, judge), here.first_is_a[begins]),
                _rated(selection, judge, rows.among(asked), here.verdict[asked], here.first_is_a[asked]),
                {"asked": int(asked.sum()), **{name: counts[STATUSES.index(one)] for one, name in COUNTED_AS.items()}},
            )
        )
    return found


def _rated(selection: Selection, judge: Judge, rows: Rows, verdict: FloatArray, first_is_a: BoolArray) -> RatedPairs:
    unknown = np.full(len(verdict), np.nan)
    return RatedPairs(
        outcomes_on(rows, verdict, np.zeros(len(verdict), dtype=np.int64)),
        first_is_a=first_is_a,
        raters=(f"judge:{judge.name}",) if len(verdict) else (),
        chance=selection.chance[rows.instance],
        seconds=unknown,
        shown=unknown,
        strength=unknown,
        tie_kind=np.zeros(len(verdict), dtype=np.int64),
    )


def _averages(judge: Judge) -> bool:
    """Tell whether a judge's verdict is its mean probability over both orders."""
    return judge.order == Judge.OrderPolicy.BOTH and judge.combine == Judge.Combine.PROBABILITY


def _one_verdict_each(here: Presented, judge: Judge) -> FloatArray:
    """Combine each pair's presentations, in one or both orders, into a verdict; NaN where one is missing."""
    first = np.flatnonzero(here.begins())
    in_both = np.append(np.diff(first), len(here.pair) - first[-1:]) == 2
    second = np.where(in_both, first + 1, first)
    if _averages(judge):
        p_b = np.where(here.status == PARSED_CODE, here.p_b, np.nan)
        return averaged_verdict(np.where(in_both, p_b[first], np.nan), np.where(in_both, p_b[second], np.nan))
    one, other = here.verdict[first], here.verdict[second]
    missing = np.isnan(one) | np.isnan(other) | (~in_both if judge.order == Judge.OrderPolicy.BOTH else False)
    return np.where(missing, np.nan, np.where(one == other, one, float(Verdict.TIE)))


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


RECORDS = {"run": "run_id", "pair": "pair_id"}  # primary keys, for rows that name their records


def judgment_rows(study: Study, more: Mapping[str, str] = MappingProxyType({})) -> Iterator[dict[str, Any]]:
    """Yield every presentation that was asked, in a stable order; unknown values are `None`.

    `question` is the key of the question, where the study asks several; else it is left out.
    Repeats and negated questions are separate rows; findings use repeat 0 of the plain question. `reason` says why there
    is no verdict. Tokens and milliseconds are summed over the completions behind a row, which rows may share. `cost` was
    paid for this row alone: the column sums to the total cost.

    more : `RECORDS`, or nothing
    """
    fields = {**FIELDS, **more}
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
        .values_list(*fields.values())
        .iterator(chunk_size=EXPORT_CHUNK)
    )
    while chunk := list(islice(stored, EXPORT_CHUNK)):
        found = [dict(zip(fields, values, strict=True)) for values in chunk]
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
