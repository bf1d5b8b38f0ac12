"""Judges as raters of one configuration, in the same form as people."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from analysis.types import IntArray
from annotation.models import Study
from annotation.questions.questions import MAIN
from annotation.studies.outcomes import Selection
from judging.models import Judge, JudgeRun
from judging.outcomes.judgments import Judged, judgments
from reporting.core.raters import PEOPLE, JudgeRater, Positions, rater
from reporting.core.text import JUDGE
from reporting.core.votes import by_position


def judge_raters(selection: Selection, runs: Sequence[JudgeRun], *, question: int = MAIN) -> tuple[JudgeRater, ...]:
    """Read the answers of each run's judge to a question on a selection. A pair whose calls failed has none.

    A judge that was asked the question on none of these pairs is left out.
    """
    judged_by = ((run.judge, judgments(selection, run, question=question)) for run in runs)
    return raters_of_judges(selection, judged_by)


def raters_of_judges(
    selection: Selection, judged_by: Iterable[tuple[Judge, Judged]], *, with_incomplete: bool = False
) -> tuple[JudgeRater, ...]:
    """Return judges as raters of a selection, without those that were asked nothing."""
    pairs = selection.pairs_by_instance()
    return tuple(
        _judge_rater(judge, judged, pairs, with_incomplete=with_incomplete)
        for judge, judged in judged_by
        if judged.counts["asked"] or judged.counts["pending"]
    )


def _judge_rater(judge: Judge, judged: Judged, pairs: IntArray, *, with_incomplete: bool) -> JudgeRater:
    # By presentation, not by pair: a judge asked in both orders that always prefers the first text has only ties by pair.
    # A jury's verdicts are on pairs, which have no order.
    rated, ordered = judged.shown, not judge.is_jury
    positions = Positions(
        rated.outcomes.instance[: None if ordered else 0],
        by_position(rated.outcomes.verdict, rated.first_is_a)[: None if ordered else 0],
    )
    name = f"judge:{judge.name}"
    judge_rater = rater(name, "judge", judged.rated, positions, {}, with_incomplete=with_incomplete, pairs=pairs)
    if not np.isnan(judged.p_b).all():
        judge_rater = replace(judge_rater, p_b=judged.p_b)
    return JudgeRater(judge_rater, judged.counts, judge.family)


def everyone_of(study: Study) -> list[str]:
    """Return the names of people and of all judges with a run on the study. Pictures give each name a look by this list."""
    return [PEOPLE, *sorted({f"{JUDGE}{name}" for name in study.judge_runs.values_list("judge__name", flat=True)})]
