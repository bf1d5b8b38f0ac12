"""Rows → arrays: judges' verdicts in the shape of people's; and rows for exports."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from types import MappingProxyType
from typing import Any

import numpy as np
from django.db.models.functions import Length

from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.database.columns import number_columns
from annotation.models import Batch, Pair, Study
from annotation.questions.questions import MAIN, Question
from annotation.studies.outcomes import ConfigurationRows, Selection, outcomes_on, rows_on_each
from annotation.studies.questions import named_questions
from annotation.studies.rated_pairs import RatedPairs
from judging.models import Judge, JudgeRun, Judgment
from judging.outcomes.presented import (
    COUNTED_AS,
    NOTHING,
    OPEN,
    PENDING,
    STATUSES,
    Presented,
    one_verdict_each,
    presentations_of,
)

EXPORT_CHUNK = 1000


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

    Judges that were only tried while another was tuned are left out.

    batches : only judges that ran on one of them, or on the whole study
    """
    runs = study.judge_runs.select_related("judge__endpoint", "judge__table_endpoint").order_by("created_at", "pk")
    wanted = None if batches is None else {batch.pk for batch in batches}
    latest = {
        run.judge_id: run
        for run in runs
        if question in run.questions
        and not run.judge.is_candidate
        and (wanted is None or run.batch_id is None or run.batch_id in wanted)
    }
    return sorted(latest.values(), key=lambda run: run.judge.name)


def judgments(selection: Selection, judge: Judge | JudgeRun, *, question: int = MAIN) -> Judged:
    """Return a judge's answers on a selection, from all its runs on the study.

    A run stands for its judge; of several runs the latest outcome of a presentation counts.
    """
    judge, one = judge.judge if isinstance(judge, JudgeRun) else judge, selection.configuration
    found = presentations_of(one.study, [judge], question=question, among=one.matchups().order_by())
    return _judged([selection], [judge], found)[0][0]


def judgments_on_each(
    study: Study, selections: Sequence[Selection], judges: Sequence[Judge], *, question: int = MAIN
) -> list[list[Judged]]:
    """Return the answers of each judge on each selection of a study, as `judgments` would."""
    found = presentations_of(study, judges, question=question)
    return _judged(selections, judges, found)


def verdicts_by_pair(study: Study, judge: Judge, *, dataset: str = "", question: int = MAIN) -> dict[int, int | None]:
    """Return a judge's verdict, or `None`, on each pair of a study that it was asked about.

    By the rules of `Judged`; over all configurations, or those of one data set.
    """
    presented = presentations_of(study, [judge], question=question).get(judge.pk, NOTHING)
    if dataset:
        here = Pair.objects.filter(matchup__instance__study=study, matchup__instance__dataset=dataset).order_by()
        presented = presented.at(np.isin(presented.pair, number_columns(here, "pk")[0]))
    asked = presented.asked()
    pairs = asked.pair[asked.begins()].tolist()
    verdicts = one_verdict_each(asked, judge).tolist()
    return {pair: None if np.isnan(verdict) else int(verdict) for pair, verdict in zip(pairs, verdicts, strict=True)}


def jury_answers(study: Study, jury: Judge, *, question: int = MAIN) -> dict[int, tuple[str, int | None]]:
    """Return a jury's status and verdict on each pair that a member was asked about; an error where no member has answered."""
    asked = presentations_of(study, [jury], question=question).get(jury.pk, NOTHING).asked()
    rows = zip(asked.pair.tolist(), asked.status.tolist(), asked.verdict.tolist(), strict=True)
    return {pair: (STATUSES[status].value, None if np.isnan(said) else int(said)) for pair, status, said in rows}


def _judged(
    selections: Sequence[Selection], judges: Sequence[Judge], presented: Mapping[int, Presented]
) -> list[list[Judged]]:
    given = [presented.get(judge.pk, NOTHING) for judge in judges]
    on_each = rows_on_each(selections, *(one.pair for one in given))
    return [_judged_by(selections, *rest) for rest in zip(judges, given, on_each, strict=True)]


