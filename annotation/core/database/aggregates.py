"""Groups of rows, and aggregates of aggregates or window functions over a CTE."""

from collections.abc import Hashable, Iterable
from typing import Any, TypeVar

from django.db import connections
from django.db.models import QuerySet

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Return the values of each key, in the order of the pairs."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def select_from_cte(inner: QuerySet[Any, Any], outer: str) -> list[tuple[Any, ...]]:
    """Run the SELECT `outer` with `inner` as the CTE `found`, whose columns are named as in `inner.values()`.

    outer : a constant; parameters belong into `inner`
    """
    sql, parameters = inner.order_by().query.sql_with_params()
    with connections[inner.db].cursor() as cursor:
        cursor.execute(f"WITH found AS ({sql}) {outer}", parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
