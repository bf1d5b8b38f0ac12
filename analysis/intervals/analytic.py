"""Intervals over instances without draws: of shares, of bounded means and differences, and of other statistics of sums."""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from analysis.errors import ShapeError
from analysis.grouping import groups_of_rows, summed
from analysis.intervals.bootstrap import Statistic, cluster_sums, quotient, ratio
from analysis.intervals.jackknife import (
    MIN_CLUSTERS,
    ROUNDING,
    Bounds,
    clopper_pearson,
    effective_clusters,
    jackknife_variance,
    limits_by_share,
    may_be_skewed,
    mean_bounds,
    student_quantile,
    student_tail,
    two_way_variance,
)
from analysis.types import FloatArray, check_level, code_array

MIN_FOR_STATISTIC = 20  # instances, for a statistic that is no mean
MIN_FOR_BOOTSTRAP = 30
MOST_FLIPPED, MOST_CELLS = 200, 2 * 10**6  # clusters, and steps of the count, of the exact test


@dataclass(frozen=True)
class Spread:
    """A ratio of sums and its standard error over clusters.

    units     : sum of the denominators
    instances : those with a denominator
    effective : `effective_clusters` of the instances, or of the raters where these are fewer
    raters    : raters with a denominator, where the error is over instances and raters; else None
    exact     : `sign_flip_p_value`, for an interval and a p-value that take no mean for another one where it does not; 0 without
    """

    value: float
    error: float
    units: float
    instances: int
    effective: float
    raters: int | None = None
    exact: float = 0.0

    @property
    def clusters(self) -> int:
        """The number of clusters that an interval rests on: the fewer of instances and raters."""
        return self.instances if self.raters is None else min(self.instances, self.raters)


def ratio_spread(rows: npt.ArrayLike, instance: npt.ArrayLike, rater: npt.ArrayLike | None = None) -> Spread:
    """Return the ratio of sums with its jackknife standard error over instances, or over instances and raters if there are two or more.

    rows            : (n, 2) of numerator and denominator per unit; instance, rater : (n,) integer codes
    returns         : `Spread`; NaN for the value without a denominator, for the error with fewer than two clusters
    raises          : ShapeError, UnknownValue as `cluster_sums`
    source          : `jackknife_variance`, `two_way_variance`
    """
    table, codes = np.asarray(rows, dtype=np.float64).reshape(-1, 2), code_array("instance", instance)
    sums = cluster_sums(table, codes)
    total = sums.sum(axis=0)
    spread = Spread(
        value=float(ratio(total)),
        error=math.sqrt(jackknife_variance(sums)),
        units=float(total[1]),
        instances=int((sums[:, 1] > 0).sum()),
        effective=effective_clusters(sums[:, 1]),
    )
    if rater is not None:
        counted, raters = table[:, 1] > 0, code_array("rater", rater)
        by_rater = cluster_sums(table[counted, 1], raters[counted])
        if len(by_rater) > 1:
            error = math.sqrt(two_way_variance(table[counted], codes[counted], raters[counted]))
            effective = min(spread.effective, effective_clusters(by_rater))
            return replace(spread, error=error, effective=effective, raters=len(by_rater))
    return spread


def ratio_spreads(rows: npt.ArrayLike, instance: npt.ArrayLike, group: npt.ArrayLike, n_groups: int) -> list[Spread]:
    """Return `ratio_spread` over the instances of each group of rows, in one pass over all rows.

    group : (n,) integer codes from 0 to n_groups - 1
    """
    table, codes, of_row = np.asarray(rows).reshape(-1, 2), code_array("instance", instance), code_array("group", group)
    (of_sums, _), index = groups_of_rows(of_row, codes)
    sums = cluster_sums(table, index)

    def total(values: FloatArray) -> FloatArray:
        return summed(values, of_sums, n_groups)

    units, is_counted = total(sums[:, 1]), sums[:, 1] > 0
    value = quotient(total(sums[:, 0]), units)
    of_sums, sums = of_sums[is_counted], sums[is_counted]
    instances = np.bincount(of_sums, minlength=n_groups)
    effective = np.minimum(quotient(units**2, total(sums[:, 1] ** 2)), instances)
    # As `jackknife_variance`.
    gap = sums[:, 0] - value[of_sums] * sums[:, 1]
    moved = quotient(gap, units[of_sums] - sums[:, 1])
    moved[np.abs(gap) < 1e-12 * units[of_sums]] = 0.0
    away = moved - quotient(total(moved), instances)[of_sums]
    variance = np.where(instances > 1, quotient((instances - 1) * total(away**2), instances), np.nan)
    columns = (value, np.sqrt(variance), units, instances, np.where(instances > 0, effective, 0.0))
    return [Spread(*spread) for spread in zip(*(column.tolist() for column in columns), strict=True)]


