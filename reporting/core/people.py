"""People and judges as raters, and the people who are programs or have left."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256

import numpy as np
from django.db.models import Count, Q, QuerySet

from analysis.types import IntArray
from annotation.models import Annotator, Assignment, Batch, Rating, Study
from annotation.questions.questions import MAIN
from annotation.studies.outcomes import Answers, Selection, human_answers
from judging.models import Judge, JudgeRun
from judging.outcomes.judgments import Judged, judgments
from reporting.core.raters import PEOPLE, Positions, Rater, by_position, rater
from reporting.core.text import JUDGE


def people_rater(
    selection: Selection,
    batches: Iterable[Batch] | None,
    *,
    stage: str = "first",
    question: int = MAIN,
) -> Rater:
    """Read people's counted answers to a question on a selection."""
    answers = human_answers(selection, batches, stage=stage, question=question)
    return rater_of_people(answers)


def rater_of_people(answers: Answers, *, with_incomplete: bool = False) -> Rater:
    """Return people as a rater, from their answers on a selection."""
    outcomes = answers.rated.outcomes
    positions = Positions(outcomes.instance, by_position(outcomes.verdict, answers.rated.first_is_a), outcomes.rater)
    return rater(PEOPLE, "person", answers.rated, positions, answers.exclusions, with_incomplete=with_incomplete)


def count_exclusions(ratings: QuerySet[Rating], batches: Iterable[Batch] | None) -> dict[str, int]:
    """Count the excluded ratings in these batches by the reasons of `annotation.studies.votes.EXCLUSIONS`."""
    if batches is not None:
        ratings = ratings.filter(display__assignment__hit__batch__in=list(batches))
    reasons = {
        "withdrawn": Q(display__assignment__annotator__withdrawn_at__isnull=False),
        "check": ~Q(display__assignment__purpose=Assignment.Purpose.RATING),
        "excluded": Q(display__assignment__excluded=True) | Q(display__assignment__annotator__excluded=True),
        "not_submitted": ~Q(display__assignment__state=Assignment.State.SUBMITTED),
        "surplus": Q(display__assignment__slot__isnull=True),
    }
    counts, before = {}, Q()
    for name, reason in reasons.items():
        counts[name] = Count("pk", filter=before & reason)
        before &= ~reason
    return ratings.aggregate(**counts)


def scripted_codes(study: Study) -> set[str]:
    """Return the codes of annotators that are programs."""
    return set(study.annotators.filter(kind=Annotator.Kind.SCRIPTED).values_list("code", flat=True))


def departures(study: Study) -> str:
    """Return a digest of the raters who withdrew or were erased, whom no result that is kept may show."""
    has_left = Q(withdrawn_at__isnull=False) | Q(erased_at__isnull=False)
    raters = Annotator.objects.filter(has_left, study=study).order_by("pk")
    return sha256(repr(list(raters.values_list("pk", "withdrawn_at", "erased_at"))).encode()).hexdigest()[:32]


def judge_raters(selection: Selection, runs: Sequence[JudgeRun], *, question: int = MAIN) -> tuple[Rater, ...]:
    """Read the answers of each run's judge to a question on a selection. A pair whose calls failed has none.

    A judge that was asked the question on none of these pairs is left out.
    """
    judged_by = ((run.judge, judgments(selection, run, question=question)) for run in runs)
    return raters_of_judges(selection, judged_by)


def raters_of_judges(
    selection: Selection, judged_by: Iterable[tuple[Judge, Judged]], *, with_incomplete: bool = False
) -> tuple[Rater, ...]:
    """Return judges as raters of a selection, without those that were asked nothing."""
    pairs = selection.pairs_by_instance()
    return tuple(
        _judge_rater(judge, judged, pairs, with_incomplete=with_incomplete)
        for judge, judged in judged_by
        if judged.counts["asked"] or judged.counts["pending"]
    )


def _judge_rater(judge: Judge, judged: Judged, pairs: IntArray, *, with_incomplete: bool) -> Rater:
    # By presentation, not by pair: a judge asked in both orders that always prefers the first text has only ties by pair.
    # A jury's verdicts are on pairs, which have no order.
    rated, ordered = judged.shown, not judge.is_jury
    positions = Positions(
        rated.outcomes.instance[: None if ordered else 0],
        by_position(rated.outcomes.verdict, rated.first_is_a)[: None if ordered else 0],
    )
    name = f"judge:{judge.name}"
    judge_rater = rater(name, "judge", judged.rated, positions, {}, with_incomplete=with_incomplete, pairs=pairs)
    p_b = None if np.isnan(judged.p_b).all() else judged.p_b
    return replace(judge_rater, p_b=p_b, status=judged.counts, family=judge.family)


def everyone_of(study: Study) -> list[str]:
    """Return the names of people and of all judges with a run on the study. Pictures give each name a look by this list."""
    return [PEOPLE, *sorted({f"{JUDGE}{name}" for name in study.judge_runs.values_list("judge__name", flat=True)})]
