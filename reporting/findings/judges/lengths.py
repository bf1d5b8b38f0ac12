"""Win rates at equal lengths, of people and of each judge."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.bootstrap import mean_rows
from analysis.jackknife import Bounds
from analysis.length_adjusted import MIN_INSTANCES, RIDGE, length_adjusted_win_rate
from analysis.types import FloatArray
from reporting.core.estimates import Basis, IntervalSettings, estimate_with_bounds, mean_estimate, number
from reporting.core.raters import Rater
from reporting.findings.data.inputs import ConfigurationData, Filters
from reporting.findings.pooled.pooled import raters_by_name

TIE_IS_HALF = "a tie is half a win"
NO_VERDICT = "no verdict on a pair"
ONE_DIFFERENCE = "all pairs have one and the same difference in length, which is not nought"


def length_adjusted(everything: Sequence[ConfigurationData], filters: Filters) -> list[dict[str, Any]]:
    """Return per rater A's win rate in each configuration as it is and at equal lengths, and what length adds."""
    return [
        {
            "rater": name,
            "kind": found[0][1].kind,
            "ridge": RIDGE,
            "configurations": [_configuration(everything[place], rater, filters.intervals) for place, rater in found],
        }
        for name, found in raters_by_name(everything).items()
    ]


def _configuration(data: ConfigurationData, rater: Rater, settings: IntervalSettings) -> dict[str, Any]:
    outcomes = rater.rated.outcomes
    lengths = _lengths(data, rater)
    known = ~np.isnan(outcomes.verdict) & ~np.isnan(lengths[0])
    towards_a, instance = -outcomes.verdict[known], outcomes.instance[known]
    length_a, length_b = (one[known] for one in lengths)
    found = length_adjusted_win_rate(towards_a, length_a - length_b, instance, level=settings.level)
    left_out = len(known) - found.n
    basis = Basis(found.n, "verdicts", TIE_IS_HALF, left_out, ONE_DIFFERENCE if found.n else NO_VERDICT)
    bounds = Bounds(found.low, found.high, settings.level, found.n_instances)
    return {
        "dataset": data.dataset,
        "system_a": data.systems[0],
        "system_b": data.systems[1],
        "win_rate_a": estimate_with_bounds(
            found.win_rate, bounds, basis, settings, found.n_instances, least=MIN_INSTANCES
        ),
        "plain": mean_estimate(mean_rows((1 + towards_a) / 2), instance, basis, settings),
        "length_effect": number(found.length_effect),
        "length_effect_low": number(found.effect_low),
        "length_effect_high": number(found.effect_high),
        "mean_length_a": number(length_a.mean()) if found.n else None,
        "mean_length_b": number(length_b.mean()) if found.n else None,
    }


def _lengths(data: ConfigurationData, rater: Rater) -> tuple[FloatArray, FloatArray]:
    """Return the lengths of A's and of B's text in characters for each verdict."""
    pairs, outcomes = data.selection.pairs, rater.rated.outcomes
    width = 1 + max(int(pairs.index.max(initial=0)), int(outcomes.pair.max(initial=0)))
    table = np.full((2, len(data.selection.instance_ids) * width), np.nan)
    table[:, pairs.instance * width + pairs.index] = pairs.length_a, pairs.length_b
    at = outcomes.instance * width + outcomes.pair
    return table[0, at], table[1, at]
