"""The makings of tables, for the file of a study's tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from judging.models import TableMaking


def makings_of(tables: Sequence[int]) -> Mapping[int, Mapping[str, Any]]:
    """Return the making (samples, bracket, winner) of each of some tables that has one, by primary key."""
    # Of several makings the first judgment's counts.
    makings = TableMaking.objects.filter(table__in=tables).order_by("-judgment").values_list("table_id", "record")
    return {table: {"making": record} for table, record in makings if table is not None}
