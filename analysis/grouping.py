"""Groups of equal codes: what `numpy.unique` finds, without sorting where the codes lie close together."""

import math

import numpy as np
import numpy.typing as npt

from analysis.types import BoolArray, FloatArray, IntArray

CLOSE = 16  # codes whose range is at most so many times their number are counted instead of sorted
CLOSE_TO_COUNT = 128  # where only the number of distinct ones is asked for, which takes a byte for each possible value
FEW = 1 << 20  # or that have at most so many possible values
LARGEST = 1 << 62


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
