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
        rows = _fetch(plan.sql, _filled(plan.parameters, values))
        if plan.converters:
            rows = [list(row) for row in rows]
            for column, convert, expression in plan.converters:
                for row in rows:
                    row[column] = convert(row[column], expression, connection)
        return [plan.read(row) for row in rows]

    def first(self, **values: Any) -> Row | None:
        """Run the query and return the first row, or None."""
        return next(iter(self.all(**values)), None)

    def _compile(self) -> "_Plan":
        queryset = self._build(**self._placeholders)
        compiler = queryset.query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        read: Callable[[Sequence[Any]], Any] = (lambda row: row[0]) if compiler.col_count == 1 else tuple
        plan = _Plan(
            sql=sql,
            parameters=_with_places(parameters, self._placeholders),
            converters=[
                (index, convert, expression)
                for index, (converts, expression) in compiler.get_converters(
                    [item[0] for item in compiler.select]
                ).items()
                for convert in converts
            ],
            read=_model_reader(compiler) if queryset.query.default_cols else read,
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
    """Inserts rows of a model and sets their primary keys, as `bulk_create` does. No signal is sent."""

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
        row_of_values = f"({', '.join(['%s'] * len(self._fields))})"
        table, key = name(self._model._meta.db_table), name(str(self._model._meta.pk.column))
        sql = f"INSERT INTO {table} ({columns}) VALUES {', '.join([row_of_values] * count)} RETURNING {key}"  # noqa: S608  # names of our own, values as parameters
        self._plans[connection.vendor, count] = sql
        return sql


def _prepared(field: "Field[Any, Any]", value: Any) -> Any:
    """Return a value for a column. What drivers take as it is needs no preparation, except in JSON."""
    if type(value) in _TAKEN_AS_IT_IS and not isinstance(field, JSONField):
        return value
    return field.get_db_prep_save(value, connection)


@dataclass(frozen=True)
class _Place:
    """The position of a parameter."""

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

    def run(sql: str, parameters: list[Any], _is_many: bool, _context: Any) -> Found:
        if database.vendor == "sqlite":
            return read(database.connection.execute(_for_sqlite(sql), parameters))
        from psycopg import Cursor  # 8 MB in each process, not needed with SQLite

        with Cursor(database.connection) as bound_by_server:
            return read(bound_by_server.execute(sql, parameters, prepare=True))

    with database.wrap_database_errors:
        rows: Found = measured(run, sql, parameters, False, {})
    return rows


@cache
def _for_sqlite(sql: str) -> str:
    """Return SQL with SQLite's placeholders."""
    return sql.replace("%%", "\0").replace("%s", "?").replace("\0", "%")


def _model_reader(compiler: Any) -> Callable[[Sequence[Any]], Any]:
    """Return a function that makes instances, with their select_related ones, as Django's `ModelIterable` does."""
    info = compiler.klass_info
    model, columns = info["model"], info["select_fields"]
    start, end = columns[0], columns[-1] + 1
    names = [column[0].target.attname for column in compiler.select[start:end]]
    related = get_related_populators(info, compiler.select, DEFAULT_DB_ALIAS)  # type: ignore[call-arg]
    annotations = list(compiler.annotation_col_map.items())

    def read(row: Sequence[Any]) -> Any:
        instance = model.from_db(DEFAULT_DB_ALIAS, names, row[start:end])
        for relation in related:
            relation.populate(row, instance)
        for name, column_index in annotations:
            setattr(instance, name, row[column_index])
        return instance

    return read


def _placeholders(build: Callable[..., Any]) -> dict[str, Any]:
    """Return a placeholder for each parameter, by which it is found in the compiled SQL."""
    kinds = {name: parameter.annotation for name, parameter in signature(build).parameters.items()}
    return {name: _placeholder(kind, index) for index, (name, kind) in enumerate(kinds.items())}


def _with_places(parameters: Iterable[Any], placeholders: dict[str, Any]) -> list[Any]:
    """Mark where each parameter goes. The other values are the same in each run."""
    names = {_stored(placeholder): name for name, placeholder in placeholders.items()}
    return [
        _Place(names[parameter])
        if isinstance(parameter, int | float | str | datetime) and parameter in names
        else parameter
        for parameter in parameters
    ]


def _filled(parameters: Iterable[Any], values: dict[str, Any]) -> list[Any]:
    stored = {name: _stored(value) for name, value in values.items()}
    return [stored[parameter.name] if isinstance(parameter, _Place) else parameter for parameter in parameters]


def _placeholder(kind: Any, position: int) -> Any:
    if kind is int:
        return _FIRST_INT + position
    if kind is float:
        return _FIRST_INT + position + 0.5
    if kind is str:
        return f"placeholder {position} of a text"
    if kind is datetime:
        return _FIRST_TIME.replace(microsecond=position)
    raise TypeError(f"a prepared query takes int, float, str and datetime, not {kind}")


def _stored(value: Any) -> Any:
    return connection.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value


def log_slow_queries(*, connection: BaseDatabaseWrapper, **_signal: Any) -> None:
    """Measure the statements of a new connection (receiver of `connection_created`)."""
    if settings.SLOW_QUERY_SECONDS and measured not in connection.execute_wrappers:
        connection.execute_wrappers.append(measured)


def measured(execute: Callable[..., Any], sql: Any, params: Any, is_many: bool, context: Any) -> Any:
    """Run a statement, as a wrapper of Django's, and log it if it was slow."""
    begun = time.perf_counter()
    try:
        return execute(sql, params, is_many, context)
    finally:
        if 0 < settings.SLOW_QUERY_SECONDS <= (seconds := time.perf_counter() - begun):
            logger.warning("%.2f s: %s", seconds, " ".join(str(sql).split())[:LONGEST])
