"""How tables were made, for the file of a study's tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from judging.models import TableMaking


def makings_of(tables: Sequence[int]) -> Mapping[int, Mapping[str, Any]]:
    """Return for each of some tables, by primary key, the making of it: samples, bracket, winner. Not all have one."""
    # The last one stays: that of the first judgment.
    makings = TableMaking.objects.filter(table__in=tables).order_by("-judgment").values_list("table_id", "record")
    return {table: {"making": record} for table, record in makings if table is not None}
