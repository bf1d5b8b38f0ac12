"""Tests between systems, paired over instances, and the win matrices that they rest on."""

import math
from typing import Any

from analysis.bootstrap import mean_rows
from analysis.intervals import MIN_FOR_STATISTIC, ratio_spread, two_sided_p_value
from analysis.jackknife import MIN_CLUSTERS
from analysis.ranking import preference_cycles
from analysis.ranking.elo import POINTS
from analysis.types import FloatArray, IntArray
from reporting.core.estimates import Basis, Estimate, mean_estimate, number
from reporting.findings.configurations.rater_findings import TIE_IN_STRENGTH
from reporting.findings.data.inputs import Filters
from reporting.findings.rankings.comparisons import RaterComparisons
from reporting.findings.rankings.ranked import NEVER_COMPARED, NOT_TESTED
from reporting.findings.rankings.ranking_models import BY_PRIOR, TIES, Strengths


def matrix_of_wins(about: RaterComparisons) -> dict[str, Any]:
    """Return wins with ties as half, comparisons and ties of each system against each other one, and cycles."""
    matrix = about.matrix
    return {
        "rater": about.rater,
        "kind": about.kind,
        "systems": list(about.names),
        "wins": matrix.points.tolist(),
        "comparisons": matrix.played.astype(int).tolist(),
        "ties": matrix.tied.astype(int).tolist(),
        "cycles": [[about.names[code] for code in cycle] for cycle in preference_cycles(matrix)],
    }


def strength_tests(strengths: Strengths, filters: Filters) -> list[dict[str, Any]]:
    """Return a test of the difference of Bradley-Terry strengths, on Elo's scale, for every two systems of one group.

    Intervals are not adjusted; `adjusted` p-values are, by Holm's method over the `of` pairs tested.
    """
    about, tests, level = strengths.comparisons, strengths.tests, filters.intervals.level
    low, high = tests.interval(level)
    instances, fit = about.instances, strengths.fit
    found = []
    for row, (one, other) in enumerate(zip(tests.first.tolist(), tests.second.tolist(), strict=True)):
        tested, prior = not math.isnan(tests.p_value[row]), bool(fit.by_prior[one])
        why = NOT_TESTED.format(least=MIN_FOR_STATISTIC) if not tested else BY_PRIOR if prior else ""
        limits = (math.nan, math.nan) if why else (POINTS * low[row], POINTS * high[row])
        difference: Estimate = {
            "value": number(POINTS * tests.value[row]),
            "low": number(limits[0]),
            "high": number(limits[1]),
            "n": len(about.outcomes),
            "of": "comparisons",
            "n_instances": int(min(instances[one], instances[other])),
            "level": level,
            "tie_rule": TIES[filters.ties],
            "excluded": about.excluded,
            "strength": number(tests.value[row]),
            **({"why": why} if why else {}),
        }
        p_values = (float(tests.p_value[row]), float(tests.adjusted[row]))
        found.append(_test(about, "bradley_terry", (one, other), difference, p_values, tests.tested))
    return found


def preference_test(
    about: RaterComparisons, towards_first: FloatArray, instance: IntArray, left_out: int, filters: Filters
) -> dict[str, Any]:
    """Return the test of the mean preference strength of rating sets against 0, where there are only two systems.

    towards_first : (n_sets,) preference strengths, above 0 where the first of the names is preferred
    instance      : (n_sets,) study-wide codes; left_out : rating sets that are not in use
    """
    spread = ratio_spread(mean_rows(towards_first), instance)
    basis = Basis(len(towards_first), "rating sets", TIE_IN_STRENGTH, left_out, NEVER_COMPARED)
    difference = mean_estimate(mean_rows(towards_first), instance, basis, filters.intervals, floor=-1)
    tested = spread.instances >= MIN_CLUSTERS
    p_value = two_sided_p_value(spread)
    return _test(about, "preference_strength", (0, 1), difference, (p_value, p_value), of=int(tested))


def _test(
    about: RaterComparisons,
    measure: str,
    systems: tuple[int, int],
    difference: Estimate,
    p_values: tuple[float, float],
    of: int,
) -> dict[str, Any]:
    return {
        "rater": about.rater,
        "kind": about.kind,
        "measure": measure,
        "system_a": about.names[systems[0]],
        "system_b": about.names[systems[1]],
        "difference": difference,
        "p_value": number(p_values[0]),
        "adjusted": number(p_values[1]),
        "adjustment": "Holm",
        "of": of,
    }
