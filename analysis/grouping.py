"""Groups of equal codes: what `numpy.unique` finds, without sorting where the codes lie close together."""

import math

import numpy as np

from analysis.types import IntArray

CLOSE = 16  # codes whose range is at most so many times their number are counted instead of sorted
FEW = 1 << 20  # or that have at most so many possible values
LARGEST = 1 << 62


def groups(codes: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct codes, ascending, and the place of each code among them.

    codes : (n,) integers
    """
    if not len(codes):
        return codes, np.empty(0, dtype=np.int64)
    low, high = int(codes.min()), int(codes.max())
    if high - low > max(CLOSE * len(codes), FEW):
        distinct, place = np.unique(codes, return_inverse=True)
        return distinct, place
    shifted = codes - low
    is_there = np.zeros(high - low + 1, dtype=bool)
    is_there[shifted] = True
    distinct = np.flatnonzero(is_there)
    place_of = np.empty(len(is_there), dtype=np.int64)
    place_of[distinct] = np.arange(len(distinct))
    return distinct + low, place_of[shifted]


def joint_codes(*columns: IntArray) -> IntArray:
    """Return one code for each row of several columns of integers; they ascend as the rows do, first column first."""
    spans = [int(column.max(initial=0)) - int(column.min(initial=0)) + 1 for column in columns]
    if math.prod(spans) > LARGEST:
        columns = tuple(groups(column)[1] for column in columns)
        spans = [int(column.max(initial=0)) + 1 for column in columns]
    joint = np.zeros(len(columns[0]), dtype=np.int64)
    for column, span in zip(columns, spans, strict=True):
        if int(joint.max(initial=0)) > LARGEST // span:
            joint = groups(joint)[1]
        joint = joint * span + (column - column.min(initial=0))
    return joint


def groups_of_rows(*columns: IntArray) -> tuple[tuple[IntArray, ...], IntArray]:
    """Return the distinct rows of several columns of integers, in ascending order, and the place of each row among them.

    columns : (n,) each
    returns : the columns of the distinct rows, and (n,) places
    """
    distinct, place = groups(joint_codes(*columns))
    first = _first_of_each(place, len(distinct))
    return tuple(column[first] for column in columns), place


def first_rows(*columns: IntArray) -> IntArray:
    """Return the rows that no earlier one equals, ascending."""
    distinct, place = groups(joint_codes(*columns))
    return np.sort(_first_of_each(place, len(distinct)))


def _first_of_each(place: IntArray, n: int) -> IntArray:
    first = np.empty(n, dtype=np.int64)
    first[place[::-1]] = np.arange(len(place))[::-1]  # of several equal places the first is written last
    return first
