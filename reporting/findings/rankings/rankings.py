"""Rankings of systems over all configurations, with people and with each judge."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from analysis.intervals.jackknife import MIN_CLUSTERS
from analysis.ranking import (
    WinMatrix,
    differences,
    grouped_win_matrices,
    jackknife_covariance,
    left_out_ratios,
    matrix_win_loss_rates,
    matrix_win_rates,
    win_loss_sums,
    win_sums,
)
from analysis.ranking.spread import GROUPS
from analysis.types import FloatArray, Outcomes
from annotation.studies.rated_pairs import rows_of
from reporting.core.estimates import Basis, mean_estimate, value_estimate
from reporting.core.instance_selection import selection_note
from reporting.findings.data.inputs import ConfigurationData, Filters
from reporting.findings.pooled.study_scale import StudyScale
from reporting.findings.pooled.vote_table import VoteTable
from reporting.findings.rankings.comparisons import RaterComparisons, comparisons_of_raters
from reporting.findings.rankings.ranked import RankBasis, ranking
from reporting.findings.rankings.ranking_models import (
    bradley_terry_ranking,
    elo_and_weighted_rankings,
    fit_strengths,
)
from reporting.findings.rankings.system_tests import (
    TIE_IN_WIN_LOSS,
    difference_of_two,
    matrix_of_wins,
    strength_tests,
    win_loss_test,
)
from reporting.findings.reasons import NEVER_COMPARED

OPPONENTS_CAUTION = (
    "a rate counts the systems that a system met, and how often: with other opponents it would be another one. Where "
    "systems met unequally, the order of their rates is no ranking"
)
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
    found: dict[str, list[dict[str, Any]]] = {"rankings": [], "win_matrices": [], "system_tests": []}
    comparisons = comparisons_of_raters(votes, scale, in_order=not filters.estimates_only)
    for about in comparisons:
        rankings = rate_rankings(about, filters)
        if len(about.names) > 2:
            strengths = fit_strengths(about, filters)
            rankings += [
                bradley_terry_ranking(strengths, filters),
                *elo_and_weighted_rankings(about, filters, scale.why),
            ]
            found["system_tests"] += [] if filters.estimates_only else strength_tests(strengths, filters)
        elif not filters.estimates_only:
            found["system_tests"].append(win_loss_test(about, filters))
        found["rankings"] += [{**one, "chosen_note": note} if note else one for one in rankings]
        found["win_matrices"].append(matrix_of_wins(about))
    return found


def rate_rankings(about: RaterComparisons, filters: Filters) -> list[dict[str, Any]]:
    """Return the rankings by win rate and by win-loss rate, which has the same ranks: it is 2 (win rate) - 1."""
    value = matrix_win_rates(about.matrix)
    if len(value) == 2 and not filters.estimates_only:
        tests = difference_of_two(about, filters)
    else:
        tests = differences(value, _covariance(about, filters), about.instances, about.component, least=MIN_CLUSTERS)
    standing = RankBasis(value, about.component, tests, MIN_CLUSTERS, met=about.matrix.played)
    rankings = [
        ranking(about, name, tie_rule, estimates, standing, filters.intervals)
        for (name, tie_rule, *_), estimates in zip(MEASURES, _rates(about, filters), strict=True)
    ]
    return [{**one, **({"caution": OPPONENTS_CAUTION} if len(value) > 2 else {})} for one in rankings]


def _covariance(about: RaterComparisons, filters: Filters) -> FloatArray:
    """Return the covariance of the win rates over instances; NaN in a first pass."""
    n = len(about.names)
    if filters.estimates_only:
        return np.full((n, n), np.nan)
    groups = np.unique(about.outcomes.instance, return_inverse=True)[1] % GROUPS
    parts = grouped_win_matrices(*about.columns, groups, n_systems=n)
    sums = np.stack([parts.points.sum(axis=2), parts.played.sum(axis=2)], axis=2)
    return jackknife_covariance(left_out_ratios(sums))


def _rates(about: RaterComparisons, filters: Filters) -> list[list[dict[str, Any]]]:
    """Return the estimates of all systems by each of `MEASURES`."""
    outcomes, compared = about.outcomes, about.compared.tolist()
    values = [rate(about.matrix).tolist() for *_, rate, _ in MEASURES]
    found: list[list[dict[str, Any]]] = [[] for _ in MEASURES]
    for system, n in enumerate(compared):
        met = outcomes
        if not filters.estimates_only:
            met = rows_of(outcomes, np.flatnonzero((outcomes.a == system) | (outcomes.b == system)))
        for estimates, of_systems, (_, tie_rule, floor, _, sums) in zip(found, values, MEASURES, strict=True):
            basis = Basis(n, "verdicts", tie_rule, about.excluded, NEVER_COMPARED)
            estimates.append(
                value_estimate(of_systems[system], basis, filters.intervals, int(about.instances[system]))
                if filters.estimates_only
                else mean_estimate(
                    sums(met, system), met.instance, basis, filters.intervals, floor=floor, rater=met.rater
                )
            )
    return found
