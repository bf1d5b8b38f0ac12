"""Models → arrays: every answer of a judge, people's votes, and what both are compared with."""

import numpy as np

from analysis.types import FloatArray
from annotation.core.database.columns import number_columns
from annotation.models import Instance, Pair, Study
from annotation.studies.instances import instance_clusters
from judging.models import Judge, Judgment
from judging.outcomes.judgments import verdicts_by_pair
from judging.outcomes.tuned import tuned_pairs
from reporting.logic.preferences import Chosen, read_preferences, read_texts
from reporting.logic.presentations import (
    Presentations,
    Target,
    TextPairs,
    gold_target,
    judge_presentations,
    majority_target,
)

PENDING = Judgment.Status.PENDING


def read_text_pairs(study: Study) -> TextPairs:
    """Read the texts of a study and which pairs they make."""
    pairs = Pair.objects.filter(matchup__instance__study=study).order_by("pk")
    pair, a, b = number_columns(pairs, "pk", "generation_a_id", "generation_b_id").astype(np.int64)
    dataset = dict(Instance.objects.filter(study=study).values_list("pk", "dataset"))
    clusters = instance_clusters(study)
    return TextPairs(read_texts(study), dataset, pair, a, b, clusters and clusters.by_key)


def read_votes(study: Study, *, question: int = 0) -> FloatArray:
    """Read people's first votes, as `people_presentations` takes them."""
    preferences = read_preferences(study, Chosen(question=question))
    return np.column_stack(
        [
            preferences.generation[preferences.first],
            preferences.generation[preferences.second],
            preferences.verdict,
            preferences.sided,
        ]
    )


def read_gold(study: Study) -> Target:
    """Read the gold verdict of each pair that has one, by its two texts in both orders."""
    rows = Pair.objects.filter(matchup__instance__study=study, matchup__instance__gold__isnull=False).order_by()
    names = ("matchup__instance__gold", "matchup__system_a__name", "matchup__system_b__name")
    return gold_target(rows.values_list("generation_a_id", "generation_b_id", *names))


def targets(study: Study, *, question: int = 0) -> Target:
    """Return what judges are compared with: gold, else the majority of people's first votes, by two texts in order."""
    return majority_target(read_votes(study, question=question)) | read_gold(study)


def read_judge(pairs: TextPairs, study: Study, judge: Judge, target: Target, *, question: int = 0) -> Presentations:
    """Read all answers of a judge on a study."""
    stored = (
        Judgment.objects.for_question(question)
        .filter(run__judge=judge, run__study=study)
        .exclude(status=PENDING)
        .order_by("run__created_at", "run_id", "pk")
        .values_list("pair_id", "order", "repeat", "negated", "verdict", "p_b")
    )
    latest = {row[:4]: row[4:] for row in stored}
    if judge.is_jury:  # on pairs, which have no order: as if A were first
        verdicts = verdicts_by_pair(study, judge, question=question)
        latest = {(pair, Judgment.Order.AB, 0, False): (verdict, None) for pair, verdict in verdicts.items()}
    rows = [(pair, order == Judgment.Order.AB, *more, *statement) for (pair, order, *more), statement in latest.items()]
    answers = np.array(rows, dtype=np.float64).reshape(-1, 6)
    answers = answers[~np.isin(answers[:, 0], tuned_pairs(study, judge))]
    return judge_presentations(pairs, answers, target, ordered=not judge.is_jury)
