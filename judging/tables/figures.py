"""Figures on the tables that a run made."""

from collections import Counter
from dataclasses import dataclass

from judging.methods.sc2.record import KINDS
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
    """Count the tables that a run has made so far."""
    cells = run.judgments.order_by()
    makings = TableMaking.objects.filter(judgment__run=run)
    lost, coins = 0, 0
    for record in makings.order_by("pk").values_list("record", flat=True).iterator(chunk_size=CHUNK):
        lost += sum("lost" in sample for sample in record["samples"])
        coins += record["coins"]
    marked = cells.filter(making=None).exclude(status__in=[Judgment.Status.PENDING, Judgment.Status.ERROR])
    return TableFigures(
        pairs=cells.values("pair").distinct().count(),
        tables=makings.exclude(table=None).values("table").distinct().count(),
        marked=marked.values("pair").distinct().count(),
        why=str(marked.order_by("pk").values_list("failure", flat=True).first() or ""),
        lost_samples=lost,
        coins=coins,
        calls=calls_behind(run),
    )


def calls_behind(run: JudgeRun) -> dict[str, int]:
    """Count the answers behind a run's judgments by kind, each once."""
    used = Completion.objects.filter(judgments__run=run).order_by().values_list("pk", "kind").distinct()
    counts = Counter(kind for _, kind in used)
    return {kind: counts[kind] for kind in (*KINDS, *sorted(counts.keys() - set(KINDS))) if counts[kind]}