def _judged_by(
    selections: Sequence[Selection], judge: Judge, presented: Presented, on_each: Sequence[ConfigurationRows]
) -> list[Judged]:
    found = []
    for selection, each in zip(selections, on_each, strict=True):
        rows = each.selected()
        rows = rows.among(np.lexsort((rows.index, rows.instance)))
        here = presented.at(rows.at)
        begins, asked = here.begins(), here.status != OPEN
        counts = np.bincount(here.status, minlength=len(STATUSES)).tolist()
        found.append(
            Judged(
                _rated(selection, judge, rows.among(begins), one_verdict_each(here, judge), here.first_is_a[begins]),
                _rated(selection, judge, rows.among(asked), here.verdict[asked], here.first_is_a[asked]),
                {"asked": int(asked.sum()), **{name: counts[STATUSES.index(one)] for one, name in COUNTED_AS.items()}},
            )
        )
    return found


def _rated(
    selection: Selection, judge: Judge, rows: ConfigurationRows, verdict: FloatArray, first_is_a: BoolArray
) -> RatedPairs:
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
    """Load the cells for a run's figures on a question, in two queries; a jury's pairs stand as cells with A first."""
    stored = run.judgments.of_question(question).exclude(status=PENDING).order_by()
    rows = list(stored.values_list("pair_id", "repeat", "negated", "order", "verdict"))
    pairs = Pair.objects.filter(pk__in=stored.values("pair_id")).order_by()
    if run.judge.is_jury:
        said = verdicts_by_pair(run.study, run.judge, question=question)
        rows = [(pair, 0, False, Judgment.Order.AB, verdict) for pair, verdict in said.items()]
        pairs = Pair.objects.filter(matchup__instance__study=run.study).order_by()
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


_PLACE = ("matchup__instance__position", "matchup__system_a__position", "matchup__system_b__position", "index")
RECORDS = {"run": "run_id", "pair": "pair_id"}  # primary keys, for rows that name their records


def judgment_rows(study: Study, more: Mapping[str, str] = MappingProxyType({})) -> Iterator[dict[str, Any]]:
    """Yield every presentation that was asked, in a stable order; unknown values are `None`.

    `question` is the key of the question, where the study asks several; else it is left out.
    Repeats and negated questions are separate rows; findings use repeat 0 of the plain question. `reason` says why there
    is no verdict. Tokens and milliseconds are summed over the completions behind a row, which rows may share. `cost` was
    paid for this row alone: the column sums to the total cost. A jury has a row for each pair, without an order, made of its
    members' when it is read.

    more : `RECORDS`, or nothing
    """
    fields = {**FIELDS, **more}
    asked = named_questions(study)
    stored = (
        Judgment.objects.of_every_question()
        .filter(run__study=study)
        .exclude(status=PENDING)
        .order_by(
            *("run__judge__name", "run_id"),
            *(f"pair__{name}" for name in _PLACE),
            *("order", "repeat", "negated", "question"),
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
    yield from _jury_rows(study, fields, asked)


def _jury_rows(study: Study, fields: Mapping[str, str], asked: Mapping[int, Question]) -> Iterator[dict[str, Any]]:
    """Yield the rows of juries: one for each pair that a member was asked about, without an order."""
    runs = study.judge_runs.filter(judge__method=Judge.JURY).select_related("judge").order_by("judge__name", "pk")
    places = [name for name, path in fields.items() if path.startswith("pair")]
    for run, number in ((one, number) for one in runs for number in one.questions):
        said = jury_answers(study, run.judge, question=number)
        stored = Pair.objects.filter(matchup__instance__study=study).order_by(*_PLACE)
        paths = [fields[name].removeprefix("pair__").replace("pair_id", "pk") for name in places]
        for pk, *values in stored.values_list("pk", *paths).iterator(chunk_size=EXPORT_CHUNK):
            if pk in said:
                status, verdict = said[pk]
                row = {
                    **dict.fromkeys(fields),
                    **dict(zip(places, values, strict=True)),
                    **({"run": run.pk} if "run" in fields else {}),
                    "study": study.slug,
                    "judge": run.judge.name,
                    "method": run.judge.method,
                    "params": run.judge.params,
                    "software_version": run.software_version,
                    **dict.fromkeys(("rationale", "prompt_version", "order"), ""),
                    "repeat": 0,
                    "negated": False,
                    "calls": 0,
                    "rating": verdict,
                    "verdict": verdict,
                    "status": status,
                    "reason": "" if verdict is not None else "no member has a verdict",
                }
                named = {"question": asked[number].key} if asked else {}
                del row["id"], row["question"]
                yield {**_export_row(row, []), "shown_first": "", **named}


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
