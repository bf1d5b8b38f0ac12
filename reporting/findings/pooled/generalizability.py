"""How reliable people's mean ratings are with more raters, and the win rate with more raters and instances."""

import math
from typing import Any

import numpy as np

from analysis.errors import NotEnough
from analysis.intervals.analytic import MIN_FOR_STATISTIC, statistic_interval
from analysis.planning.generalizability import NAMES, generalizability, generalizability_study, mean_error
from analysis.types import FloatArray
from reporting.core.estimates import Basis, Estimate, IntervalSettings, estimate_with_bounds
from reporting.findings.data.vote_table import VoteTable
from reporting.findings.reasons import NO_VARIATION, NOT_CROSSED

RATERS = (1, 2, 3, 5, 10, 20)
INSTANCES = (25, 50, 100, 200, 400)


def generalizability_findings(votes: VoteTable, settings: IntervalSettings) -> dict[str, Any]:
    """Return variance components of win rates, coefficients and standard errors by number of raters, or the reason for none.

    pairs : of an instance, the median of those rated
    """
    unit, cluster = votes.unit, votes.cluster[votes.unit]
    codes = (votes.configuration[unit], votes.matchup[unit], unit, votes.person, cluster)
    try:
        study = generalizability_study((votes.verdict + 1) / 2, *codes)
    except NotEnough:
        return {"components": None, "curve": [], **NOT_CROSSED.as_json()}
    of_matchup = np.bincount(votes.matchup[votes.is_rated])
    pairs = int(np.median(of_matchup[of_matchup > 0]))
    curve = []
    for raters in RATERS:
        coefficients = zip(
            generalizability(study.components, raters=raters, pairs=pairs),
            generalizability(study.without, raters=raters, pairs=pairs),
            strict=True,
        )
        relative, absolute = (_estimate(float(value), without, len(unit), settings) for value, without in coefficients)
        errors = {
            str(n): float(mean_error(study.components, raters=raters, instances=n, pairs=pairs)) for n in INSTANCES
        }
        curve.append({"raters": raters, "relative": relative, "absolute": absolute, "standard_error": errors})
    components = dict(zip(NAMES, study.components.tolist(), strict=True))
    described = {"truncated": list(study.truncated), "merged": study.merged, "pairs": pairs}
    return {"components": components, **described, "curve": curve}


def _estimate(value: float, without: FloatArray, ratings: int, settings: IntervalSettings) -> Estimate:
    n, basis = len(without), Basis(ratings, "ratings", "a tie counts as half", why=NO_VARIATION)
    error = math.sqrt((n - 1) * float(without.var()))  # of the jackknife
    bounds = statistic_interval(value, error, n, floor=0.0, ceiling=1.0, level=settings.level)
    return estimate_with_bounds(value, bounds, basis, settings, n, minimum=MIN_FOR_STATISTIC)
