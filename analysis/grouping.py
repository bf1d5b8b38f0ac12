"""Groups of equal codes, and bins of values.

Groups are those of `numpy.unique`, without sorting where the codes lie close together.
"""

import math

import numpy as np
import numpy.typing as npt

from analysis.errors import NotEnough, ShapeError, UnknownValue
from analysis.types import BoolArray, FloatArray, IntArray

CLOSE = 16  # codes whose range is at most so many times their number are counted instead of sorted
CLOSE_TO_COUNT = 128  # where only the number of distinct ones is asked for, which takes a byte for each possible value
FEW = 1 << 20  # or that have at most so many possible values
LARGEST = 1 << 62
MAX_BINS = 1_000_000
ROUNDING = 1e-9  # of a step: a value this near to an edge lies on it


def groups(codes: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct codes, ascending, and the place of each code among them.

    codes : (n,) integers
    """
    distinct, index, _ = _grouped(codes)
    return distinct, index


def _grouped(codes: IntArray) -> tuple[IntArray, IntArray, IntArray | None]:
    """Return `groups`, and the first row of each distinct code where sorting has found it."""
    if not len(codes):
        return codes, np.empty(0, dtype=np.int64), None
    low = int(codes.min())
    if (is_there := _present(codes, low, CLOSE)) is None:
        return _sorted_groups(codes, low)
    distinct = np.flatnonzero(is_there)
    place_of = np.empty(len(is_there), dtype=np.int64)
    place_of[distinct] = np.arange(len(distinct))
    return distinct + low, place_of[codes - low], None


def _sorted_groups(codes: IntArray, low: int) -> tuple[IntArray, IntArray, IntArray]:
    """Sort each code with its row as one number, which NumPy does in a quarter of the time of finding the order of codes."""
    bits = len(codes).bit_length()
    if (int(codes.max()) - low).bit_length() + bits < 64:
        both = ((codes - low) << bits) | np.arange(len(codes))
        both.sort()
        order, ordered = both & ((1 << bits) - 1), (both >> bits) + low
    else:
        order = np.argsort(codes, kind="stable")
        ordered = codes[order]
    is_first = np.append(True, ordered[1:] != ordered[:-1])
    index = np.empty(len(codes), dtype=np.int64)
    index[order] = np.cumsum(is_first) - 1
    return ordered[is_first], index, order[is_first]


def count_groups(codes: IntArray) -> int:
    """Return the number of distinct codes, (n,) integers."""
    if not len(codes):
        return 0
    is_there = _present(codes, int(codes.min()), CLOSE_TO_COUNT)
    return len(np.unique(codes)) if is_there is None else int(np.count_nonzero(is_there))


def summed(values: npt.ArrayLike, group: IntArray, n: int) -> FloatArray:
    """Return the sum of the values of each group, (n,): 0 for one without any.

    values, group : (m,) numbers, and codes from 0
    """
    return np.bincount(group, values, minlength=n).astype(np.float64, copy=False)


def _present(codes: IntArray, low: int, close: int) -> BoolArray | None:
    """Return for each value from `low` on whether it is among the codes. None if they lie too far apart."""
    span = int(codes.max()) - low
    if span > max(close * len(codes), FEW):
        return None
    is_there = np.zeros(span + 1, dtype=bool)
    is_there[codes - low] = True
    return is_there


def joint_codes(*columns: IntArray) -> IntArray:
    """Return one code for each row of several columns of integers. They ascend as the rows do, first column first."""
    lows, spans = _ranges(columns)
    if math.prod(spans) > LARGEST:
        columns = tuple(groups(column)[1] for column in columns)
        lows, spans = _ranges(columns)
    joint, reach = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column, low, span in zip(columns, lows, spans, strict=True):
        if reach > LARGEST // span:
            joint = groups(joint)[1]
            reach = int(joint.max(initial=0)) + 1
        joint *= span
        joint += column
        if low:
            joint -= low
        reach *= span
    return joint


def _ranges(columns: tuple[IntArray, ...]) -> tuple[list[int], list[int]]:
    """Return the lowest code of each column, or 0, and the number of values from there to its highest."""
    lows = [int(column.min(initial=0)) for column in columns]
    return lows, [int(column.max(initial=0)) - low + 1 for column, low in zip(columns, lows, strict=True)]


def groups_of_rows(*columns: IntArray) -> tuple[tuple[IntArray, ...], IntArray]:
    """Return the distinct rows of several columns of integers, in ascending order, and the place of each row among them.

    columns : (n,) each
    returns : the columns of the distinct rows, and (n,) places
    """
    index, first = _places_and_first_rows(joint_codes(*columns))
    return tuple(column[first] for column in columns), index


def first_rows(*columns: IntArray) -> IntArray:
    """Return the rows that no earlier one equals, ascending."""
    joint = joint_codes(*columns)
    if count_groups(joint) == len(joint):
        return np.arange(len(joint))
    return np.sort(_places_and_first_rows(joint)[1])


def _places_and_first_rows(joint: IntArray) -> tuple[IntArray, IntArray]:
    distinct, index, first = _grouped(joint)
    if first is None:
        first = np.empty(len(distinct), dtype=np.int64)
        first[index[::-1]] = np.arange(len(index))[::-1]  # of several equal places the first is written last
    return index, first


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
