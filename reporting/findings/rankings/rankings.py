"""Rankings of systems over all configurations, with people and with each judge."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from analysis.intervals.analytic import MIN_FOR_STATISTIC, ratio_spread, two_sided_p_value
from analysis.intervals.jackknife import MIN_CLUSTERS
from analysis.ranking.comparisons import (
    WinMatrix,
    grouped_win_matrices,
    matrix_win_loss_rates,
    matrix_win_rates,
    preference_cycles,
    win_loss_sums,
    win_sums,
)
from analysis.ranking.elo import POINTS
from analysis.ranking.spread import GROUPS, Differences, differences, jackknife_covariance, left_out_ratios
from analysis.types import FloatArray, Outcomes
from annotation.studies.votes import rows_of
from reporting.core.estimates import Basis, Estimate, exactly_tested, mean_estimate, number, value_estimate
from reporting.core.instance_selection import selection_note
from reporting.findings.data.inputs import ConfigurationData, Filters
from reporting.findings.data.vote_table import VoteTable
from reporting.findings.pooled.pooled import StudyScale
from reporting.findings.rankings.comparisons import RankBasis, RaterComparisons, comparisons_of_raters, ranking
from reporting.findings.rankings.ranking_models import (
    TIES,
    Strengths,
    bradley_terry_ranking,
    elo_and_weighted_rankings,
    fit_strengths,
)
from reporting.findings.reasons import BY_PRIOR, NEVER_COMPARED, not_tested

TIE_IN_WIN_LOSS = "a tie is a verdict without a winner"
OPPONENTS_CAUTION = "a rate depends on a system's opponents; where these differ, the order of rates is not a ranking"
Measure = tuple[
    str, str, float, Callable[[WinMatrix], FloatArray], Callable[[Outcomes, int], FloatArray]
]  # with its floor
MEASURES: tuple[Measure, ...] = (
    ("win_rate", "a tie is half a win", 0.0, matrix_win_rates, win_sums),
    ("win_loss_rate", TIE_IN_WIN_LOSS, -1.0, matrix_win_loss_rates, win_loss_sums),
)


def ranking_findings(
    everything: Sequence[ConfigurationData], votes: VoteTable, scale: StudyScale, filters: Filters
) -> dict[str, list[dict[str, Any]]]:
    """Return `rankings`, one per rater and measure, `win_matrices` and `system_tests`."""
    note = selection_note([row for data in everything for row in data.chosen])
    result: dict[str, list[dict[str, Any]]] = {"rankings": [], "win_matrices": [], "system_tests": []}
    comparisons = comparisons_of_raters(votes, scale, in_order=not filters.estimates_only)
    for comparison in comparisons:
        rankings = rate_rankings(comparison, filters)
        if len(comparison.names) > 2:
            strengths = fit_strengths(comparison, filters)
            rankings += [
                bradley_terry_ranking(strengths, filters),
                *elo_and_weighted_rankings(comparison, filters, scale.why),
            ]
            result["system_tests"] += [] if filters.estimates_only else strength_tests(strengths, filters)
        elif not filters.estimates_only:
            outcomes, rows = comparison.outcomes, win_loss_sums(comparison.outcomes, 0)
            basis = Basis(len(outcomes), "verdicts", TIE_IN_WIN_LOSS, comparison.excluded, NEVER_COMPARED)
            difference = mean_estimate(
                rows, outcomes.instance, basis, filters.intervals, floor=-1, rater=outcomes.rater, exact=True
            )
            p_value = float(max(difference_of_two(comparison, filters).p_value, default=math.nan))
            result["system_tests"].append(
                _test(
                    comparison, "win_loss_rate", (0, 1), difference, (p_value, p_value), of=int(not math.isnan(p_value))
                )
            )
        result["rankings"] += [{**item, "chosen_note": note} if note else item for item in rankings]
        matrix = comparison.matrix
        result["win_matrices"].append(
            {
                "rater": comparison.rater,
                "kind": comparison.kind,
                "systems": list(comparison.names),
                "wins": matrix.points.tolist(),
                "comparisons": matrix.played.astype(int).tolist(),
                "ties": matrix.tied.astype(int).tolist(),
                "cycles": [[comparison.names[code] for code in cycle] for cycle in preference_cycles(matrix)],
            }
        )
    return result


def rate_rankings(comparisons: RaterComparisons, filters: Filters) -> list[dict[str, Any]]:
    """Return the rankings by win rate and by win-loss rate, which has the same ranks: it is 2 (win rate) - 1."""
    value = matrix_win_rates(comparisons.matrix)
    if len(value) == 2 and not filters.estimates_only:
        tests = difference_of_two(comparisons, filters)
    else:
        tests = differences(
            value,
            _covariance(comparisons, filters),
            comparisons.clusters,
            comparisons.component,
            least=MIN_CLUSTERS,
            horizon=filters.horizon,
        )
    standing = RankBasis(value, comparisons.component, tests, MIN_CLUSTERS, met=comparisons.matrix.played)
    rankings = [
        ranking(comparisons, name, tie_rule, estimates, standing, filters.intervals)
        for (name, tie_rule, *_), estimates in zip(MEASURES, _rates(comparisons, filters), strict=True)
    ]
    return [{**row, **({"caution": OPPONENTS_CAUTION} if len(value) > 2 else {})} for row in rankings]


def _covariance(comparisons: RaterComparisons, filters: Filters) -> FloatArray:
    """Return the covariance of the win rates over instances, or NaN in a first pass."""
    n = len(comparisons.names)
    if filters.estimates_only:
        return np.full((n, n), np.nan)
    groups = np.unique(comparisons.cluster, return_inverse=True)[1] % GROUPS
    parts = grouped_win_matrices(*comparisons.columns, groups, n_systems=n)
    sums = np.stack([parts.points.sum(axis=2), parts.played.sum(axis=2)], axis=2)
    return jackknife_covariance(left_out_ratios(sums))


def _rates(comparisons: RaterComparisons, filters: Filters) -> list[list[dict[str, Any]]]:
    """Return the estimates of all systems by each of `MEASURES`."""
    outcomes, compared = comparisons.outcomes, comparisons.compared.tolist()
    values = [rate(comparisons.matrix).tolist() for *_, rate, _ in MEASURES]
    results: list[list[dict[str, Any]]] = [[] for _ in MEASURES]
    for system, n in enumerate(compared):
        met = outcomes
        if not filters.estimates_only:
            met = rows_of(outcomes, np.flatnonzero((outcomes.a == system) | (outcomes.b == system)))
        for estimates, of_systems, (_, tie_rule, floor, _, sums) in zip(results, values, MEASURES, strict=True):
            basis = Basis(n, "verdicts", tie_rule, comparisons.excluded, NEVER_COMPARED)
            estimates.append(
                value_estimate(of_systems[system], basis, filters.intervals, int(comparisons.instances[system]))
                if filters.estimates_only
                else mean_estimate(
                    sums(met, system),
                    met.instance,
                    basis,
                    filters.intervals,
                    floor=floor,
                    rater=met.rater,
                    exact=len(compared) == 2,
                )
            )
    return results


def strength_tests(strengths: Strengths, filters: Filters) -> list[dict[str, Any]]:
    """Return a test of the difference of Bradley-Terry strengths, on Elo's scale, for every two systems of one group.

    A difference rests on all verdicts of the group, its `n`, and Student's t has as many instances as the system with
    fewer has, its `n_instances`; `met` counts what compares the two directly: nothing where they never met. Intervals are not adjusted; `adjusted` p-values are, by Holm's method over the `of` pairs tested.
    """
    comparisons, tests, level = strengths.comparisons, strengths.tests, filters.intervals.level
    low, high = tests.interval(level)
    instances, clusters, fit = comparisons.instances, comparisons.clusters, strengths.fit
    results = []
    for row, (first, second) in enumerate(zip(tests.first.tolist(), tests.second.tolist(), strict=True)):
        tested, prior = not math.isnan(tests.p_value[row]), bool(fit.by_prior[first])
        of_both = [int(clusters[first]), int(clusters[second])]
        why = not_tested(of_both, MIN_FOR_STATISTIC) if not tested else BY_PRIOR if prior else None
        limits = (math.nan, math.nan) if why else (POINTS * low[row], POINTS * high[row])
        difference: Estimate = {
            "value": number(POINTS * tests.value[row]),
            "low": number(limits[0]),
            "high": number(limits[1]),
            "n": int(comparisons.compared[comparisons.component == comparisons.component[first]].sum()) // 2,
            "of": "verdicts",
            "n_instances": int(min(instances[first], instances[second])),
            **({} if filters.clusters is None else {"n_clusters": min(of_both)}),
            "level": level,
            "tie_rule": TIES[filters.ties],
            "excluded": comparisons.excluded,
            "strength": number(tests.value[row]),
            **(why.as_json() if why else {}),
        }
        p_values = (float(tests.p_value[row]), float(tests.adjusted[row]))
        met = {
            "verdicts": int(comparisons.matrix.played[first, second]),
            "instances": int(comparisons.met_on[first, second]),
        }
        results.append(
            {**_test(comparisons, "bradley_terry", (first, second), difference, p_values, tests.tested), "met": met}
        )
    return results


def difference_of_two(comparisons: RaterComparisons, filters: Filters) -> Differences:
    """Return the test of the win-loss rate of the first of two systems against 0, as the ranks take it.

    It is the test that the intervals of both rates imply: they leave out one half, or 0, where it is significant.
    """
    rows = win_loss_sums(comparisons.outcomes, 0)
    spread = ratio_spread(rows, comparisons.cluster, comparisons.outcomes.rater if filters.two_way else None)
    spread = exactly_tested(spread, rows, comparisons.cluster, 0.0)
    p_value = np.full(
        min(len(comparisons.outcomes), 1), filters.intervals.p_value_of(two_sided_p_value(spread), spread.clusters)
    )
    first = np.zeros(len(p_value), dtype=np.int64)
    value, error = (np.full(len(first), item) for item in (spread.value, spread.error))
    return Differences(first, first + 1, value, error, first + spread.clusters - 1, p_value, p_value)


def _test(
    comparisons: RaterComparisons,
    measure: str,
    systems: tuple[int, int],
    difference: Estimate,
    p_values: tuple[float, float],
    of: int,
) -> dict[str, Any]:
    return {
        "rater": comparisons.rater,
        "kind": comparisons.kind,
        "measure": measure,
        "system_a": comparisons.names[systems[0]],
        "system_b": comparisons.names[systems[1]],
        "difference": difference,
        "p_value": number(p_values[0]),
        "adjusted": number(p_values[1]),
        "adjustment": "Holm",
        "of": of,
    }
