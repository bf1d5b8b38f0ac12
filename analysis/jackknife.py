"""Student's t, and intervals of ratios from leaving out one cluster (or one of two crossed kinds of cluster) at a time."""

import math
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from analysis.bootstrap import cluster_sums, ratio
from analysis.errors import AnalysisError, ShapeError
from analysis.grouping import joint_codes
from analysis.types import FloatArray, code_array

MIN_CLUSTERS = 5  # below it no interval keeps its level
STEPS = 100_000  # of the continued fraction, which takes some ten for common arguments


@dataclass(frozen=True)
class Bounds:
    """An interval at a level; NaN where there is none. `clusters` is the number of clusters that it rests on."""

    low: float
    high: float
    level: float
    clusters: int


def student_tail(t: float, df: float) -> float:
    """Probability that Student's t with `df` degrees of freedom is above t.

    t, df  : t may be infinite; df above 0
    raises : AnalysisError for NaN, or df of 0 or less
    source : Abramowitz and Stegun 1964, Handbook of Mathematical Functions, 26.7.1 and 26.5.8 (incomplete beta function)
    """
    if math.isnan(t) or not df > 0:
        raise AnalysisError(f"need a number t and df above 0, got {t} and {df}")
    square = t * t
    if square < df:  # the smaller argument is the exact one
        tail = 0.5 * (1 - _incomplete_beta(square / (df + square), 0.5, df / 2))
    else:
        tail = 0.5 * _incomplete_beta(df / (df + square), df / 2, 0.5) if math.isfinite(square) else 0.0
    return tail if t >= 0 else 1 - tail


@cache
@lru_cache(maxsize=4096)  # a page asks for the same few of them hundreds of times
def student_quantile(share: float, df: float) -> float:
    """Value that Student's t with `df` degrees of freedom exceeds with probability 1 - share, by bisection.

    share  : strictly between 0 and 1
    raises : AnalysisError for another share, or df of 0 or less
    """
    if not 0 < share < 1:
        raise AnalysisError(f"a share lies strictly between 0 and 1, got {share}")
    if share < 0.5:
        return -student_quantile(1 - share, df)
    low, high = 0.0, 1.0
    while student_tail(high, df) > 1 - share:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if student_tail(middle, df) > 1 - share else (low, middle)
    return high


def beta_quantile(share: float, a: float, b: float) -> float:
    """Value that a beta distribution with parameters a and b falls below with probability `share`, by safeguarded Newton.

    share  : strictly between 0 and 1
    raises : AnalysisError for another share, or parameters that are not above 0
    source : Abramowitz and Stegun 1964, Handbook of Mathematical Functions, 26.5.1 and 26.5.8, inverted
    """
    if not (0 < share < 1 and a > 0 and b > 0):
        raise AnalysisError(f"need a share strictly between 0 and 1, and a, b above 0, got {share}, {a}, {b}")
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    low, high, x = 0.0, 1.0, a / (a + b)
    for _ in range(200):
        gap = _incomplete_beta(x, a, b) - share
        low, high = (low, x) if gap > 0 else (x, high)
        density = math.exp(scale + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x))
        moved = x - gap / density if density > 0 else low
        if not low < moved < high:
            moved = (low + high) / 2
        if abs(moved - x) <= 4e-16 * x or moved in (low, high):
            return moved
        x = moved
    return x


def mean_bounds(
    value: float, error: float, clusters: int, *, floor: float, ceiling: float, level: float = 0.95
) -> Bounds:
    """Interval of a bounded mean by Student's t on its standard error, cut at its range.

    With a standard error of 0 all clusters are equal, and others may not be: at this level at most the share
    q = 1 - ((1 - level) / 2)^(1 / clusters) of all clusters differs, which moves the mean by at most q towards either end. At an
    end of the range that is the bound of Clopper and Pearson.

    value, error   : the mean and its standard error
    floor, ceiling : the range
    returns        : `Bounds`, NaN below five clusters
    raises         : AnalysisError for a level outside (0, 1)
    source         : Clopper and Pearson 1934, The use of confidence or fiducial limits, for the limit of equal clusters
    """
    if not 0 < level < 1:
        raise AnalysisError(f"a level lies strictly between 0 and 1, got {level}")
    if clusters < MIN_CLUSTERS or math.isnan(value + error):
        return Bounds(np.nan, np.nan, level, clusters)
    if error == 0:
        other = 1 - ((1 - level) / 2) ** (1 / clusters)
        return Bounds(value - other * (value - floor), value + other * (ceiling - value), level, clusters)
    reach = student_quantile((1 + level) / 2, clusters - 1) * error
    return Bounds(max(floor, value - reach), min(ceiling, value + reach), level, clusters)


def jackknife_variance(sums: npt.ArrayLike) -> float:
    """Variance of a ratio of sums, from leaving out one cluster at a time.

    sums    : (n_clusters, 2) of numerator and denominator
    returns : NaN for fewer than two clusters with a denominator
    raises  : ShapeError for another shape
    source  : Efron and Tibshirani 1993, An Introduction to the Bootstrap, eq. 11.5
    """
    rows = np.asarray(sums, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ShapeError(f"need (n_clusters, 2) sums, got shape {rows.shape}")
    rows = rows[rows[:, 1] > 0]
    if len(rows) < 2:
        return np.nan
    total = rows.sum(axis=0)
    # Around the ratio itself, not the mean of the others: exactly 0 where every cluster has the same ratio.
    gap = rows[:, 0] - ratio(total) * rows[:, 1]
    moved: FloatArray = gap / (total[1] - rows[:, 1])
    moved[np.abs(gap) < 1e-12 * total[1]] = 0.0
    return float((len(rows) - 1) / len(rows) * ((moved - moved.mean()) ** 2).sum())


def two_way_variance(rows: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Variance of a ratio of sums whose rows share two kinds of cluster, such as instances and raters.

    The variance over the first kind, plus that over the second, less that over their cells; never less than either.

    rows          : (n, 2) of numerator and denominator; first, second : (n,) integer codes
    returns       : NaN for fewer than two clusters of either kind
    raises        : ShapeError, UnknownValue as `cluster_sums`
    source        : Cameron, Gelbach and Miller 2011, Robust inference with multiway clustering, eq. 2.8
    """
    one, other = code_array("first", first), code_array("second", second)
    cells = (one, other, joint_codes(one, other))
    by_one, by_other, by_cell = (jackknife_variance(cluster_sums(rows, codes)) for codes in cells)
    return float(np.max([by_one + by_other - by_cell, by_one, by_other]))


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):  # where the fraction converges fast; else the other tail's does
        return front * _beta_fraction(x, a, b) / a
    return 1 - front * _beta_fraction(1 - x, b, a) / b


def _beta_fraction(x: float, a: float, b: float) -> float:
    """Continued fraction of the incomplete beta function, evaluated from the front (Lentz 1976)."""
    numerator, denominator = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = denominator
    for m in range(1, STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for step in (even, odd):
            denominator = 1 / (1 + step * denominator)
            numerator = 1 + step / numerator
            value *= numerator * denominator
        if abs(numerator * denominator - 1) < 1e-15:
            break
    return value
