"""Comparison tables, and how they were made, as the pages show them: cells beside their checks, rounds, the rejected."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.utils.translation import gettext as _

from analysis.table_checks import CELLS, SUPPORTED, Cell, CellCheck, Summary
from annotation.models import ComparisonTable, Flag, Pair
from judging.checked_tables import check_pair, rows_of, standing_flags
from judging.judges.sc2.record import KINDS
from judging.models import TableCheck, TableMaking

TURNED: Mapping[Cell, Cell] = {"only_a": "only_b", "both": "both", "only_b": "only_a"}
SIDES: Mapping[Cell, str] = {"only_a": "a", "both": "both", "only_b": "b"}


@dataclass(frozen=True)
class ShownCell:
    """One cell with what was found in it.

    supported : its words are, by the share that is asked for; `None` for a missing cell
    other_side : the other text's letter, of an only-cell
    cosines : by model, in the order of the table's vector checks
    """

    label: str
    side: str
    text: str
    check: CellCheck
    other_side: str
    cosines: Sequence[tuple[str, float]]

    @property
    def supported(self) -> bool | None:
        """Whether enough of its words stand in the text that it speaks of."""
        return None if self.check.support is None else self.check.support >= SUPPORTED


@dataclass(frozen=True)
class ShownRow:
    """One aspect, its cells from left to right, and the raters' flags on it."""

    aspect: str
    cells: Sequence[ShownCell]
    flags: Sequence[Flag]


@dataclass(frozen=True)
class Column:
    """What one side says, or both: a circle of the Venn-like view."""

    label: str
    side: str
    entries: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class ShownTable:
    """A table as it is shown, perhaps turned: B on the left."""

    rows: Sequence[ShownRow]
    labels: Sequence[str]
    summary: Summary
    turned: bool

    @property
    def columns(self) -> list[Column]:
        """The three parts of the Venn-like view, with what is there alone."""
        first = self.rows[0].cells if self.rows else []
        return [
            Column(
                one.label,
                one.side,
                [(row.aspect, row.cells[place].text) for row in self.rows if not row.cells[place].check.missing],
            )
            for place, one in enumerate(first)
        ]


@dataclass(frozen=True)
class ShownMatch:
    """Two tables that met, by their numbers from 1; a bye has no second one."""

    first: int
    second: int | None
    winner: int
    how: str
    reason: str


@dataclass(frozen=True)
class ShownSample:
    """One table that was drawn: won, rejected (`table` is there) or lost (`lost` says why)."""

    number: int
    wins: int | None
    won: bool
    lost: str
    table: ShownTable | None

    @property
    def key(self) -> str:
        """Its number as a text, for the names of elements."""
        return str(self.number)


@dataclass(frozen=True)
class ShownMaking:
    """How a table was made.

    rounds : number and matches of each
    lists  : aspects that were drawn up, each list or `None` for one that could not be read, and whether it was picked
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
        """Tables that could be read and did not win."""
        return [sample for sample in self.samples if sample.table and not sample.won]

    @property
    def lost(self) -> list[ShownSample]:
        """Answers that no table could be read from."""
        return [sample for sample in self.samples if sample.table is None]

    @property
    def standings(self) -> list[ShownSample]:
        """Tables by duels won, most first; nothing where none was held."""
        held = [sample for sample in self.samples if sample.wins is not None]
        return sorted(held, key=lambda sample: (-(sample.wins or 0), sample.number))


def show_table(table: ComparisonTable, *, turned: bool) -> ShownTable:
    """Show a stored table with its checks, those by vectors too, and the raters' flags on its rows."""
    flags: dict[int, list[Flag]] = {}
    standing = standing_flags(table.study).filter(table=table)
    for flag in standing.select_related("display__assignment__annotator").order_by("flagged_at", "pk"):
        flags.setdefault(flag.row or 0, []).append(flag)
    return show_rows(table.rows, table.pair, turned=turned, flags=flags, vectors=list(table.checks.order_by("model")))


def show_rows(
    stored: Sequence[Mapping[str, Any]],
    pair: Pair,
    *,
    turned: bool,
    flags: Mapping[int, Sequence[Flag]] | None = None,
    vectors: Sequence[TableCheck] = (),
) -> ShownTable:
    """Show the rows of a table in study order, or turned, with their checks against the texts of the pair."""
    labels: dict[Cell, str] = {"only_a": _("Only A"), "both": _("Both"), "only_b": _("Only B")}
    order = [TURNED[cell] for cell in CELLS] if turned else list(CELLS)
    found = check_pair(stored, pair)
    rows = [
        ShownRow(
            row["aspect"],
            [
                ShownCell(
                    labels[cell],
                    SIDES[cell],
                    row[cell],
                    found.rows[number][cell],
                    SIDES[TURNED[cell]].upper(),
                    _cosines(vectors, number, cell),
                )
                for cell in order
            ],
            (flags or {}).get(number, []),
        )
        for number, row in enumerate(rows_of(stored))
    ]
    return ShownTable(rows, [labels[cell] for cell in order], found.summary, turned)


def _cosines(vectors: Sequence[TableCheck], number: int, cell: Cell) -> list[tuple[str, float]]:
    found = [(check.model, check.found["cells"][number][cell]) for check in vectors]
    return [(model, cosine) for model, cosine in found if cosine is not None]


def show_making(making: TableMaking, pair: Pair, *, turned: bool) -> ShownMaking:
    """Show how a table was made: every table that was drawn, who met whom, and who won."""
    record = making.record
    wins = record["wins"]
    samples = [
        ShownSample(
            number=place + 1,
            wins=wins[place],
            won=place == record["winner"],
            lost=sample.get("lost", ""),
            table=show_rows(sample["rows"], pair, turned=turned) if "rows" in sample else None,
        )
        for place, sample in enumerate(record["samples"])
    ]
    aspects = record["aspects"]
    lists = [(place + 1, one, place == aspects.get("picked")) for place, one in enumerate(aspects.get("lists", []))]
    calls = sorted(record["calls"].items(), key=lambda call: KINDS.index(call[0]) if call[0] in KINDS else len(KINDS))
    return ShownMaking(making, record, _rounds(record), samples, lists, calls)


def _rounds(record: Mapping[str, Any]) -> list[tuple[int, list[ShownMatch]]]:
    return [
        (number, [_match(match) for match in held])
        for number, held in groupby(record["bracket"], key=lambda match: match["round"])
    ]


def _match(match: Mapping[str, Any]) -> ShownMatch:
    second = match.get("second")
    return ShownMatch(
        first=match["first"] + 1,
        second=None if second is None else second + 1,
        winner=match["winner"] + 1,
        how=match["how"],
        reason=match.get("reason", ""),
    )
