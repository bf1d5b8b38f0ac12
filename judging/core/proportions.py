"""Proportions as the judges' pages show them: value, n, interval over instances, and exclusions."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.intervals.analytic import (
    MIN_FOR_STATISTIC,
    Spread,
    mean_interval,
    ratio_spread,
    share_interval,
    statistic_error,
    statistic_interval,
)
from analysis.intervals.bootstrap import Statistic, cluster_sums
from analysis.intervals.jackknife import MIN_CLUSTERS, Bounds

LEVEL = 0.95


@dataclass(frozen=True)
class Proportion:
    """An estimate, or `None` where it is undefined.

    n           : verdicts, pairs or answers in the denominator
    left_out    : those excluded from it
    n_instances : instances that the interval rests on; least : how many of them it needs
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    left_out: int
    n_instances: int
    least: int = MIN_CLUSTERS

    @property
    def percent(self) -> float | None:
        """The proportion in percent, for meters."""
        return None if self.value is None else 100 * self.value


def proportion(sums: npt.ArrayLike, instance: npt.ArrayLike, *, left_out: int = 0) -> Proportion:
    """Return the share of units that are 0 or 1, with the interval of `analysis.intervals.analytic.share_interval`.

    sums : (n_units, 2) numerators and denominators; instance : (n_units,) codes
    """
    spread = ratio_spread(sums, instance)
    return _of_spread(spread, share_interval(spread, level=LEVEL), left_out)


def mean_proportion(sums: npt.ArrayLike, instance: npt.ArrayLike, *, left_out: int = 0) -> Proportion:
    """Return the mean of units from 0 to 1, with the interval of `analysis.intervals.analytic.mean_interval`."""
    spread = ratio_spread(sums, instance)
    return _of_spread(spread, mean_interval(spread, level=LEVEL), left_out)


def statistic_of(
    sums: npt.ArrayLike, instance: npt.ArrayLike, statistic: Statistic, *, n: int, left_out: int = 0
) -> Proportion:
    """Return a statistic of per-unit sums that is at most 1 and no mean, such as kappa, with its interval."""
    rows, codes = np.asarray(sums, dtype=np.float64), np.asarray(instance)
    counts = rows.any(axis=tuple(range(1, rows.ndim)))
    clusters = cluster_sums(rows[counts], codes[counts])
    value = float(statistic(clusters.sum(axis=0)))
    error = statistic_error(clusters, statistic)
    bounds = statistic_interval(value, error, len(clusters), ceiling=1.0, level=LEVEL)
    return _shown(value, bounds, n, left_out, len(clusters), MIN_FOR_STATISTIC)


def _of_spread(spread: Spread, bounds: Bounds, left_out: int) -> Proportion:
    return _shown(spread.value, bounds, int(spread.units), left_out, spread.instances, MIN_CLUSTERS)


def _shown(value: float, bounds: Bounds, n: int, left_out: int, instances: int, minimum: int) -> Proportion:
    low, high = (math.nan, math.nan) if math.isnan(value) else (bounds.low, bounds.high)
    return Proportion(number(value), number(low), number(high), n, left_out, instances, minimum)


def number(value: float) -> float | None:
    """Return a number without a negative zero, or `None` for NaN."""
    return None if math.isnan(value) else float(value) + 0.0
