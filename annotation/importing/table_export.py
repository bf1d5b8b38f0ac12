"""Exporting comparison tables in the format of `import_tables`."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from django.db.models import QuerySet

from annotation.models import ComparisonTable, Study

AT_ONCE = 200  # tables
# Takes primary keys of tables, and returns additional values of their lines.
More = Callable[[Sequence[int]], Mapping[int, Mapping[str, Any]]]


def table_lines(*, study: Study, variant: str = "", more: More | None = None) -> Iterator[str]:
    """Yield a line of JSON for each table, in the order of the pairs, with the study's A and B.

    Importing the lines into the same study changes nothing; the import ignores what `more` adds.
    """
    rows = _tables(study, variant).iterator(chunk_size=AT_ONCE)
    while some := list(islice(rows, AT_ONCE)):
        added = more([table.pk for table in some]) if more else {}
        for table in some:
            record = {**_record(table), **added.get(table.pk, {})}
            yield json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def _tables(study: Study, variant: str) -> QuerySet[ComparisonTable]:
    found = study.tables.filter(variant=variant) if variant else study.tables.all()
    related = ("pair__matchup__instance", "pair__matchup__system_a", "pair__matchup__system_b")
    ordered = found.select_related(*related).order_by(
        "pair__matchup__instance__position",
        "pair__matchup__system_a__position",
        "pair__matchup__system_b__position",
        "pair__index",
        "variant",
        "table_id",
    )
    return ordered.defer("pair__matchup__instance__source")


def _record(table: ComparisonTable) -> dict[str, Any]:
    matchup = table.pair.matchup
    return {
        "table_id": table.table_id,
        "instance_id": matchup.instance.instance_id,
        "system_a": matchup.system_a.name,
        "system_b": matchup.system_b.name,
        "pair_index": table.pair.index,
        "variant": table.variant,
        "aspects": table.aspects,
        "rows": table.rows,
        "made_by": table.made_by,
    }
