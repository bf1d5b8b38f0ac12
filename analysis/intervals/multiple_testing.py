"""Several tests of one family, and several looks while data come in.

Of tests, the adjusted p-values; of looks, the levels and p-values of confidence sequences.
"""

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from analysis.errors import ShapeError, UnknownValue
from analysis.types import FloatArray, share_array

TUNED_LEVEL = 0.05  # the boundary is narrowest at the horizon for this error rate
LEAST_ERROR = 1e-12  # of a look: beyond it quantiles are not known well, nor is more needed
NORMAL = NormalDist()


def holm(p_values: npt.ArrayLike) -> FloatArray:
    """p-values adjusted by Holm's step-down method, which controls the chance of any false rejection.

    The k-th smallest of m is multiplied by m - k + 1, and none is below a smaller one's.

    p_values : (n,) in [0, 1]; NaN was not tested: it is not counted in m, and stays NaN
    returns  : (n,) at least the raw values, at most 1
    raises   : ShapeError unless 1-D; UnknownValue for a value outside [0, 1]
    source   : Holm 1979, A simple sequentially rejective multiple test procedure
    """
    raw, tested, order = _ascending(p_values)
    factors = np.arange(order.size, 0, -1)
    adjusted = np.full(raw.shape, np.nan)
    adjusted[tested[order]] = np.minimum(np.maximum.accumulate(raw[tested[order]] * factors), 1)
    return adjusted


def benjamini_yekutieli(p_values: npt.ArrayLike) -> FloatArray:
    """p-values adjusted by Benjamini and Yekutieli, which controls the false discovery rate of dependent tests.

    The k-th smallest of m is multiplied by m / k · (1 + 1/2 + … + 1/m), and none is above a larger one's.

    p_values : as for `holm`
    returns  : (n,) at least the raw values, at most 1; the values at most q are rejected at false discovery rate q
    raises   : as `holm`
    source   : Benjamini and Yekutieli 2001, The control of the false discovery rate in multiple testing under
               dependency, theorem 1.3
    """
    raw, tested, order = _ascending(p_values)
    rank = np.arange(1, order.size + 1)
    scaled = raw[tested[order]] * order.size / rank * (1 / rank).sum()
    adjusted = np.full(raw.shape, np.nan)
    adjusted[tested[order]] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    return adjusted


def _ascending(p_values: npt.ArrayLike) -> tuple[FloatArray, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The values, the positions of those that are not NaN, and the order of these by value."""
    raw = share_array("p-values", p_values)
    if raw.ndim != 1:
        raise ShapeError(f"need one p-value for each test, got shape {raw.shape}")
    tested = np.flatnonzero(~np.isnan(raw))
    return raw, tested, np.argsort(raw[tested], kind="stable")


def level_of_look(n: int, *, level: float = 0.95, horizon: int) -> float:
    """Level of the fixed-sample interval over n clusters that belongs to a confidence sequence of a level.

    The interval reaches k standard errors, with

        k² = 2 (v + 1) / v · log(√(v + 1) / α),   v = n ρ²,   ρ² = (−2 log a + log(−2 log a) + 1) / horizon,   a = 0.05

    and the level is that of k on the normal distribution, so that any interval of this package, clustered, near an end of its
    range or by Student's t, is taken at it. All looks together miss the true value in at most 1 - level of studies, as n grows.

    horizon : clusters at which the sequence is narrowest, such as the planned ones; chosen before the data
    raises  : UnknownValue for n or a horizon below 1, or a level outside (0, 1)
    source  : Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024, Time-uniform central limit theory and asymptotic confidence
              sequences, Annals of Statistics 52, eq. 1 and 66
    """
    if not 0 < level < 1:
        raise UnknownValue(f"a level lies in (0, 1), got {level}")
    v = _intrinsic_time(n, horizon)
    k = math.sqrt(2 * (v + 1) / v * (math.log(v + 1) / 2 - math.log(1 - level)))
    return 1 - max(2 * NORMAL.cdf(-k), LEAST_ERROR)


def p_value_of_look(p_value: float, n: int, *, horizon: int) -> float:
    """Return the p-value that holds at every look, of a two-sided fixed-sample p-value over n clusters.

    It is below α where the interval at `level_of_look` of 1 - α excludes the hypothesis.

    returns : NaN for NaN
    raises  : UnknownValue for n or a horizon below 1
    source  : as `level_of_look`
    """
    if math.isnan(p_value):
        return p_value
    v = _intrinsic_time(n, horizon)
    if p_value <= 0:
        return 0.0
    z = -NORMAL.inv_cdf(p_value / 2)
    return min(1.0, math.sqrt(v + 1) * math.exp(-(z**2) * v / (2 * (v + 1))))


def _intrinsic_time(n: int, horizon: int) -> float:
    if n < 1 or horizon < 1:
        raise UnknownValue(f"numbers of clusters are 1 or more, got {n} of {horizon}")
    twice = -2 * math.log(TUNED_LEVEL)
    return n * (twice + math.log(twice) + 1) / horizon
