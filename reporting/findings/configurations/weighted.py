"""Findings on a rater weighted by inverse inclusion probabilities, where these are known.

Each rating set has the probability of its own HIT: an instance drawn for two batches has two probabilities, and its
sets on the two HITs have different weights.
"""

from typing import Any

import numpy as np

from analysis.intervals.bootstrap import mean_sums, ratio
from analysis.planning.weighting import effective_number, inverse_probability_weighted
from analysis.types import BoolArray, FloatArray
from reporting.core.estimates import Basis, Estimate, IntervalSettings, mean_estimate, number
from reporting.core.raters import Rater
from reporting.findings.configurations.rater_findings import TIE_IN_CONSISTENCY, TIE_IN_STRENGTH
from reporting.findings.reasons import CHANCE_UNKNOWN

TIE_IS_A_SHARE = "a tie is a verdict of its own"
TIE_IS_HALF = "a tie is half a win"
FLOORS = (0.0, -1.0, 0.0, 0.0, 0.0, 0.0)  # of consistency, preference strength, the shares and the win rate


def weighted_findings(rater: Rater, settings: IntervalSettings) -> dict[str, Any]:
    """Return `weighted`: ratio estimates, each with its unweighted value `as_drawn`; empty where no probability is known.

    Both are over the rating sets with a rating whose probability is known; means over sets are over those in use. An
    instance's weight is the mean of the weights of its sets.
    """
    rated = rater.every.present > 0
    known = rated & ~np.isnan(rater.chance)
    if not known.any():
        return {}
    chances, instance = rater.chance[known], rater.every.instance[known]
    of_instance = ratio(mean_sums(1 / chances, instance))
    left_out = int((rated & ~known).sum())
    return {
        "weighted": {
            "rating_sets": int((known & rater.in_use).sum()),
            "instances": len(of_instance),
            "rating_sets_left_out": left_out,
            **(CHANCE_UNKNOWN.as_json() if left_out else {}),
            "smallest_weight": float(1 / chances.max()),
            "largest_weight": float(1 / chances.min()),
            "effective_instances": effective_number(of_instance),
            **_estimates(rater, known, settings),
        }
    }


def _estimates(rater: Rater, known: BoolArray, settings: IntervalSettings) -> dict[str, Any]:
    sums, instance, who = _sums(rater)[known], rater.every.instance[known], rater.every.rater[known]
    drawn = ratio(sums.sum(axis=0))
    weighted = inverse_probability_weighted(sums, rater.chance[known])
    consistency, strength, a, tie, b, wins = (
        {
            **mean_estimate(weighted[:, place], instance, basis, settings, floor=floor, rater=who),
            "as_drawn": number(value),
        }
        for place, (basis, floor, value) in enumerate(zip(_bases(rater, known), FLOORS, drawn.tolist(), strict=True))
    )
    shares: dict[str, Estimate] = {"a": a, "tie": tie, "b": b}
    return {
        "mean_consistency": consistency,
        "mean_preference_strength": strength,
        "shares": shares,
        "win_rate_a": wins,
    }


def _sums(rater: Rater) -> FloatArray:
    """Return (n_sets, 6, 2): numerators and denominators of two means over sets and four over verdicts."""
    ratings, in_use = rater.every.ratings, rater.in_use.astype(np.float64)
    a, tie, b = ((ratings == verdict).sum(axis=1) for verdict in (-1, 0, 1))
    verdicts = rater.every.present
    of_sets = np.zeros((2, len(rater.every)))
    of_sets[:, rater.in_use] = rater.consistency, rater.strength
    columns = [(values, in_use) for values in of_sets]
    columns += [(counted.astype(np.float64), verdicts.astype(np.float64)) for counted in (a, tie, b, a + tie / 2)]
    return np.stack([np.stack(column, axis=1) for column in columns], axis=1)


def _bases(rater: Rater, known: BoolArray) -> list[Basis]:
    present = rater.every.present
    sets, verdicts = int((known & rater.in_use).sum()), int(present[known].sum())
    sets_out, verdicts_out = int((~known & rater.in_use).sum()), int(present[~known].sum())
    of_sets = [Basis(sets, "rating sets", rule, sets_out) for rule in (TIE_IN_CONSISTENCY, TIE_IN_STRENGTH)]
    rules = (TIE_IS_A_SHARE, TIE_IS_A_SHARE, TIE_IS_A_SHARE, TIE_IS_HALF)
    return of_sets + [Basis(verdicts, "verdicts", rule, verdicts_out) for rule in rules]
