"""Bulk INSERT and UPDATE in plain SQL: model instances would cost most of the time of a write."""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from django.db import IntegrityError, connection, models

from annotation.core.reasons import ReasonField

ROWS_PER_STATEMENT = 500  # keeps below the databases' limits on parameters
T = TypeVar("T")
Row = Sequence[Any]
Model = type[models.Model]
Adapter = Callable[[Any], Any]
BUILTIN: dict[Any, Adapter] = {
    models.FloatField: float,
    models.IntegerField: int,
    models.CharField: str,
    models.TextField: str,
}


def insert_rows(model: Model, names: Sequence[str], rows: Iterable[Row], *, returning: Sequence[str] = ()) -> list[Any]:
    """Insert rows, ignoring conflicts. Return the fields `returning` of the inserted rows."""
    adapt = column_adapters(model, names)
    rows_stored: list[Any] = []
    columns = ", ".join(quote_column(model, name) for name in names)
    returning = f" RETURNING {', '.join(quote_column(model, name) for name in returning)}" if returning else ""
    for part in chunked(list(rows)):
        source, values = values_source(model, names, [adapt_row(row, adapt) for row in part])
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {quote_table(model)} ({columns}) {source} ON CONFLICT DO NOTHING{returning}", values
            )
            rows_stored += cursor.fetchall() if returning else []
    return rows_stored


def insert_objects(rows: Sequence[models.Model]) -> list[int]:
    """Insert new objects of one model as `bulk_create` does, in a fraction of its time, and return their keys.

    Raises: IntegrityError where a constraint forbids one.
    """
    model = type(rows[0])
    names = [column.attname for column in model._meta.concrete_fields if not (column.primary_key or column.generated)]
    values = ([getattr(row, name) for name in names] for row in rows)
    keys = [key for (key,) in insert_rows(model, names, values, returning=("id",))]
    if len(keys) != len(rows):
        raise IntegrityError(f"{model._meta.db_table} has such a row already")
    for row, key in zip(rows, keys, strict=True):
        row.pk, row._state.adding = key, False
    return keys


def values_source(model: Model, names: Sequence[str], rows: Sequence[Row]) -> tuple[str, list[Any]]:
    """Return a VALUES source for rows, and its parameters.

    PostgreSQL gets one array per column: thousands of single parameters are many times slower to send and to plan.
    """
    if connection.vendor == "postgresql":
        columns = [find_column(model, name) for name in names]
        # A cast to varchar(n) would cut a text that is too long.
        types = ["text" if isinstance(column, models.CharField) else column.db_type(connection) for column in columns]
        # Arrays as text: psycopg would parse each value by regular expressions, which takes many times as long.
        arrays = [
            "{"
            + ",".join(
                "NULL" if value is None else '"' + str(value).replace("\\", r"\\").replace('"', r"\"") + '"'
                for value in values
            )
            + "}"
            for values in zip(*rows, strict=True)
        ]
        return f"SELECT * FROM unnest({', '.join(f'CAST(%s AS {kind}[])' for kind in types)})", arrays  # noqa: S608  # names of our own, values as parameters
    marks = f"({', '.join(['%s'] * len(names))})"
    return f"VALUES {', '.join([marks] * len(rows))}", [value for row in rows for value in row]


def update_rows(model: Model, names: Sequence[str], rows: Iterable[Row], *, where: Sequence[str] = ("id",)) -> None:
    """Update each row with its own values: a row holds those of `names`, then those of `where`, which select it."""
    every = [*names, *where]
    adapt = column_adapters(model, every)
    ready = [adapt_row(row, adapt) for row in rows]
    quoted = [quote_column(model, name) for name in every]
    settings, conditions = quoted[: len(names)], quoted[len(names) :]
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            setting, found_by = (
                ", ".join(f"{name} = %s" for name in settings),
                " AND ".join(f"{name} = %s" for name in conditions),
            )
            if ready:
                cursor.executemany(f"UPDATE {quote_table(model)} SET {setting} WHERE {found_by}", ready)  # noqa: S608  # as above
            return
        # Each statement is a round trip: rows are joined to a table of their values.
        given = [f"v{number}" for number in range(len(every))]
        setting = ", ".join(f"{name} = given.{value}" for name, value in zip(settings, given, strict=False))
        found_by = " AND ".join(
            f"kept.{name} = given.{value}" for name, value in zip(conditions, given[len(names) :], strict=True)
        )
        for part in chunked(ready):
            source, values = values_source(model, every, part)
            cursor.execute(
                f"UPDATE {quote_table(model)} AS kept SET {setting} FROM ({source}) AS given ({', '.join(given)}) "  # noqa: S608  # as above
                f"WHERE {found_by}",
                values,
            )


def column_adapters(model: Model, names: Sequence[str]) -> list[tuple[int, Adapter]]:
    """Return position and adapter of each column whose values must be converted for the database."""
    adapters: list[tuple[int, Adapter]] = []
    for index, name in enumerate(names):
        column = find_column(model, name)
        if isinstance(column, models.JSONField):
            adapters.append((index, json.dumps))
        elif isinstance(column, ReasonField):
            adapters.append((index, column.get_prep_value))
        elif isinstance(column, models.DateTimeField):
            adapters.append((index, connection.ops.adapt_datetimefield_value))
        elif isinstance(column, models.DecimalField):
            adapt, digits, decimals = connection.ops.adapt_decimalfield_value, column.max_digits, column.decimal_places
            adapters.append((index, partial(adapt, max_digits=digits, decimal_places=decimals)))
        elif connection.vendor == "postgresql":  # an array can't mix values with members of an enumeration
            plain = next((plain for kind, plain in BUILTIN.items() if isinstance(column, kind)), None)
            adapters += [(index, plain)] if plain else []
    return adapters


def adapt_row(row: Row, adapt: Sequence[tuple[int, Adapter]]) -> list[Any]:
    """Return a row with its values adapted for the database."""
    values = list(row)
    for index, make in adapt:
        if values[index] is not None:
            values[index] = make(values[index])
    return values


def find_column(model: Model, name: str) -> "models.Field[Any, Any]":
    """Return the model's field of this name, which must be a column."""
    column = model._meta.get_field(name)
    if not isinstance(column, models.Field):
        raise TypeError(f"{name} is no column of {model.__name__}")
    return column


def quote_column(model: Model, name: str) -> str:
    """Return the quoted name of a field's column."""
    return connection.ops.quote_name(str(find_column(model, name).column))


def quote_table(model: Model) -> str:
    """Return the quoted name of a model's table."""
    return connection.ops.quote_name(model._meta.db_table)


def chunked(entries: Sequence[T]) -> Iterable[Sequence[T]]:
    """Split a list into chunks that fit one statement."""
    return (entries[start : start + ROWS_PER_STATEMENT] for start in range(0, len(entries), ROWS_PER_STATEMENT))
