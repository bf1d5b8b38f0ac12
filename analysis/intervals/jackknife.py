"""Student's t, and intervals of ratios from leaving out one cluster (or one of two crossed kinds of cluster) at a time."""

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from analysis.errors import AnalysisError, ShapeError
from analysis.grouping import joint_codes
from analysis.intervals.bootstrap import cluster_sums, ratio
from analysis.types import FloatArray, check_level, code_array

MIN_CLUSTERS = 5  # below it no interval keeps its level
SKEWED = 25  # clusters for each unit of squared skewness, below which Student's t alone is no good
ROUNDING = 1e-12  # relative
NEAR = 1e-5  # relative
STEPS = 100_000  # of the continued fraction, which takes some ten for common arguments


@dataclass(frozen=True)
class Bounds:
    """An interval at a level, from a number of clusters. NaN where there is none."""

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


def f_tail(f: float, df: float, error_df: float) -> float:
    """Probability that an F is larger than f.

    f            : not negative; df, error_df : degrees of freedom of the numerator and the denominator, above 0
    raises       : AnalysisError for other numbers
    source       : Abramowitz and Stegun 1964, Handbook of Mathematical Functions, 26.6.2
    """
    if not (f >= 0 and df > 0 and error_df > 0):
        raise AnalysisError(f"need f of 0 or more and degrees of freedom above 0, got {f}, {df} and {error_df}")
    return _incomplete_beta(error_df / (error_df + df * f), error_df / 2, df / 2)


@lru_cache(maxsize=4096)  # a page asks for the same few of them hundreds of times
def student_quantile(share: float, df: float) -> float:
    """Value that Student's t with `df` degrees of freedom exceeds with probability 1 - share.

    share  : strictly between 0 and 1
    raises : AnalysisError for another share, or df of 0 or less
    source : Abramowitz and Stegun 1964, Handbook of Mathematical Functions, 26.7.1, inverted by `beta_quantile`
    """
    if not 0 < share < 1:
        raise AnalysisError(f"a share lies strictly between 0 and 1, got {share}")
    if share <= 0.5:
        return 0.0 if share == 0.5 else -student_quantile(1 - share, df)
    z = NormalDist().inv_cdf(share)
    near = (z + (z**3 + z) / (4 * df)) ** 2  # the first terms for many degrees of freedom: A&S 26.7.5
    part = beta_quantile(2 * share - 1, 0.5, df / 2, start=near / (df + near))  # t² / (df + t²)
    return math.sqrt(df * part / (1 - part))


def beta_quantile(share: float, a: float, b: float, *, start: float | None = None) -> float:
    """Value that a beta distribution with parameters a and b falls below with probability `share`, by safeguarded steps of Halley.

    share  : strictly between 0 and 1
    start  : where to begin, strictly between 0 and 1; a guess of its own when left out
    raises : AnalysisError for another share, or parameters that are not above 0
    source : Abramowitz and Stegun 1964, Handbook of Mathematical Functions, 26.5.1 and 26.5.8, inverted; 26.5.22 for
             the guess
    """
    if not (0 < share < 1 and a > 0 and b > 0):
        raise AnalysisError(f"need a share strictly between 0 and 1, and a, b above 0, got {share}, {a}, {b}")
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    low, high, x = 0.0, 1.0, start or _near_beta_quantile(share, a, b)
    for _ in range(200):
        gap = _incomplete_beta(x, a, b) - share
        density = math.exp(scale + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x))
        # Halley's step, by the slope of the density: it leaves the cube of what was missing.
        step = gap / density if density > 0 else math.inf
        bend = step * ((a - 1) / x - (b - 1) / (1 - x)) / 2
        if abs(bend) < 0.5:
            step /= 1 - bend
            if abs(step) <= NEAR * min(x, 1 - x):  # the next one would be rounding
                return x - step
        low, high = (low, x) if gap > 0 else (x, high)
        moved = x - step
        if not low < moved < high:
            moved = (low + high) / 2
        if moved in (low, high):
            return moved
        x = moved
    return x


def _near_beta_quantile(share: float, a: float, b: float) -> float:
    """Return a point in (0, 1) that is near the quantile where both parameters are above 1."""
    if min(a, b) <= 1:
        return a / (a + b)
    y, from_a, from_b = -NormalDist().inv_cdf(share), 1 / (2 * a - 1), 1 / (2 * b - 1)
    h, spread = 2 / (from_a + from_b), (y * y - 3) / 6
    w = y * math.sqrt(max(h + spread, 0.0)) / h - (from_b - from_a) * (spread + 5 / 6 - 2 / (3 * h))
    return 1 / (1 + b / a * math.exp(min(2 * w, 700.0)))


