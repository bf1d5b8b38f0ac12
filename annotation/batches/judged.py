"""Instances by the verdicts of judges: those on which they disagree, and draws where they may be furthest from people."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.conf import settings
from django.db.models import Count, Max, Min, Q

from analysis.judges.prediction_powered import win_shares
from analysis.planning.active import ExpectedErrors, active_weights, expected_errors, judges_doubts, judges_shares
from analysis.planning.selection import Sample, choose_importance
from analysis.types import FloatArray, IntArray
from annotation.core.counting import counted
from annotation.core.database.columns import code_of, number_columns, places
from annotation.core.errors import InvalidSelection
from annotation.core.names import BASELINES
from annotation.models import Pair, SeparabilityRun
from annotation.questions.questions import MAIN
from annotation.separability.services import latest_run, require_run, separabilities
from annotation.studies.configurations import Configuration
from annotation.studies.outcomes import human_ratings, select
from annotation.studies.votes import first_votes, rows_of

FEATURES = ("doubt", "order", "jury", "separability")
ANSWERED = ("parsed", "unparsed", "refused")  # statuses of a judgment
_LISTED = 5


def disputed_matchups(configuration: Configuration) -> set[int]:
    """Return the matchups with a pair for which one judge prefers another text than another judge, or none.

    As in findings: a judge's verdicts that differ between orders are a tie, a pair that lacks one has none, and neither rules
    nor judges that were tried while tuning another count.
    """
    answers = Pair.objects.filter(
        matchup__in=configuration.matchups().order_by(),
        judgments__question=MAIN,
        judgments__negated=False,
        judgments__repeat=0,
        judgments__run__judge__tuned__candidate_of__isnull=True,
    ).order_by()
    verdict, judge = "judgments__verdict", "judgments__run__judge"
    orders = {
        name: Count("judgments__order", distinct=True, filter=condition)
        for name, condition in (("asked", None), ("answered", Q(judgments__verdict__isnull=False)))
    }
    rows = answers.values_list("matchup_id", "pk", judge, f"{judge}__method").annotate(
        least=Min(verdict), most=Max(verdict), **orders
    )
    preferences: dict[tuple[int, int], set[float]] = {}
    for matchup, pair, _judge, method, lowest, highest, requested, answered in rows:
        if requested == answered and method not in BASELINES:
            preferences.setdefault((matchup, pair), set()).add(lowest if lowest == highest else 0)
    return {matchup for (matchup, _pair), preferred in preferences.items() if len(preferred) > 1}


def choose_active(
    configuration: Configuration,
    matchup_ids: Sequence[int],
    instance_ids: Sequence[str],
    count: int,
    similarity: str | None,
    rng: np.random.Generator,
) -> tuple[Sample, dict[str, Any]]:
    """Draw instances of a pool, and return what their chances were made from.

    Judges are those that have answered on every instance of the pool; rules without a model don't count.
    Raises: InvalidSelection saying which judgments are missing; NotEnough.
    """
    run = require_run(configuration, similarity) if similarity else latest_run(configuration)
    rated = select(configuration)
    votes = human_ratings(rated).outcomes
    votes = rows_of(votes, first_votes(votes))
    shares = win_shares(votes.verdict, votes.instance, len(rated.matchup_ids))
    earlier = np.flatnonzero(~np.isnan(shares))
    every = np.append(np.array(matchup_ids, np.int64), np.array(rated.matchup_ids, np.int64)[earlier])
    people = np.append(np.full(len(matchup_ids), np.nan), shares[earlier])
    names, answers = _answers(configuration, every, instance_ids)
    doubts = judges_doubts(*answers, len(every))
    features = np.column_stack([doubts, _closeness(every, run)])
    errors = expected_errors(features, people, judges_shares(answers[0], *answers[4:], len(every)))
    sample = choose_importance(active_weights(errors.variance[: len(matchup_ids)]), count, rng)
    drawn = {instance_ids[index]: _numbers(features[index]) for index in sample.indices.tolist()}
    return sample, _record(names, run, errors, drawn)


def _answers(
    configuration: Configuration, matchups: IntArray, instance_ids: Sequence[str]
) -> tuple[list[str], tuple[IntArray, IntArray, IntArray, IntArray, FloatArray, FloatArray]]:
    """Return judges that answered on every instance, and the columns of their answers as `judges_doubts` takes them.

    instance_ids : of the first matchups, on which judges must have answered
    """
    runs = configuration.study.judge_runs.filter(judge__tuned__candidate_of__isnull=True).exclude(
        judge__method__in=BASELINES
    )
    judges = dict(runs.values_list("judge_id", "judge__name"))
    rows = Pair.objects.filter(
        matchup__in=configuration.matchups().order_by().values("pk"),
        judgments__run__in=list(runs.values_list("pk", flat=True)),
        judgments__question=MAIN,
        judgments__negated=False,
        judgments__status__in=ANSWERED,
    ).order_by()
    names = ("matchup_id", "pk", "judgments__run__judge_id", code_of({1: Q(judgments__order="ba")}))
    columns = number_columns(rows, *names, "judgments__verdict", "judgments__p_b")
    codes = columns[:4].astype(np.int64)
    by_key = np.argsort(matchups)
    row = places(matchups[by_key], codes[0])
    codes[0] = np.where(row >= 0, by_key[row], -1)
    missing = {
        judge: np.setdiff1d(np.arange(len(instance_ids)), codes[0][codes[2] == judge]).tolist() for judge in judges
    }
    complete = [judge for judge, places_missing in missing.items() if not places_missing]
    if not complete:
        raise InvalidSelection(_missing_judgments(configuration, judges, missing, instance_ids))
    used = (codes[0] >= 0) & np.isin(codes[2], complete)
    instance, pair, judge, order = codes[:, used]
    return sorted(judges[item] for item in complete), (instance, pair, judge, order, columns[4][used], columns[5][used])


def _missing_judgments(
    configuration: Configuration, judges: dict[int, str], missing: dict[int, list[int]], instance_ids: Sequence[str]
) -> str:
    """Say which judge is nearest to having rated everything, what it lacks, and how to get it."""
    command = f"{settings.COMMAND} run_judge {configuration.study.slug} --judge"
    if not judges:
        return (
            "This selection needs a language model as a judge, with a verdict on every instance; coin and longer don't "
            f"count. None has judged here: start one under Judges, or run {command} NAME"
        )
    judge = min(missing, key=lambda item: (len(missing[item]), judges[item]))
    listed = ", ".join(instance_ids[index] for index in missing[judge][:_LISTED])
    more = ", …" if len(missing[judge]) > _LISTED else ""
    return (
        f"This selection needs a judge's verdict on every instance of {configuration}; {judges[judge]} has none on "
        f"{len(missing[judge])} of {counted(len(instance_ids), 'instances')} ({listed}{more}); run: {command} {judges[judge]}"
    )


def _closeness(matchups: IntArray, run: SeparabilityRun | None) -> FloatArray:
    """Return how near the systems' texts are, from 0 for the most separable instance to 1; NaN where it is unknown."""
    if run is None:
        return np.full(len(matchups), np.nan)
    values = separabilities(matchups.tolist(), run)
    defined = values[~np.isnan(values)]
    if not defined.size or not np.ptp(defined):
        return np.full(len(matchups), np.nan)
    closeness: FloatArray = (defined.max() - values) / np.ptp(defined)
    return closeness


def _record(
    names: list[str], run: SeparabilityRun | None, errors: ExpectedErrors, drawn: dict[str, list[float | None]]
) -> dict[str, Any]:
    coefficient, shrinkage, *slopes = _numbers(np.array([errors.coefficient, errors.shrinkage, *errors.slopes]))
    return {
        "judges": names,
        "separability": None if run is None else run.label,
        "fitted_on": errors.fitted_on,
        "coefficient": coefficient,
        "shrinkage": shrinkage,
        "slopes": dict(zip(FEATURES, slopes, strict=True)),
        "features": FEATURES,
        "instances": drawn,
    }


def _numbers(values: FloatArray) -> list[float | None]:
    return [None if np.isnan(value) else round(value, 6) for value in values.tolist()]
