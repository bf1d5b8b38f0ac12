"""Prepared queries: written with the ORM, compiled to SQL once per process, and run with other values.

Building a queryset and its SQL takes many times as long as the database takes to answer, and is most of the time that
raters wait for a page. A prepared query returns the same objects as the queryset.

This module alone depends on Django 5.2's query compiler; tests/annotation/core/database/test_prepared.py compares prepared
queries with plain ones. Slow statements are logged here too, prepared or not, with placeholders in place of their values.
"""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from inspect import signature
from types import NoneType
from typing import Any, Generic, TypeVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Field, JSONField, Model, QuerySet
from django.db.models.query import get_related_populators
from django.db.models.sql.subqueries import UpdateQuery
from django.db.transaction import TransactionManagementError

logger = logging.getLogger(__name__)
Row = TypeVar("Row")
Found = TypeVar("Found")
AnyModel = TypeVar("AnyModel", bound=Model)
LONGEST = 2_000  # characters of a statement in the log
_TAKEN_AS_IT_IS = (int, str, bool, NoneType)
# Placeholders that no constant in a query equals, and that every kind of column takes: a small integer's, on PostgreSQL, has
# at most 32,767, and Django replaces a comparison with more by “no rows”.
_FIRST_INT, _FIRST_TIME = 31_987, datetime(1901, 2, 3, 4, 5, 6, tzinfo=UTC)


class Prepared(Generic[Row]):
    """A SELECT with named parameters of type int, float, str or datetime, as annotated on `build`.

    build : returns a queryset of model instances or of `values_list`. It is called once, with placeholders, so it must
            not depend on the values of its arguments.
    """

    def __init__(self, build: Callable[..., "QuerySet[Any, Row]"]) -> None:
        self._build = build
        self._plans: dict[str, _Plan] = {}
        self._placeholders = _placeholders(build)

    def all(self, **values: Any) -> list[Row]:
        """Run the query and return every row."""
        plan = self._plans.get(connection.vendor) or self._compile()
        if plan.locks and connection.get_autocommit():
            raise TransactionManagementError("select_for_update cannot be used outside of a transaction.")
        found = _fetch(plan.sql, _filled(plan.parameters, values))
        return [plan.read(row) for row in (_converted(found, plan) if plan.converters else found)]

    def first(self, **values: Any) -> Row | None:
        """Run the query and return the first row, or None."""
        return next(iter(self.all(**values)), None)

    def _compile(self) -> "_Plan":
        queryset = self._build(**self._placeholders)
        compiler = queryset.query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        plan = _Plan(
            sql=sql,
            parameters=_with_places(parameters, self._placeholders),
            converters=[
                (place, convert, expression)
                for place, (converts, expression) in compiler.get_converters(
                    [one[0] for one in compiler.select]
                ).items()
                for convert in converts
            ],
            read=_model_reader(compiler) if queryset.query.default_cols else _plain_reader(compiler),
            locks=bool(queryset.query.select_for_update),
        )
        self._plans[connection.vendor] = plan
        return plan


class PreparedUpdate:
    """An UPDATE with named parameters.

    build : returns a queryset and the fields to set; called once, with placeholders, as by `Prepared`
    """

    def __init__(self, build: Callable[..., "tuple[QuerySet[Any], dict[str, Any]]"]) -> None:
        self._build = build
        self._plans: dict[str, tuple[str, list[Any]]] = {}
        self._placeholders = _placeholders(build)

    def run(self, **values: Any) -> int:
        """Run the update and return how many rows it changed."""
        sql, parameters = self._plans.get(connection.vendor) or self._compile()
        return _execute(sql, _filled(parameters, values), lambda cursor: int(cursor.rowcount))

    def _compile(self) -> tuple[str, list[Any]]:
        queryset, changes = self._build(**self._placeholders)
        query: Any = queryset.order_by().query.chain(UpdateQuery)
        query.add_update_values(changes)
        sql, parameters = query.get_compiler(connection=connection).as_sql()
        plan = sql, _with_places(parameters, self._placeholders)
        self._plans[connection.vendor] = plan
        return plan


class PreparedInsert(Generic[AnyModel]):
    """Inserts rows of a model and sets their primary keys, as `bulk_create` does; no signal is sent."""

    def __init__(self, model: type[AnyModel]) -> None:
        self._model = model
        self._fields = [field for field in model._meta.concrete_fields if not (field.primary_key or field.generated)]
        self._plans: dict[tuple[str, int], str] = {}

    def run(self, rows: Sequence[AnyModel]) -> None:
        """Insert rows in one statement."""
        if not rows:
            return
        sql = self._plans.get((connection.vendor, len(rows))) or self._compile(len(rows))
        parameters = [_prepared(field, field.pre_save(row, add=True)) for row in rows for field in self._fields]
        for row, (pk,) in zip(rows, _fetch(sql, parameters), strict=True):
            row.pk = pk
            row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS

    def _compile(self, count: int) -> str:
        name = connection.ops.quote_name
        columns = ", ".join(name(str(field.column)) for field in self._fields)
        one = f"({', '.join(['%s'] * len(self._fields))})"
        table, key = name(self._model._meta.db_table), name(str(self._model._meta.pk.column))
        sql = f"INSERT INTO {table} ({columns}) VALUES {', '.join([one] * count)} RETURNING {key}"  # noqa: S608  # names of our own, values as parameters
        self._plans[connection.vendor, count] = sql
        return sql