def clopper_pearson(count: float, n: float, *, level: float = 0.95) -> tuple[float, float]:
    """Exact interval of a binomial share. Count and n need not be whole.

    raises : AnalysisError unless 0 <= count <= n and n > 0
    source : Clopper and Pearson 1934, The use of confidence or fiducial limits, by quantiles of the beta distribution
    """
    if not (0 <= count <= n * (1 + ROUNDING) and n > 0):
        raise AnalysisError(f"need 0 <= count <= n and n > 0, got {count} of {n}")
    outside = (1 - level) / 2
    missing = max(n - count, 0.0)
    low = 0.0 if count <= ROUNDING * n else beta_quantile(outside, count, missing + 1)
    # By the other count, so that a share and its complement have mirrored intervals.
    high = 1.0 if missing <= ROUNDING * n else 1 - beta_quantile(outside, missing, count + 1)
    return low, high


def mean_bounds(
    value: float,
    error: float,
    clusters: int,
    *,
    floor: float,
    ceiling: float,
    level: float = 0.95,
    effective: float | None = None,
) -> Bounds:
    """Interval of a bounded mean by Student's t, cut at its range. Near an end it is that of a share.

    Degrees of freedom are effective - 1. Near an end of the range a mean of few clusters is skewed, and its standard error
    too small where none of them has a rare value. With x the place in the range from 0 to 1, a variable of two values that
    far apart has the squared skewness (1 - 2 x)² / (x (1 - x)). Below 25 clusters for each unit of it, the limits are those of
    Clopper and Pearson for a share x of n* = x (1 - x) / error² · (z / t)² units.

    With a standard error of 0 all clusters are equal, and others may not be: at this level at most the share
    q = 1 - ((1 - level) / 2)^(1 / clusters) of all clusters differs, which moves the mean by at most q towards either end. At an
    end of the range that is the bound of Clopper and Pearson.

    value, error   : the mean and its standard error
    floor, ceiling : the range; where it is infinite, the interval is Student's t alone
    effective      : `effective_clusters`; as many as there are when left out
    returns        : `Bounds`, NaN below five clusters
    raises         : AnalysisError for a level outside (0, 1)
    source         : Korn and Graubard 1998, Survey Methodology 24, for n*, here of a mean; Cochran 1977, Sampling
                     Techniques, §2.15 (n > 25 G²), with the skewness of two values in place of that in the sample; Clopper
                     and Pearson 1934, The use of confidence or fiducial limits, for equal clusters
    """
    check_level(level)
    if clusters < MIN_CLUSTERS or math.isnan(value + error):
        return Bounds(np.nan, np.nan, level, clusters)
    if error == 0:
        reach_of_equal = 1 - ((1 - level) / 2) ** (1 / clusters)
        return Bounds(
            value - reach_of_equal * (value - floor), value + reach_of_equal * (ceiling - value), level, clusters
        )
    n, width = effective or clusters, ceiling - floor
    if may_be_skewed(x := (value - floor) / width, n):
        low, high = limits_by_share(x, error / width, n, level=level)
        return Bounds(floor + width * low, floor + width * high, level, clusters)
    reach = student_quantile((1 + level) / 2, max(n - 1, 1)) * error
    return Bounds(max(floor, value - reach), min(ceiling, value + reach), level, clusters)


def may_be_skewed(x: float, clusters: float) -> bool:
    """Tell whether a mean x in [0, 1] of so many clusters may be too skewed for Student's t, see `mean_bounds`."""
    return 0 < x < 1 and clusters * x * (1 - x) < SKEWED * (1 - 2 * x) ** 2


def limits_by_share(x: float, error: float, effective: float, *, level: float) -> tuple[float, float]:
    """Limits of Clopper and Pearson for a mean x in (0, 1) as a share of n*, see `mean_bounds`."""
    upper = (1 + level) / 2
    n = x * (1 - x) / error**2 * (NormalDist().inv_cdf(upper) / student_quantile(upper, max(effective - 1, 1))) ** 2
    return clopper_pearson(x * n, n, level=level)


def effective_clusters(size: npt.ArrayLike) -> float:
    """Number of clusters of equal size whose variance is known as well: (Σ size)² / Σ size², at most their number.

    Of units that are independent with one variance, a cluster's sum has a variance in proportion to its size, and
    Satterthwaite's degrees of freedom of the sum of them are this number.

    size    : (n_clusters,) numbers of units or sums of weights
    returns : 0 without any
    source  : Satterthwaite 1946, An approximate distribution of estimates of variance components, Biometrics Bulletin
              2; Kish 1965, Survey Sampling, §11.7, for the number
    """
    sizes = np.asarray(size, dtype=np.float64)
    sizes = sizes[sizes > 0]
    return min(float(sizes.sum() ** 2 / (sizes**2).sum()), float(len(sizes))) if len(sizes) else 0.0


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
    first_codes, second_codes = code_array("first", first), code_array("second", second)
    cells = (first_codes, second_codes, joint_codes(first_codes, second_codes))
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
        denominator = 1 / (1 + even * denominator)
        numerator = 1 + even / numerator
        value *= numerator * denominator
        denominator = 1 / (1 + odd * denominator)
        numerator = 1 + odd / numerator
        change = numerator * denominator
        value *= change
        if -1e-15 < change - 1 < 1e-15:
            break
    return value
