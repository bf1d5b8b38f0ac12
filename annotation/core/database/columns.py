"""Numbers of many rows as arrays, and finding rows by their keys."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import (
    Case,
    ForeignKey,
    IntegerField,
    PositiveSmallIntegerField,
    Q,
    QuerySet,
    SmallIntegerField,
    Value,
    When,
)
from django.db.models.expressions import Combinable

from analysis.types import FloatArray, IntArray

CHUNK = 2_000  # rows: few enough that their objects stay in the processor's cache
FIRST, BITS = 1 << 16, 20  # SQLite's characters beyond the first 2^16 are a digit of 20 bits


def number_columns(rows: QuerySet[Any, Any], *columns: str | Combinable) -> FloatArray:
    """Read numeric columns, NULL as NaN.

    Django's conversion, value by value, would take longer than the query, and so would the driver's: PostgreSQL sends its binary
    form, and SQLite packs whole numbers into one text.

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
                return _copied(cursor.cursor, sql, parameters, len(fields))
        if all(isinstance(field, IntegerField | ForeignKey) for field in fields):
            packed = _packed(cursor, sql, parameters, fields)
            if packed is not None:
                return packed
        return _fetched(cursor, sql, parameters, len(fields))


def _copied(cursor: Any, sql: str, parameters: Sequence[Any], n: int) -> FloatArray:
    """Copy rows from PostgreSQL in its binary form: a header, for each row its size and that of each value, a trailer."""
    names = [f"c{place}" for place in range(n)]
    values = ", ".join(f"coalesce({name}::float8, 'NaN')" for name in names)
    rows = f"WITH found({', '.join(names)}) AS ({sql}) SELECT {values} FROM found"  # noqa: S608  # Django's statement
    with cursor.copy(f"COPY ({rows}) TO STDOUT (FORMAT binary)", parameters) as copy:
        sent = b"".join(copy)
    row = np.dtype([("n", ">i2"), ("values", [("size", ">i4"), ("value", ">f8")], (n,))])
    table = np.frombuffer(sent, row, count=(len(sent) - 21) // row.itemsize, offset=19)
    return np.ascontiguousarray(table["values"]["value"].T, dtype=np.float64)


def _packed(cursor: Any, sql: str, parameters: Sequence[Any], fields: Sequence[Any]) -> FloatArray | None:
    """Read whole numbers from SQLite as one text, whose characters are their digits; None if one has too many.

    A number has half the range added, so that 0 stands for NULL: those of two digits lie within 2^39 of 0.
    """
    digits = [1 if isinstance(field, SmallIntegerField | PositiveSmallIntegerField) else 2 for field in fields]
    characters = []
    for place, n in enumerate(digits):
        number = f"coalesce(c{place} + {_half(n)}, 0)"
        characters += [f"{FIRST} + ({number} >> {BITS})"] * (n - 1) + [f"{FIRST} + ({number} & {(1 << BITS) - 1})"]
    names = ", ".join(f"c{place}" for place in range(len(digits)))
    text = f"group_concat(char({', '.join(characters)}), '')"
    cursor.execute(f"WITH found({names}) AS ({sql}) SELECT {text} FROM found", parameters)  # noqa: S608  # Django's statement
    found = cursor.fetchone()[0] or ""
    table = np.frombuffer(found.encode("utf-32-le", "surrogatepass"), dtype="<u4").reshape(-1, len(characters))
    if table.min(initial=FIRST) < FIRST:  # of a number out of range
        return None
    values = (table - np.uint32(FIRST)).T.astype(np.float64, order="C")
    columns, first = np.empty((len(digits), len(table))), 0
    for column, n in zip(columns, digits, strict=True):
        number = values[first] if n == 1 else values[first] * (1 << BITS) + values[first + 1]
        column[:] = np.where(number > 0, number - _half(n), np.nan)
        first += n
    return columns


def _half(digits: int) -> int:
    return 1 << (BITS * digits - 1)


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
