"""Tests between systems, over instances, and the win matrices that they rest on."""

import math
from typing import Any

import numpy as np

from analysis.intervals.analytic import MIN_FOR_STATISTIC, Spread, ratio_spread, two_sided_p_value
from analysis.ranking import Differences, preference_cycles, win_loss_sums
from analysis.ranking.elo import POINTS
from reporting.core.estimates import Basis, Estimate, mean_estimate, number
from reporting.findings.data.inputs import Filters
from reporting.findings.rankings.comparisons import RaterComparisons
from reporting.findings.rankings.ranking_models import TIES, Strengths
from reporting.findings.reasons import BY_PRIOR, NEVER_COMPARED, NOT_TESTED

TIE_IN_WIN_LOSS = "a tie is a verdict without a winner"


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

    A difference rests on all verdicts of the group, its `n`, and Student's t has as many instances as the system with
    fewer has, its `n_instances`; `met` counts what compares the two directly: nothing where they never met. Intervals are not adjusted; `adjusted` p-values are, by Holm's method over the `of` pairs tested.
    """
    about, tests, level = strengths.comparisons, strengths.tests, filters.intervals.level
    low, high = tests.interval(level)
    instances, fit = about.instances, strengths.fit
    found = []
    for row, (one, other) in enumerate(zip(tests.first.tolist(), tests.second.tolist(), strict=True)):
        tested, prior = not math.isnan(tests.p_value[row]), bool(fit.by_prior[one])
        why = NOT_TESTED.with_values(least=MIN_FOR_STATISTIC) if not tested else BY_PRIOR if prior else None
        limits = (math.nan, math.nan) if why else (POINTS * low[row], POINTS * high[row])
        difference: Estimate = {
            "value": number(POINTS * tests.value[row]),
            "low": number(limits[0]),
            "high": number(limits[1]),
            "n": int(about.compared[about.component == about.component[one]].sum()) // 2,
            "of": "verdicts",
            "n_instances": int(min(instances[one], instances[other])),
            "level": level,
            "tie_rule": TIES[filters.ties],
            "excluded": about.excluded,
            "strength": number(tests.value[row]),
            **(why.as_json() if why else {}),
        }
        p_values = (float(tests.p_value[row]), float(tests.adjusted[row]))
        met = {"verdicts": int(about.matrix.played[one, other]), "instances": int(about.met_on[one, other])}
        found.append({**_test(about, "bradley_terry", (one, other), difference, p_values, tests.tested), "met": met})
    return found


def win_loss_spread(about: RaterComparisons, filters: Filters) -> Spread:
    """Return the win-loss rate of the first of two systems with its standard error."""
    rater = about.outcomes.rater if filters.two_way else None
    return ratio_spread(win_loss_sums(about.outcomes, 0), about.outcomes.instance, rater)


def difference_of_two(about: RaterComparisons, filters: Filters) -> Differences:
    """Return the test of the win-loss rate of the first of two systems against 0, as the ranks take it.

    It is the test that the intervals of both rates imply: they leave out one half, or 0, where it is significant.
    """
    spread = win_loss_spread(about, filters)
    p_value = np.full(min(len(about.outcomes), 1), two_sided_p_value(spread))
    rows = np.zeros(len(p_value), dtype=np.int64)
    value, error = (np.full(len(rows), one) for one in (spread.value, spread.error))
    return Differences(rows, rows + 1, value, error, rows + spread.clusters - 1, p_value, p_value)


def win_loss_test(about: RaterComparisons, filters: Filters) -> dict[str, Any]:
    """Return the same test with the difference: the win-loss rate of the first of two systems, with its interval."""
    outcomes, basis = (
        about.outcomes,
        Basis(len(about.outcomes), "verdicts", TIE_IN_WIN_LOSS, about.excluded, NEVER_COMPARED),
    )
    rows = win_loss_sums(outcomes, 0)
    difference = mean_estimate(rows, outcomes.instance, basis, filters.intervals, floor=-1, rater=outcomes.rater)
    p_value = two_sided_p_value(win_loss_spread(about, filters))
    return _test(about, "win_loss_rate", (0, 1), difference, (p_value, p_value), of=int(not math.isnan(p_value)))


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
