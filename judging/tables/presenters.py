"""Comparison tables and their making as the pages show them: cells with checks, rounds, rejected tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from analysis.judges.table_checks import CELLS, SUPPORTED, Cell, CellCheck, Summary
from annotation.models import ComparisonTable, Flag, Pair
from judging.methods.sc2.record import KINDS
from judging.models import TableCheck, TableMaking
from judging.tables.checked_tables import check_pair, rows_of, standing_flags

TURNED: Mapping[Cell, Cell] = {"only_a": "only_b", "both": "both", "only_b": "only_a"}
SIDES: Mapping[Cell, str] = {"only_a": "a", "both": "both", "only_b": "b"}


@dataclass(frozen=True)
class ShownCell:
    """One cell with its checks.

    supported  : enough of its words are in the text; `None` for a missing cell
    other_side : the other text's letter, for an only-cell
    scores     : by model, in the order of the table's checks
    """

    label: str
    side: str
    text: str
    check: CellCheck
    other_side: str
    scores: Sequence[tuple[str, float]]

    @property
    def supported(self) -> bool | None:
        """True if enough of its words are in the text that it is about."""
        return None if self.check.support is None else self.check.support >= SUPPORTED


@dataclass(frozen=True)
class ShownTableRow:
    """One aspect, its cells from left to right, and the raters' flags on it."""

    aspect: str
    cells: Sequence[ShownCell]
    flags: Sequence[Flag]


@dataclass(frozen=True)
class Column:
    """One part of the Venn-like view: one side, or both."""

    label: str
    side: str
    entries: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class ShownTable:
    """A table as it is shown. Turned: B on the left."""

    rows: Sequence[ShownTableRow]
    labels: Sequence[str]
    summary: Summary
    turned: bool

    @property
    def columns(self) -> list[Column]:
        """The three parts of the Venn-like view, without missing cells."""
        first = self.rows[0].cells if self.rows else []
        return [
            Column(
                item.label,
                item.side,
                [(row.aspect, row.cells[index].text) for row in self.rows if not row.cells[index].check.missing],
            )
            for index, item in enumerate(first)
        ]


@dataclass(frozen=True)
class ShownMatch:
    """A match of two tables, by numbers from 1. A bye has no second one."""

    first: int
    second: int | None
    winner: int
    how: str
    reason: str


@dataclass(frozen=True)
class ShownSample:
    """One drawn table: the winner, rejected (`table` is set) or lost (`lost` is the reason)."""

    number: int
    wins: int | None
    won: bool
    lost: str
    table: ShownTable | None

    @property
    def key(self) -> str:
        """Its number as text, for element ids."""
        return str(self.number)


@dataclass(frozen=True)
class ShownMaking:
    """The creation of a table.

    rounds : number and matches of each
    lists  : the sampled lists of aspects, `None` for an unparsed one, and whether each was picked
    """

    making: TableMaking
    record: Mapping[str, Any]
    rounds: Sequence[tuple[int, Sequence[ShownMatch]]]
    samples: Sequence[ShownSample]
    lists: Sequence[tuple[int, Sequence[str] | None, bool]]
    calls: Sequence[tuple[str, int]]

    @property
    def winner(self) -> ShownSample:
        """The table that won."""
        return next(sample for sample in self.samples if sample.won)

    @property
    def rejected(self) -> list[ShownSample]:
        """Parsed tables that did not win."""
        return [sample for sample in self.samples if sample.table and not sample.won]

    @property
    def lost(self) -> list[ShownSample]:
        """Answers without a readable table."""
        return [sample for sample in self.samples if sample.table is None]

    @property
    def standings(self) -> list[ShownSample]:
        """Tables by matches won, most first, or an empty string without matches."""
        ranked = [sample for sample in self.samples if sample.wins is not None]
        return sorted(ranked, key=lambda sample: (-(sample.wins or 0), sample.number))


def show_table(table: ComparisonTable, *, turned: bool) -> ShownTable:
    """Return a stored table with its checks and the raters' flags on its rows."""
    flags: dict[int, list[Flag]] = {}
    standing = standing_flags(table.study).filter(table=table)
    for flag in standing.select_related("display__assignment__annotator").order_by("flagged_at", "pk"):
        flags.setdefault(flag.row or 0, []).append(flag)
    return show_rows(table.rows, table.pair, turned=turned, flags=flags, checks=list(table.checks.order_by("model")))


def show_rows(
    stored: Sequence[Mapping[str, Any]],
    pair: Pair,
    *,
    turned: bool,
    flags: Mapping[int, Sequence[Flag]] | None = None,
    checks: Sequence[TableCheck] = (),
) -> ShownTable:
    """Return the rows of a table in study order, or turned, with their checks against the pair's texts."""
    labels: dict[Cell, str] = {"only_a": "Only A", "both": "Both", "only_b": "Only B"}
    order = [TURNED[cell] for cell in CELLS] if turned else list(CELLS)
    check = check_pair(stored, pair)
    rows = [
        ShownTableRow(
            row["aspect"],
            [
                ShownCell(
                    labels[cell],
                    SIDES[cell],
                    row[cell],
                    check.rows[number][cell],
                    SIDES[TURNED[cell]].upper(),
                    _scores(checks, number, cell),
                )
                for cell in order
            ],
            (flags or {}).get(number, []),
        )
        for number, row in enumerate(rows_of(stored))
    ]
    return ShownTable(rows, [labels[cell] for cell in order], check.summary, turned)


def _scores(checks: Sequence[TableCheck], number: int, cell: Cell) -> list[tuple[str, float]]:
    results = [(check.model, check.found["cells"][number][cell]) for check in checks]
    return [(model, score) for model, score in results if score is not None]


def show_making(making: TableMaking, pair: Pair, *, turned: bool) -> ShownMaking:
    """Return how a table was made: the drawn tables, the matches, the winner."""
    record = making.record
    wins = record["wins"]
    samples = [
        ShownSample(
            number=index + 1,
            wins=wins[index],
            won=index == record["winner"],
            lost=sample.get("lost", ""),
            table=show_rows(sample["rows"], pair, turned=turned) if "rows" in sample else None,
        )
        for index, sample in enumerate(record["samples"])
    ]
    aspects = record["aspects"]
    lists = [(index + 1, list_, index == aspects.get("picked")) for index, list_ in enumerate(aspects.get("lists", []))]
    calls = sorted(record["calls"].items(), key=lambda call: KINDS.index(call[0]) if call[0] in KINDS else len(KINDS))
    by_round = groupby(record["bracket"], key=lambda match: match["round"])
    rounds = [(number, list(map(_match, matches))) for number, matches in by_round]
    return ShownMaking(making, record, rounds, samples, lists, calls)


def _match(match: Mapping[str, Any]) -> ShownMatch:
    second = match.get("second")
    return ShownMatch(
        first=match["first"] + 1,
        second=None if second is None else second + 1,
        winner=match["winner"] + 1,
        how=match["how"],
        reason=match.get("reason", ""),
    )
