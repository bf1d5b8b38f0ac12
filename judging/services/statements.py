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
    marks = f"({', '.join(['%s'] * len(names))})"
    returning = f" RETURNING {', '.join(quoted(model, name) for name in wanted)}" if wanted else ""
    for part in parts(list(rows)):
        values = [value for row in part for value in adapted(row, adapt)]
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {table_of(model)} ({columns}) VALUES {', '.join([marks] * len(part))} "
                f"ON CONFLICT DO NOTHING{returning}",
                values,
            )
            found += cursor.fetchall() if wanted else []
    return found


def update_rows(model: Model, names: Sequence[str], rows: Iterable[Row], *, where: Sequence[str] = ("id",)) -> None:
    """Set fields, each row's to its own values; a row holds these and then the values of `where`, which find it."""
    adapt = adapters(model, names)
    ready = [adapted(row, adapt) for row in rows]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":  # each statement is a way there and back
            for part in parts(ready):
                cursor.execute(joined_update(model, names, where, len(part)), [one for row in part for one in row])
        elif ready:
            cursor.executemany(single_update(model, names, where), ready)


def single_update(model: Model, names: Sequence[str], where: Sequence[str]) -> str:
    """Return a statement that updates one row."""
    settings = ", ".join(f"{quoted(model, name)} = %s" for name in names)
    return (
        f"UPDATE {table_of(model)} SET {settings} WHERE {' AND '.join(f'{quoted(model, one)} = %s' for one in where)}"
    )


def joined_update(model: Model, names: Sequence[str], where: Sequence[str], count: int) -> str:
    """Return a statement that updates so many rows, joined to a list of their values."""
    every = [*names, *where]
    places = [f"v{place}" for place in range(len(every))]
    typed = ", ".join(f"CAST(%s AS {column_of(model, name).db_type(connection)})" for name in every)
    plain = f", ({', '.join(['%s'] * len(every))})"  # the first row's types are those of the others
    settings = ", ".join(f"{quoted(model, name)} = given.{place}" for name, place in zip(names, places, strict=False))
    found_by = zip(where, places[len(names) :], strict=True)
    return (
        f"UPDATE {table_of(model)} AS kept SET {settings} FROM (VALUES ({typed}){plain * (count - 1)}) "
        f"AS given ({', '.join(places)}) "
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
    return found


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
