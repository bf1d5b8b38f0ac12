"""Several tests of one family: adjusted p-values."""

import numpy as np
import numpy.typing as npt

from analysis.errors import ShapeError
from analysis.types import FloatArray, share_array


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
