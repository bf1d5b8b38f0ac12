"""Plain statements for many rows at once: models would cost most of the time that a group of answers takes."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from django.db import connection, models

PART = 500  # rows that one statement names
T = TypeVar("T")
Row = Sequence[Any]
Model = type[models.Model]
Adapter = Callable[[Any], Any]


def insert_rows(model: Model, names: Sequence[str], rows: Iterable[Row], *, wanted: Sequence[str] = ()) -> list[Any]:
    """Insert rows, but for those that are there already; return the `wanted` fields of the new ones."""
    adapt = adapters(model, names)
    found: list[Any] = []
    columns = ", ".join(quoted(model, name) for name in names)
    returning = f" RETURNING {', '.join(quoted(model, name) for name in wanted)}" if wanted else ""
    for part in parts(list(rows)):
        source, values = listed(model, names, [adapted(row, adapt) for row in part])
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {table_of(model)} ({columns}) {source} ON CONFLICT DO NOTHING{returning}", values
            )
            found += cursor.fetchall() if wanted else []
    return found


def listed(model: Model, names: Sequence[str], rows: Sequence[Row]) -> tuple[str, list[Any]]:
    """Return what makes a table of rows in a statement, and its parameters.

    PostgreSQL is given a list for each column: thousands of single values take it, and the way there, many times as long.
    """
    if connection.vendor == "postgresql":
        typed = ", ".join(f"CAST(%s AS {list_type(column_of(model, name))}[])" for name in names)
        return f"SELECT * FROM unnest({typed})", [list(column) for column in zip(*rows, strict=True)]
    marks = f"({', '.join(['%s'] * len(names))})"
    return f"VALUES {', '.join([marks] * len(rows))}", [value for row in rows for value in row]


def list_type(column: "models.Field[Any, Any]") -> str:
    """Return of what PostgreSQL takes a list; a text that is too long for its column is to fail, and not to be cut."""
    return "text" if isinstance(column, models.CharField) else str(column.db_type(connection))


def update_rows(model: Model, names: Sequence[str], rows: Iterable[Row], *, where: Sequence[str] = ("id",)) -> None:
    """Set fields, each row's to its own values; a row holds these and then the values of `where`, which find it."""
    every = [*names, *where]
    adapt = adapters(model, every)
    ready = [adapted(row, adapt) for row in rows]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":  # each statement is a way there and back
            for part in parts(ready):
                source, values = listed(model, every, part)
                cursor.execute(joined_update(model, names, where, source), values)
        elif ready:
            cursor.executemany(single_update(model, names, where), ready)


def single_update(model: Model, names: Sequence[str], where: Sequence[str]) -> str:
    """Return a statement that updates one row."""
    settings = ", ".join(f"{quoted(model, name)} = %s" for name in names)
    return (
        f"UPDATE {table_of(model)} SET {settings} WHERE {' AND '.join(f'{quoted(model, one)} = %s' for one in where)}"
    )


def joined_update(model: Model, names: Sequence[str], where: Sequence[str], source: str) -> str:
    """Return a statement that updates rows, joined to a table of their values."""
    places = [f"v{place}" for place in range(len(names) + len(where))]
    settings = ", ".join(f"{quoted(model, name)} = given.{place}" for name, place in zip(names, places, strict=False))
    found_by = zip(where, places[len(names) :], strict=True)
    return (
        f"UPDATE {table_of(model)} AS kept SET {settings} FROM ({source}) AS given ({', '.join(places)}) "
        f"WHERE {' AND '.join(f'kept.{quoted(model, name)} = given.{place}' for name, place in found_by)}"
    )


def adapters(model: Model, names: Sequence[str]) -> list[tuple[int, Adapter]]:
    """Return, for each column whose values the database takes in another form, its place and what makes that form."""
    found: list[tuple[int, Adapter]] = []
    for place, name in enumerate(names):
        column = column_of(model, name)
        if isinstance(column, models.JSONField):
            found.append((place, json.dumps))
        elif isinstance(column, models.DateTimeField):
            found.append((place, connection.ops.adapt_datetimefield_value))
        elif isinstance(column, models.DecimalField):
            found.append((place, decimal_adapter(column)))
        elif connection.vendor == "postgresql" and (plain := plain_type(column)):
            found.append((place, plain))
    return found


def plain_type(column: "models.Field[Any, Any]") -> Adapter | None:
    """Return the type that all values of a column have: in one list there may be no members of an enumeration as well."""
    kinds: list[tuple[type[models.Field[Any, Any]], Adapter]] = [
        (models.FloatField, float),
        (models.IntegerField, int),
        (models.CharField, str),
        (models.TextField, str),
    ]
    return next((plain for kind, plain in kinds if isinstance(column, kind)), None)


def decimal_adapter(column: "models.DecimalField[Any, Any]") -> Adapter:
    """Return what makes a decimal of a column's size."""
    digits, places = column.max_digits, column.decimal_places
    return lambda value: connection.ops.adapt_decimalfield_value(value, digits, places)


def adapted(row: Row, adapt: Sequence[tuple[int, Adapter]]) -> list[Any]:
    """Return a row in the form that the database takes."""
    values = list(row)
    for place, make in adapt:
        if values[place] is not None:
            values[place] = make(values[place])
    return values


def column_of(model: Model, name: str) -> "models.Field[Any, Any]":
    """Return the field that is a column of a table."""
    found = model._meta.get_field(name)
    if not isinstance(found, models.Field):
        raise TypeError(f"{name} is no column of {model.__name__}")
    return found


def quoted(model: Model, name: str) -> str:
    """Return the name of a field's column, quoted."""
    return connection.ops.quote_name(str(column_of(model, name).column))


def table_of(model: Model) -> str:
    """Return the name of a model's table, quoted."""
    return connection.ops.quote_name(model._meta.db_table)


def parts(entries: Sequence[T]) -> Iterable[Sequence[T]]:
    """Split a list into what one statement takes."""
    return (entries[start : start + PART] for start in range(0, len(entries), PART))