def mean_interval(spread: Spread, *, floor: float = 0.0, ceiling: float = 1.0, level: float = 0.95) -> Bounds:
    """`mean_bounds` of a mean or a difference in a range. None for equal clusters if the range is open.

    With an exact test, the interval has the middle of the range too where that test does not reject it.

    floor, ceiling : the range; may be infinite
    returns        : `Bounds`, NaN below five clusters
    raises         : AnalysisError for a level outside (0, 1)
    """
    if spread.error == 0 and math.isinf(ceiling - floor):
        return Bounds(np.nan, np.nan, level, spread.clusters)
    bounds = mean_bounds(
        spread.value,
        spread.error,
        spread.clusters,
        floor=floor,
        ceiling=ceiling,
        level=level,
        effective=spread.effective,
    )
    return _with_middle(bounds, spread, (floor + ceiling) / 2)


def _with_middle(bounds: Bounds, spread: Spread, middle: float) -> Bounds:
    """Extend an interval to the middle of the range where the exact test does not reject it."""
    if spread.exact <= 1 - bounds.level or math.isnan(bounds.low):
        return bounds
    return replace(bounds, low=min(bounds.low, middle), high=max(bounds.high, middle))


def sign_flip_p_value(differences: npt.ArrayLike) -> float:
    """Two-sided p-value of H0: each cluster's sum is as likely as its opposite, over all changes of signs.

    Student's t on few clusters with few values has steps: of fifty times +1 or -1 it rejects in 6.5 % at a level of 5 %.

    differences : (n_clusters,) whole sums of wins less losses
    returns     : 0 (no test) for 200 clusters or more, where steps are small, and where sums are too large to count
    source      : Fisher 1935, The Design of Experiments, §21
    """
    sums = np.abs(np.rint(np.asarray(differences, dtype=np.float64)).astype(np.int64))
    total, observed = int(sums.sum()), abs(int(np.rint(np.sum(differences))))
    step = int(np.gcd.reduce(sums)) or 1
    sums, total, observed = sums[sums > 0] // step, total // step, observed // step
    if len(sums) >= MOST_FLIPPED or total * len(sums) > MOST_CELLS:
        return 0.0
    chance = np.zeros(2 * total + 1)
    chance[total] = 1.0
    for size in sums.tolist():  # the sum moves by `size` to either side
        moved = np.zeros_like(chance)
        moved[size:] += chance[: len(chance) - size] / 2
        moved[: len(chance) - size] += chance[size:] / 2
        chance = moved
    return min(1.0, float(chance[: total - observed + 1].sum() + chance[total + observed :].sum()))


def two_sided_p_value(spread: Spread) -> float:
    """p-value of H0: the mean, a difference in [-1, 1], is 0: one less the greatest level at which `mean_interval` is without 0.

    returns : NaN below five clusters
    """
    return max(_studentized_p_value(spread), spread.exact)  # NaN stands first


def _studentized_p_value(spread: Spread) -> float:
    if spread.clusters < MIN_CLUSTERS or math.isnan(spread.value + spread.error):
        return np.nan
    if spread.error == 0:
        return min(1.0, 2 * (1 + abs(spread.value)) ** -spread.clusters)
    x = (1 + abs(spread.value)) / 2
    if not may_be_skewed(x, spread.effective):
        return min(1.0, 2 * student_tail(abs(spread.value) / spread.error, max(spread.effective - 1, 1)))
    low, high = 0.0, 1.0
    while high - low > ROUNDING + 1e-9 * high:
        middle = (low + high) / 2
        touched = limits_by_share(x, spread.error / 2, spread.effective, level=1 - middle)[0] <= 0.5
        low, high = (middle, high) if touched else (low, middle)
    return high


