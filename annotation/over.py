"""Sums over a query that the ORM can write but not sum up again: of window functions, and of sums themselves."""

from typing import Any

from django.db import connections
from django.db.models import QuerySet


def select_over(inner: QuerySet[Any, Any], outer: str) -> list[tuple[Any, ...]]:
    """Return the rows of `outer`, a SELECT that reads FROM found: the rows of `inner` under the names of its values.

    outer : written by a programmer, never put together from what somebody sent; values belong into `inner`
    """
    sql, parameters = inner.order_by().query.sql_with_params()
    with connections[inner.db].cursor() as cursor:
        cursor.execute(f"WITH found AS ({sql}) {outer}", parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
