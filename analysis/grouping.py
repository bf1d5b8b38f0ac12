"""Groups of equal codes: what `numpy.unique` finds, without sorting where the codes lie close together."""

import math

import numpy as np

from analysis.types import BoolArray, IntArray

CLOSE = 16  # codes whose range is at most so many times their number are counted instead of sorted
CLOSE_TO_COUNT = 128  # where only the number of distinct ones is asked for, which takes a byte for each possible value
FEW = 1 << 20  # or that have at most so many possible values
LARGEST = 1 << 62


def groups(codes: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct codes, ascending, and the place of each code among them.

    codes : (n,) integers
    """
    if not len(codes):
        return codes, np.empty(0, dtype=np.int64)
    low = int(codes.min())
    if (is_there := _present(codes, low, CLOSE)) is None:
        return _sorted_groups(codes)
    distinct = np.flatnonzero(is_there)
    place_of = np.empty(len(is_there), dtype=np.int64)
    place_of[distinct] = np.arange(len(distinct))
    return distinct + low, place_of[codes - low]


def _sorted_groups(codes: IntArray) -> tuple[IntArray, IntArray]:
    """Sort by digits of 16 bits, which NumPy sorts by counting: in half of the time that whole codes take."""
    above = (codes - codes.min()).astype(np.uint64)
    bits = range(0, int(above.max()).bit_length(), 16)
    order = np.lexsort([(above >> bit).astype(np.uint16) for bit in bits])
    ordered = codes[order]
    is_first = np.append(True, ordered[1:] != ordered[:-1])
    place = np.empty(len(codes), dtype=np.int64)
    place[order] = np.cumsum(is_first) - 1
    return ordered[is_first], place


def count_groups(codes: IntArray) -> int:
    """Return the number of distinct codes, (n,) integers."""
    if not len(codes):
        return 0
    is_there = _present(codes, int(codes.min()), CLOSE_TO_COUNT)
    return len(np.unique(codes)) if is_there is None else int(np.count_nonzero(is_there))


def _present(codes: IntArray, low: int, close: int) -> BoolArray | None:
    """Return for each value from `low` on whether it is among the codes; None where they lie too far apart."""
    span = int(codes.max()) - low
    if span > max(close * len(codes), FEW):
        return None
    is_there = np.zeros(span + 1, dtype=bool)
    is_there[codes - low] = True
    return is_there


def joint_codes(*columns: IntArray) -> IntArray:
    """Return one code for each row of several columns of integers; they ascend as the rows do, first column first."""
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
    distinct, place = groups(joint_codes(*columns))
    row = np.empty(len(distinct), dtype=np.int64)
    row[place] = np.arange(len(place))  # any of those that are equal
    return tuple(column[row] for column in columns), place


def first_rows(*columns: IntArray) -> IntArray:
    """Return the rows that no earlier one equals, ascending."""
    joint = joint_codes(*columns)
    if count_groups(joint) == len(joint):
        return np.arange(len(joint))
    distinct, place = groups(joint)
    return np.sort(_first_of_each(place, len(distinct)))


def _first_of_each(place: IntArray, n: int) -> IntArray:
    first = np.empty(n, dtype=np.int64)
    first[place[::-1]] = np.arange(len(place))[::-1]  # of several equal places the first is written last
    return first
