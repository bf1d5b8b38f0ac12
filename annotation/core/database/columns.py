"""Numbers of many rows as arrays, and finding rows by their keys."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import (
    BigIntegerField,
    Case,
    ExpressionWrapper,
    F,
    ForeignKey,
    IntegerField,
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
MISSING = -(1 << 62)  # stands for NULL in a text of whole numbers


def number_columns(rows: QuerySet[Any, Any], *columns: str | Combinable) -> FloatArray:
    """Read numeric columns, NULL as NaN.

    Django's conversion, value by value, would take longer than the query, and so would the driver's, or a message for each row:
    the database sends each column in one piece, PostgreSQL as a binary array and SQLite, if all numbers are whole, as text.

    columns : as for `values_list`; whole numbers are exact up to 2^53, conditions are given by `code_of`
    returns : (len(columns), n)
    """
    compiler = rows.values_list(*columns).query.get_compiler(rows.db)
    try:
        sql, parameters = compiler.as_sql()
    except EmptyResultSet:
        return np.empty((len(columns), 0))
    fields = [expression.output_field for expression, *_ in compiler.select]
    connection = connections[rows.db]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with connection.wrap_database_errors:
                return _arrays(cursor.cursor, sql, parameters, len(fields))
        if all(isinstance(field, IntegerField | ForeignKey) for field in fields):
            return _texts(cursor, sql, parameters, len(fields))
        return _fetched(cursor, sql, parameters, len(fields))


def _arrays(cursor: Any, sql: str, parameters: Sequence[Any], n: int) -> FloatArray:
    """Copy from PostgreSQL, in its binary form, one row with an array for each column; of six columns it holds 14 million rows.

    Sent are 21 bytes, for each array 24 and then the size of each value and the value, and 2 bytes; of no rows fewer.
    """
    statement = _in_one_row(sql, n, "array_agg(coalesce({}::float8, 'NaN'))")
    with cursor.copy(f"COPY ({statement}) TO STDOUT (FORMAT binary)", parameters) as copy:
        sent = b"".join(copy)
    rows = max(0, ((len(sent) - 23) // n - 24) // 12)
    column = np.dtype([("head", "V24"), ("values", [("size", ">i4"), ("value", ">f8")], (rows,))])
    if not rows:
        return np.empty((n, 0))
    return np.frombuffer(sent, column, count=n, offset=21)["values"]["value"].astype(np.float64)


def _texts(cursor: Any, sql: str, parameters: Sequence[Any], n: int) -> FloatArray:
    """Read each column of whole numbers from SQLite as one text, which NumPy parses in less time than the query takes."""
    cursor.execute(_in_one_row(sql, n, f"json_group_array(coalesce({{}}, {MISSING}))"), parameters)
    columns = np.array([np.fromstring(text[1:-1], np.int64, sep=",") for text in cursor.fetchone()])
    found = columns.astype(np.float64)
    found[columns == MISSING] = np.nan
    return found


def _in_one_row(sql: str, n: int, aggregate: str) -> str:
    """Return a statement that aggregates each of the n columns of Django's, in the order of its rows."""
    names = [f"c{place}" for place in range(n)]
    found = ", ".join(map(aggregate.format, names))
    return f"WITH found({', '.join(names)}) AS ({sql}) SELECT {found} FROM found"  # noqa: S608  # Django's statement


def _fetched(cursor: Any, sql: str, parameters: Sequence[Any], n: int) -> FloatArray:
    """Read rows as the driver's objects."""
    chunks = [np.empty((0, n))]
    cursor.execute(sql, parameters)
    while chunk := cursor.fetchmany(CHUNK):
        chunks.append(np.array(chunk, dtype=np.float64))
    return np.ascontiguousarray(np.concatenate(chunks).T)


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
