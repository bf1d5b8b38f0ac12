"""Numbers of many rows as arrays, and finding rows by their keys."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import Case, Q, QuerySet, Value, When
from django.db.models.expressions import Combinable

from analysis.types import FloatArray, IntArray

CHUNK = 2_000  # rows: few enough that their objects stay in the processor's cache


def number_columns(rows: QuerySet[Any, Any], *columns: str | Combinable) -> FloatArray:
    """Read numeric and boolean columns, NULL as NaN.

    The database's values are taken as they are: Django's conversion, value by value, would take longer than the query.

    columns : as for `values_list`; of boolean ones SQLite's driver calls a function for each value, but not of `code_of`. Whole numbers are exact up to 2^53
    returns : (len(columns), n)
    """
    try:
        sql, parameters = rows.values_list(*columns).query.get_compiler(rows.db).as_sql()
    except EmptyResultSet:
        return np.empty((len(columns), 0))
    chunks = [np.empty((0, len(columns)))]
    with connections[rows.db].cursor() as cursor:
        cursor.execute(sql, parameters)
        while chunk := cursor.fetchmany(CHUNK):
            chunks.append(np.array(chunk, dtype=np.float64))
    return np.ascontiguousarray(np.concatenate(chunks).T)


def code_of(conditions: Mapping[int, Q]) -> Case:
    """Return a column with the number of the first condition that holds; 0 where none does."""
    return Case(*(When(one, then=Value(number)) for number, one in conditions.items()), default=Value(0))


def places(known: IntArray, wanted: FloatArray | IntArray) -> IntArray:
    """Return the place of each wanted key among the known ones, which ascend; -1 where it is not known."""
    if not len(known):
        return np.full(len(wanted), -1, dtype=np.int64)
    keys = np.asarray(wanted).astype(np.int64)
    found = np.searchsorted(known, keys).clip(0, len(known) - 1)
    return np.where(known[found] == keys, found, -1)


def places_of_two(known: tuple[IntArray, IntArray], wanted: tuple[IntArray, IntArray]) -> IntArray:
    """Return the row of each wanted pair of numbers among the known ones, in any order; -1 where it is not known.

    The numbers are not negative, and the greatest products of the two below 2^63.
    """
    width = 1 + max((int(column.max(initial=0)) for _, column in (known, wanted)), default=0)
    keys = known[0] * width + known[1]
    order = np.argsort(keys, kind="stable")  # rows mostly come in order, which a stable sort makes use of
    found = places(keys[order], wanted[0] * width + wanted[1])
    return np.where(found >= 0, order[found], -1) if len(order) else found
