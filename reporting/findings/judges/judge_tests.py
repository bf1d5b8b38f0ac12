"""Which of two judges agrees more with people: paired tests on the same votes."""

from itertools import combinations
from typing import Any

import numpy as np

from analysis.intervals.analytic import ratio_spread, two_sided_p_value
from analysis.intervals.bootstrap import mean_rows
from analysis.intervals.multiple_testing import holm
from reporting.core.estimates import Basis, mean_estimate, number
from reporting.findings.data.inputs import Filters
from reporting.findings.judges.judges_against_people import TIE_EQUALS_TIE
from reporting.findings.pooled.vote_table import VoteTable
from reporting.findings.reasons import NO_VOTES_BESIDE_BOTH


def judge_tests(votes: VoteTable, filters: Filters) -> list[dict[str, Any]]:
    """Return one test for every two judges of the difference between their agreement with people's votes.

    Intervals are not adjusted; `adjusted` p-values are, by Holm's method over the `of` pairs of judges tested.
    """
    given, settings = votes.votes, filters.intervals
    beside = {name: verdict[given.unit] for name, verdict in votes.judges.items()}
    equal = {name: np.where(np.isnan(one), np.nan, one == given.verdict) for name, one in beside.items()}
    found, p_values = [], []
    for one, other in combinations(equal, 2):
        gap = equal[one] - equal[other]
        known = ~np.isnan(gap)
        rows, instance, who = mean_rows(gap[known]), votes.instance[given.unit[known]], given.person[known]
        n = int(known.sum())
        basis = Basis(n, "ratings", TIE_EQUALS_TIE, len(gap) - n, NO_VOTES_BESIDE_BOTH)
        difference = mean_estimate(rows, instance, basis, settings, floor=-1.0, rater=who)
        spread = ratio_spread(rows, instance, who if settings.two_way else None)
        p_values.append(two_sided_p_value(spread))
        found.append(
            {"judge_a": one.removeprefix("judge:"), "judge_b": other.removeprefix("judge:"), "difference": difference}
        )
    adjusted, tested = holm(p_values), int((~np.isnan(p_values)).sum()) if p_values else 0
    return [
        {**test, "p_value": number(raw), "adjusted": number(held), "adjustment": "Holm", "of": tested}
        for test, raw, held in zip(found, p_values, adjusted.tolist(), strict=True)
    ]
