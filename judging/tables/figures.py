"""Figures of the creation of tables, by run and for the file of a study's tables."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.questions.questions import MAIN
from judging.methods.sc2.record import KINDS, shown_record
from judging.models import Completion, JudgeRun, Judgment, TableMaking

CHUNK = 500


@dataclass(frozen=True)
class TableFigures:
    """Counts of a run's tables.

    pairs        : of the run
    tables       : pairs with a published table
    marked       : pairs judged without a table; `why` is the reason for one of them
    lost_samples : drawn tables that could not be read, of all pairs with a table
    coins        : decisions by a seeded coin
    calls        : answers behind the run's judgments by kind, each counted once
    """

    pairs: int
    tables: int
    marked: int
    why: str
    lost_samples: int
    coins: int
    calls: dict[str, int]


def table_figures(run: JudgeRun) -> TableFigures:
    """Count the tables that a run has made so far for the main question, for which people are shown them."""
    cells = run.judgments.for_question(MAIN).order_by()
    makings = TableMaking.objects.filter(judgment__run=run, judgment__question=MAIN)
    lost, coins = 0, 0
    for record in makings.order_by("pk").values_list("record", flat=True).iterator(chunk_size=CHUNK):
        lost += sum("lost" in sample for sample in record["samples"])
        coins += record["coins"]
    used = (
        Completion.objects.filter(judgments__run=run, judgments__question=MAIN)
        .order_by()
        .values_list("pk", "kind")
        .distinct()
    )
    calls = Counter(kind for _, kind in used)
    marked = cells.filter(making=None).exclude(status__in=[Judgment.Status.PENDING, Judgment.Status.ERROR])
    return TableFigures(
        pairs=cells.values("pair").distinct().count(),
        tables=makings.exclude(table=None).values("table").distinct().count(),
        marked=marked.values("pair").distinct().count(),
        why=str(marked.order_by("pk").values_list("failure", flat=True).first() or ""),
        lost_samples=lost,
        coins=coins,
        calls={kind: calls[kind] for kind in (*KINDS, *sorted(calls.keys() - set(KINDS))) if calls[kind]},
    )


def makings_of(tables: Sequence[int]) -> Mapping[int, Mapping[str, Any]]:
    """Return the making (samples, bracket, winner) of each of some tables that has one, by primary key."""
    # Of several makings the first judgment's counts.
    makings = TableMaking.objects.filter(table__in=tables).order_by("-judgment").values_list("table_id", "record")
    return {table: {"making": shown_record(record)} for table, record in makings if table is not None}