def share_interval(spread: Spread, *, level: float = 0.95) -> Bounds:
    """Interval of a share of 0/1 units: Clopper and Pearson's on the effective number of units.

    With u units, k clusters, p the share and v its variance over clusters,
    n* = u / (v / (p (1 - p) / (u - 1))) · (t_{u-1} / t_{k*-1})², at most u, with the same quantiles of Student's t and k* the
    effective number of clusters. One unit per cluster gives n* = u. Where all clusters are equal, n* is their number.
    With an exact test, the interval has one half too where that test does not reject it.

    returns : `Bounds`, NaN below five clusters
    raises  : AnalysisError for a level outside (0, 1)
    source  : Korn and Graubard 1998, Confidence intervals for proportions with small expected number of positive counts
              estimated from survey data, Survey Methodology 24, §2; here with the unbiased variance of u independent units
    """
    check_level(level)
    if spread.clusters < MIN_CLUSTERS or math.isnan(spread.value + spread.error):
        return Bounds(np.nan, np.nan, level, spread.clusters)
    n = effective_units(spread, level=level)
    limits = clopper_pearson(spread.value * n, n, level=level)
    return _with_middle(Bounds(*limits, level, spread.clusters), spread, 0.5)


def effective_units(spread: Spread, *, level: float = 0.95) -> float:
    """Effective number of units of `share_interval`."""
    if spread.error == 0:
        return spread.clusters
    units, share = spread.units, spread.value
    of_independent = share * (1 - share) / max(units - 1, 1)
    upper = (1 + level) / 2
    loss = student_quantile(upper, max(units - 1, 1)) / student_quantile(upper, max(spread.effective - 1, 1))
    return min(units, units * of_independent / spread.error**2 * loss**2)


def statistic_error(sums: npt.ArrayLike, statistic: Statistic) -> float:
    """Jackknife standard error of a statistic of summed clusters.

    sums      : (n_clusters, ...) one row per cluster
    statistic : total sums (n, ...) to values (n,)
    returns   : NaN for fewer than two clusters, or where the statistic is undefined without one of them; 0 where leaving
                a cluster out changes nothing
    raises    : ShapeError if the statistic does not return one value per row
    source    : Efron and Tibshirani 1993, An Introduction to the Bootstrap, eq. 11.5
    """
    table = np.asarray(sums, dtype=np.float64)
    n = len(table)
    if n < 2:
        return np.nan
    total = table.sum(axis=0)
    without_one = total - table
    without_one[np.abs(without_one) <= ROUNDING * np.abs(total)] = 0.0  # what rounding leaves of nothing
    values = np.asarray(statistic(without_one), dtype=np.float64)
    if values.shape != (n,):
        raise ShapeError(f"the statistic must return shape ({n},), got {values.shape}")
    if np.ptp(values) <= ROUNDING * max(1.0, float(np.abs(values).max())):
        return 0.0
    return math.sqrt((n - 1) / n * float(((values - values.mean()) ** 2).sum()))


def statistic_interval(
    value: float,
    error: float,
    clusters: int,
    *,
    floor: float = -math.inf,
    ceiling: float = math.inf,
    level: float = 0.95,
) -> Bounds:
    """Interval of a statistic other than a mean, such as Krippendorff's α: Student's t on its jackknife standard error.

    returns : `Bounds`, cut at the range; NaN below 20 clusters, and where the standard error is 0 or undefined
    raises  : AnalysisError for a level outside (0, 1)
    source  : Efron and Tibshirani 1993, An Introduction to the Bootstrap, §12.2 and eq. 11.5
    """
    check_level(level)
    if clusters < MIN_FOR_STATISTIC or not error > 0:
        return Bounds(np.nan, np.nan, level, clusters)
    reach = student_quantile((1 + level) / 2, clusters - 1) * error
    return Bounds(max(floor, value - reach), min(ceiling, value + reach), level, clusters)
