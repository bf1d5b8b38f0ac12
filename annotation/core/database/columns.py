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
    found = compiler.execute_sql(chunked_fetch=True, chunk_size=CHUNK)
    chunks = [np.empty((0, len(columns))), *map(_numbers, found)]
    return np.ascontiguousarray(np.concatenate(chunks).T)


def _numbers(rows: Sequence[tuple[Any, ...]]) -> FloatArray:
    """Return rows as an array; one without NULL takes half the time."""
    try:
        return np.fromiter(chain.from_iterable(rows), np.float64).reshape(len(rows), -1)
    except TypeError:
        return np.array(rows, dtype=np.float64)


def code_of(conditions: Mapping[int, Q]) -> Case:
    """Return a column with the number of the first condition that holds; 0 where none does."""
    cases = (When(one, then=Value(number)) for number, one in conditions.items())
    return Case(*cases, default=Value(0), output_field=SmallIntegerField())


def flags_of(*conditions: Q) -> Combinable:
    """Return a column with the sum of a power of two for each condition that holds: 1 for the first, 2, 4 and so on."""
    flags = (code_of({1 << bit: one}) for bit, one in enumerate(conditions))
    return sum(flags, start=Value(0, SmallIntegerField()))


def packed(key: str, *codes: tuple[Combinable, int]) -> Combinable:
    """Return a column with a primary key and codes as digits of one number: the time goes by columns, not by their contents.

    codes : columns without NULL, each with the number of its values, which count from 0; all together is exact up to 2^53
    """
    whole: Combinable = F(key)
    for code, n in codes:
        whole = whole * n + code
    return ExpressionWrapper(whole, BigIntegerField())


def unpacked(column: FloatArray, *sizes: int) -> list[IntArray]:
    """Return the key and the codes of a column of `packed`, whose numbers of values are `sizes`."""
    rest, found = column.astype(np.int64), []
    for n in reversed(sizes):
        rest, code = np.divmod(rest, n)
        found.append(code)
    return [rest, *reversed(found)]


def places(known: IntArray, wanted: FloatArray | IntArray) -> IntArray:
    """Return the place of each wanted key among the known ones, which ascend; -1 where it is not known."""
    if not len(known):
        return np.full(len(wanted), -1, dtype=np.int64)
    keys, low, span = np.asarray(wanted).astype(np.int64), known[0], int(known[-1] - known[0]) + 1
    if span > CLOSE * len(known):
        found = np.searchsorted(known, keys).clip(0, len(known) - 1)
        return np.where(known[found] == keys, found, -1)
    place = np.full(span + 1, -1)  # by key from the lowest on, and last that of all that are not known
    place[known[::-1] - low] = np.arange(len(known))[::-1]  # of equal keys the first
    after_lowest = (keys - low).view(np.uint64)  # huge below it
    rows: IntArray = place[np.minimum(after_lowest, np.uint64(span)).view(np.int64)]
    return rows


def places_of_two(known: tuple[IntArray, IntArray], wanted: tuple[IntArray, IntArray]) -> IntArray:
    """Return the row of each wanted pair of numbers among the known ones, in any order; -1 where it is not known.

    The numbers are not negative, and their products below 2^63.
    """
    width = 1 + max((int(column.max(initial=0)) for _, column in (known, wanted)), default=0)
    keys = known[0] * width + known[1]
    order = np.argsort(keys, kind="stable")  # rows mostly come in order, which a stable sort makes use of
    found = places(keys[order], wanted[0] * width + wanted[1])
    return np.where(found >= 0, order[found], -1) if len(order) else found
