"""Aggregates over a CTE: of window functions, or of aggregates, which the ORM can't aggregate again."""

from typing import Any

from django.db import connections
from django.db.models import QuerySet


def select_from_cte(inner: QuerySet[Any, Any], outer: str) -> list[tuple[Any, ...]]:
    """Run the SELECT `outer` with `inner` as the CTE `found`, whose columns are named as in `inner.values()`.

    outer : a constant; parameters belong into `inner`
    """
    sql, parameters = inner.order_by().query.sql_with_params()
    with connections[inner.db].cursor() as cursor:
        cursor.execute(f"WITH found AS ({sql}) {outer}", parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
