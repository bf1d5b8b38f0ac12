"""Rows → arrays: judges' verdicts in the shape of people's."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models.functions import Length

from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.database.columns import number_columns
from annotation.models import Batch, Pair, Study
from annotation.questions.questions import MAIN
from annotation.studies.outcomes import ConfigurationRows, Selection, outcomes_on, rows_on_each
from annotation.studies.votes import RatedPairs
from judging.models import Judge, JudgeRun, Judgment
from judging.outcomes.presented import (
    COUNTED_AS,
    NOTHING,
    OPEN,
    PENDING,
    STATUSES,
    Presented,
    one_probability_each,
    one_verdict_each,
    presentations_of,
)


@dataclass(frozen=True, eq=False)
class Judged:
    """A judge on one selection: a verdict per pair, every presentation that was asked, and the presentations' counts.

    If a judge is asked both orders, verdicts that disagree are a tie, or their probabilities are averaged, by the judge's
    settings; a pair that lacks one of the two has no verdict (NaN), and `rated.first_is_a` has no meaning: use `shown`.
    Only the first repeat of the plain question counts: the others measure a judge's stability, and would give a pair
    more weight here.

    p_b    : probability of B on each pair of `rated`, of both orders the mean; NaN where there is none
    counts : asked = parsed + unparsed + refused + errors; and pending
    """

    rated: RatedPairs
    shown: RatedPairs
    p_b: FloatArray
    counts: dict[str, int]


def judges_of(study: Study, batches: Iterable[Batch] | None = None, *, question: int = MAIN) -> list[JudgeRun]:
    """Return the latest run of each judge that answers a question of the study, sorted by the judges' names.

    Judges that were only tried while another was tuned are left out.

    batches : only judges that ran on one of them, or on the whole study
    """
    runs = study.judge_runs.select_related("judge__endpoint", "judge__table_endpoint").order_by("created_at", "pk")
    batch_ids = None if batches is None else {batch.pk for batch in batches}
    latest = {
        run.judge_id: run
        for run in runs
        if question in run.questions
        and not run.judge.is_candidate
        and (batch_ids is None or run.batch_id is None or run.batch_id in batch_ids)
    }
    return sorted(latest.values(), key=lambda run: run.judge.name)


def judgments(selection: Selection, judge: Judge | JudgeRun, *, question: int = MAIN) -> Judged:
    """Return a judge's answers on a selection, from all its runs on the study.

    A run stands for its judge; of several runs the latest outcome of a presentation counts.
    """
    judge, configuration = judge.judge if isinstance(judge, JudgeRun) else judge, selection.configuration
    matchups = configuration.matchups().order_by()
    presented = presentations_of(configuration.study, [judge], question=question, among=matchups)
    return _judged([selection], [judge], presented)[0][0]


def judgments_on_each(
    study: Study, selections: Sequence[Selection], judges: Sequence[Judge], *, question: int = MAIN
) -> list[list[Judged]]:
    """Return the answers of each judge on each selection of a study, as `judgments` would."""
    presented = presentations_of(study, judges, question=question)
    return _judged(selections, judges, presented)


def verdicts_by_pair(study: Study, judge: Judge, *, dataset: str = "", question: int = MAIN) -> dict[int, int | None]:
    """Return a judge's verdict, or `None`, on each pair of a study that it was asked about.

    By the rules of `Judged`; over all configurations, or those of one data set.
    """
    presented = presentations_of(study, [judge], question=question).get(judge.pk, NOTHING)
    if dataset:
        pairs = Pair.objects.filter(matchup__instance__study=study, matchup__instance__dataset=dataset).order_by()
        presented = presented.at(np.isin(presented.pair, number_columns(pairs, "pk")[0]))
    answered = presented.asked()
    verdicts = zip(answered.pair[answered.begins()].tolist(), one_verdict_each(answered, judge).tolist(), strict=True)
    return {pair: None if np.isnan(verdict) else int(verdict) for pair, verdict in verdicts}


def jury_answers(study: Study, jury: Judge, *, question: int = MAIN) -> dict[int, tuple[str, int | None]]:
    """Return a jury's status and verdict on each pair asked of a member. It is an error if no member answered."""
    answered = presentations_of(study, [jury], question=question).get(jury.pk, NOTHING).asked()
    rows = zip(answered.pair.tolist(), answered.status.tolist(), answered.verdict.tolist(), strict=True)
    return {
        pair: (STATUSES[status].value, None if np.isnan(verdict) else int(verdict)) for pair, status, verdict in rows
    }


def _judged(
    selections: Sequence[Selection], judges: Sequence[Judge], presented: Mapping[int, Presented]
) -> list[list[Judged]]:
    of_judges = [presented.get(judge.pk, NOTHING) for judge in judges]
    on_each = rows_on_each(selections, *(of_judge.pair for of_judge in of_judges))
    return [
        [_judged_on(selection, judge, of_judge, rows) for selection, rows in zip(selections, rows_of, strict=True)]
        for judge, of_judge, rows_of in zip(judges, of_judges, on_each, strict=True)
    ]


def _judged_on(selection: Selection, judge: Judge, presented: Presented, each: ConfigurationRows) -> Judged:
    rows = each.selected()
    rows = rows.among(np.lexsort((rows.index, rows.instance)))
    of_pairs = presented.at(rows.at)
    begins, is_asked = of_pairs.begins(), of_pairs.status != OPEN
    counts = np.bincount(of_pairs.status, minlength=len(STATUSES)).tolist()
    by_status = {name: counts[STATUSES.index(status)] for status, name in COUNTED_AS.items()}
    verdict, first_is_a = one_verdict_each(of_pairs, judge), of_pairs.first_is_a
    return Judged(
        _rated(selection, judge, rows.among(begins), verdict, first_is_a[begins]),
        _rated(selection, judge, rows.among(is_asked), of_pairs.verdict[is_asked], first_is_a[is_asked]),
        one_probability_each(of_pairs, judge),
        {"asked": int(is_asked.sum()), **by_status},
    )


def _rated(
    selection: Selection, judge: Judge, rows: ConfigurationRows, verdict: FloatArray, first_is_a: BoolArray
) -> RatedPairs:
    unknown = np.full(len(verdict), np.nan)
    return RatedPairs(
        outcomes_on(rows, verdict, np.zeros(len(verdict), dtype=np.int64)),
        first_is_a=first_is_a.astype(np.float64),
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
    """Load the cells for a run's figures on a question, in two queries. A jury's pairs stand as cells with A first."""
    stored = run.judgments.for_question(question).exclude(status=PENDING).order_by()
    rows = list(stored.values_list("pair_id", "repeat", "negated", "order", "verdict"))
    pairs = Pair.objects.filter(pk__in=stored.values("pair_id")).order_by()
    if run.judge.is_jury:
        verdicts = verdicts_by_pair(run.study, run.judge, question=question)
        rows = [(pair, 0, False, Judgment.Order.AB, verdict) for pair, verdict in verdicts.items()]
        pairs = Pair.objects.filter(matchup__instance__study=run.study).order_by()
    lengths = {
        pk: values
        for pk, *values in pairs.values_list(
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