def _prepared(field: "Field[Any, Any]", value: Any) -> Any:
    """Return a value for a column; what drivers take as it is needs no preparation, except in JSON."""
    if type(value) in _TAKEN_AS_IT_IS and not isinstance(field, JSONField):
        return value
    return field.get_db_prep_save(value, connection)


@dataclass(frozen=True)
class _Place:
    """Where a parameter goes."""

    name: str


@dataclass(frozen=True)
class _Plan:
    """A compiled query, and how its rows are read."""

    sql: str
    parameters: list[Any]
    converters: list[tuple[int, Callable[[Any, Any, Any], Any], Any]]
    read: Callable[[Sequence[Any]], Any]
    locks: bool


def _fetch(sql: str, parameters: list[Any]) -> list[Any]:
    """Run SQL and return its rows."""
    return _execute(sql, parameters, lambda cursor: list(cursor.fetchall()))


def _execute(sql: str, parameters: list[Any], read: Callable[[Any], Found]) -> Found:
    """Run SQL on the driver's connection, or by Django's cursor if queries are logged or wrapped.

    PostgreSQL prepares the statement: planning takes longer than executing.
    """
    database = connections[DEFAULT_DB_ALIAS]
    if database.queries_logged or any(wrapper is not measured for wrapper in database.execute_wrappers):
        with database.cursor() as cursor:
            cursor.execute(sql, parameters)
            return read(cursor)
    database.close_if_health_check_failed()  # as a cursor does: this may be the first query of a request
    database.ensure_connection()
    database.validate_no_broken_transaction()

    def run(sql: str, parameters: list[Any], _many: bool, _context: Any) -> Found:
        if database.vendor == "sqlite":
            return read(database.connection.execute(_for_sqlite(sql), parameters))
        from psycopg import Cursor  # 8 MB in each process, not needed with SQLite

        with Cursor(database.connection) as bound_by_server:
            return read(bound_by_server.execute(sql, parameters, prepare=True))

    with database.wrap_database_errors:
        found: Found = measured(run, sql, parameters, False, {})
    return found


@cache
def _for_sqlite(sql: str) -> str:
    """Return SQL with SQLite's placeholders."""
    return sql.replace("%%", "\0").replace("%s", "?").replace("\0", "%")


def _converted(rows: Iterable[Sequence[Any]], plan: _Plan) -> list[list[Any]]:
    """Return rows with the fields' converters applied."""
    converted = [list(row) for row in rows]
    for place, convert, expression in plan.converters:
        for row in converted:
            row[place] = convert(row[place], expression, connection)
    return converted


def _plain_reader(compiler: Any) -> Callable[[Sequence[Any]], Any]:
    return (lambda row: row[0]) if compiler.col_count == 1 else tuple


def _model_reader(compiler: Any) -> Callable[[Sequence[Any]], Any]:
    """Return a function that makes instances, with their select_related ones, as Django's `ModelIterable` does."""
    info = compiler.klass_info
    model, places = info["model"], info["select_fields"]
    start, end = places[0], places[-1] + 1
    names = [column[0].target.attname for column in compiler.select[start:end]]
    related = get_related_populators(info, compiler.select, DEFAULT_DB_ALIAS)  # type: ignore[call-arg]
    annotations = list(compiler.annotation_col_map.items())

    def read(row: Sequence[Any]) -> Any:
        found = model.from_db(DEFAULT_DB_ALIAS, names, row[start:end])
        for one in related:
            one.populate(row, found)
        for name, place in annotations:
            setattr(found, name, row[place])
        return found

    return read


def _placeholders(build: Callable[..., Any]) -> dict[str, Any]:
    """Return a placeholder for each parameter, by which it is found in the compiled SQL."""
    kinds = {name: parameter.annotation for name, parameter in signature(build).parameters.items()}
    return {name: _placeholder(kind, place) for place, (name, kind) in enumerate(kinds.items())}


def _with_places(parameters: Iterable[Any], placeholders: dict[str, Any]) -> list[Any]:
    """Mark where each parameter goes; the other values are the same in each run."""
    names = {_stored(placeholder): name for name, placeholder in placeholders.items()}
    return [
        _Place(names[one]) if isinstance(one, int | float | str | datetime) and one in names else one
        for one in parameters
    ]


def _filled(parameters: Iterable[Any], values: dict[str, Any]) -> list[Any]:
    stored = {name: _stored(value) for name, value in values.items()}
    return [stored[one.name] if isinstance(one, _Place) else one for one in parameters]


def _placeholder(kind: Any, place: int) -> Any:
    if kind is int:
        return _FIRST_INT + place
    if kind is float:
        return _FIRST_INT + place + 0.5
    if kind is str:
        return f"placeholder {place} of a text"
    if kind is datetime:
        return _FIRST_TIME.replace(microsecond=place)
    raise TypeError(f"a prepared query takes int, float, str and datetime, not {kind}")


def _stored(value: Any) -> Any:
    return connection.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value


def log_slow_queries(*, connection: BaseDatabaseWrapper, **_signal: Any) -> None:
    """Measure the statements of a new connection (receiver of `connection_created`)."""
    if settings.SLOW_QUERY_SECONDS and measured not in connection.execute_wrappers:
        connection.execute_wrappers.append(measured)


def measured(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
    """Run a statement, as a wrapper of Django's, and log it if it was slow."""
    begun = time.perf_counter()
    try:
        return execute(sql, params, many, context)
    finally:
        if 0 < settings.SLOW_QUERY_SECONDS <= (seconds := time.perf_counter() - begun):
            logger.warning("%.2f s: %s", seconds, " ".join(str(sql).split())[:LONGEST])
