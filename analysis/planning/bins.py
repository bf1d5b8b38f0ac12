"""Bins of a scale such as separability: edges from the data, and which bin each value falls into."""

import numpy as np
import numpy.typing as npt

from analysis.errors import NotEnough, ShapeError, UnknownValue
from analysis.types import FloatArray, IntArray

MAX_BINS = 1_000_000
ROUNDING = 1e-9  # of a step: a value this near to an edge lies on it


def equal_width_edges(values: npt.ArrayLike, n: int) -> FloatArray:
    """Edges of n bins of one width over the support of the values.

    values  : any shape; NaN is ignored
    returns : (n + 1,) ascending from the least to the greatest value; if every value is equal the edges are
              all that value, and `assign` puts the values into the last bin
    raises  : NotEnough without a value or with n < 1; UnknownValue for an infinite value
    source  : Ghosh et al. 2024, Compare without Despair, figures 6 and 7
    """
    ordered = _sorted_known(values, n)
    return np.linspace(ordered[0], ordered[-1], n + 1)


def stepped_edges(values: npt.ArrayLike, step: float) -> FloatArray:
    """Edges at multiples of a step around all values, so that histograms of several selections share them.

    values  : any shape; NaN is ignored
    step    : width of every bin, above 0
    returns : (n_bins + 1,) ascending, at least one bin
    raises  : NotEnough without a value, or where the step would make more than a million bins; UnknownValue for an
              infinite value or a step that is not above 0
    """
    ordered = _sorted_known(values, 1)
    if not (np.isfinite(step) and step > 0):
        raise UnknownValue(f"the step of a histogram must be above 0, got {step}")
    if (ordered[-1] - ordered[0]) / step > MAX_BINS:
        raise NotEnough(f"steps of {step} from {ordered[0]} to {ordered[-1]} make more than {MAX_BINS} bins")
    first, last = int(np.floor(ordered[0] / step + ROUNDING)), int(np.ceil(ordered[-1] / step - ROUNDING))
    edges: FloatArray = np.arange(first, max(last, first + 1) + 1).astype(np.float64) * step
    edges[0], edges[-1] = min(edges[0], ordered[0]), max(edges[-1], ordered[-1])  # rounding must leave no value outside
    return edges


def equal_count_edges(values: npt.ArrayLike, n: int) -> FloatArray:
    """Edges of n bins with as equal counts as ties allow. Every edge is one of the values.

    values  : any shape; NaN is ignored
    returns : (n + 1,) ascending, bin k starts at the value of rank k * n_values // n; edges coincide where
              values tie or are fewer than bins, and such a bin stays empty
    raises  : NotEnough, UnknownValue as for `equal_width_edges`
    """
    ordered = _sorted_known(values, n)
    starts = np.arange(n) * len(ordered) // n
    return np.append(ordered[starts], ordered[-1])


def assign(values: npt.ArrayLike, edges: npt.ArrayLike) -> IntArray:
    """The bin of each value: bin k is [edges[k], edges[k + 1]), and the last one includes its upper edge.

    values  : any shape
    edges   : (n_bins + 1,) ascending; equal neighbours make a bin that only the last one can fill
    returns : bin index in the shape of the values; -1 for NaN and for values outside the edges
    raises  : ShapeError unless edges is 1-D with two or more; UnknownValue if they descend or one is NaN
    """
    points = np.asarray(values, dtype=np.float64)
    bounds = np.asarray(edges, dtype=np.float64)
    if bounds.ndim != 1 or len(bounds) < 2:
        raise ShapeError(f"need two or more edges in one dimension, got shape {bounds.shape}")
    if not (bounds[:-1] <= bounds[1:]).all():
        raise UnknownValue(f"edges must ascend, got {bounds.tolist()}")
    index = np.searchsorted(bounds, points, side="right") - 1
    index = np.where(points == bounds[-1], len(bounds) - 2, index)
    inside = (points >= bounds[0]) & (points <= bounds[-1])
    return np.where(inside, index, -1)


def _sorted_known(values: npt.ArrayLike, n: int) -> FloatArray:
    ordered = np.asarray(values, dtype=np.float64).ravel()
    ordered = np.sort(ordered[~np.isnan(ordered)])
    if n < 1 or not ordered.size:
        raise NotEnough(f"cannot make {n} bins from {ordered.size} values")
    if np.isinf(ordered).any():
        raise UnknownValue(f"cannot bin infinite values: {ordered[np.isinf(ordered)][:5].tolist()}")
    return ordered
