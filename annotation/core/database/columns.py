"""Numbers of many rows as arrays, and finding rows by their keys."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from django.db.models import (
    BigIntegerField,
    Case,
    ExpressionWrapper,
    F,
    Q,
    QuerySet,
    SmallIntegerField,
    Value,
    When,
)
from django.db.models.expressions import Combinable

from analysis.grouping import CLOSE
from analysis.types import FloatArray, IntArray

CHUNK = 2_000  # rows: few enough that their objects stay in the processor's cache


def number_columns(rows: QuerySet[Any, Any], *columns: str | Combinable) -> FloatArray:
    """Read numeric columns, NULL as NaN.

    columns : as for `values_list`; whole numbers are exact up to 2^53, conditions are given by `code_of`
    returns : (len(columns), n)
    """
    # Not `iterator()`, which spends two thirds of its time on tuples of converted values: arrays convert for themselves.
    compiler = rows.values_list(*columns).query.get_compiler(rows.db)
    result_chunks = compiler.execute_sql(chunked_fetch=True, chunk_size=CHUNK)
    chunks = [np.empty((0, len(columns))), *map(_numbers, result_chunks)]
    return np.ascontiguousarray(np.concatenate(chunks).T)


def _numbers(rows: Sequence[tuple[Any, ...]]) -> FloatArray:
    """Return rows as an array. One without NULL takes half the time."""
    try:
        return np.fromiter(chain.from_iterable(rows), np.float64).reshape(len(rows), -1)
    except TypeError:
        return np.array(rows, dtype=np.float64)


def code_of(conditions: Mapping[int, Q]) -> Case:
    """Return a column with the number of the first condition that holds, or 0 where none does."""
    cases = (When(condition, then=Value(number)) for number, condition in conditions.items())
    return Case(*cases, default=Value(0), output_field=SmallIntegerField())


def flags_of(*conditions: Q) -> Combinable:
    """Return a column with the sum of a power of two for each condition that holds: 1 for the first, 2, 4 and so on."""
    flags = (code_of({1 << bit: condition}) for bit, condition in enumerate(conditions))
    return sum(flags, start=Value(0, SmallIntegerField()))


def packed(key: str, *codes: tuple[Combinable, int]) -> Combinable:
    """Return a column with a primary key and codes as digits of one number: the time goes by columns, not by their contents.

    codes : columns without NULL, each with the number of its values, which count from 0; all together is exact up to 2^53
    """
    combined: Combinable = F(key)
    for code, n in codes:
        combined = combined * n + code
    return ExpressionWrapper(combined, BigIntegerField())


def unpacked(column: FloatArray, *sizes: int) -> list[IntArray]:
    """Return the key and the codes of a column of `packed`, whose numbers of values are `sizes`."""
    quotient, codes = column.astype(np.int64), []
    for n in reversed(sizes):
        quotient, code = np.divmod(quotient, n)
        codes.append(code)
    return [quotient, *reversed(codes)]


def places(values: IntArray, keys_wanted: FloatArray | IntArray) -> IntArray:
    """Return the place of each wanted key among the known ones, which ascend, or -1 where it is not known."""
    if not len(values):
        return np.full(len(keys_wanted), -1, dtype=np.int64)
    keys, low, span = np.asarray(keys_wanted).astype(np.int64), values[0], int(values[-1] - values[0]) + 1
    if span > CLOSE * len(values):
        positions = np.searchsorted(values, keys).clip(0, len(values) - 1)
        return np.where(values[positions] == keys, positions, -1)
    position_of = np.full(span + 1, -1)  # by key from the lowest on, and last that of all that are not known
    position_of[values[::-1] - low] = np.arange(len(values))[::-1]  # of equal keys the first
    after_lowest = (keys - low).view(np.uint64)  # huge below it
    rows: IntArray = position_of[np.minimum(after_lowest, np.uint64(span)).view(np.int64)]
    return rows


def places_of_two(values: tuple[IntArray, IntArray], pairs: tuple[IntArray, IntArray]) -> IntArray:
    """Return the row of each wanted pair of numbers among the known ones, in any order, or -1 where it is not known.

    The numbers are not negative, and their products below 2^63.
    """
    width = 1 + max((int(column.max(initial=0)) for _, column in (values, pairs)), default=0)
    keys = values[0] * width + values[1]
    order = np.argsort(keys, kind="stable")  # rows mostly come in order, which a stable sort makes use of
    positions = places(keys[order], pairs[0] * width + pairs[1])
    return np.where(positions >= 0, order[positions], -1) if len(order) else positions
