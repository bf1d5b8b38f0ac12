"""The JSON record of the creation of a table, as it is stored, shown and exported.

A method writes it in screen order, where `only_a` is about the text shown first; it is converted to study order, where
`only_a` is about system A's text, when it is stored.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from annotation.core.reasons import restored

Side = Literal["a", "b"]
How = Literal["comparator", "coin", "bye"]
KINDS = ("aspects", "table", "comparator", "verdict")  # of calls, in order: JSON columns don't keep it
MAKING = frozenset(KINDS[:-1])  # of the calls that create a table


class TableRow(TypedDict):
    """One aspect."""

    aspect: str
    only_a: str
    both: str
    only_b: str


class TableSample(TypedDict):
    """One sampled table: its rows, or code and values of the reason why there are none."""

    rows: NotRequired[list[TableRow]]
    lost: NotRequired[dict[str, Any]]


class Match(TypedDict):
    """A comparison of two tables, by their indices among the samples.

    first  : the table shown first
    second : the other; absent for a bye
    how    : decided by the comparator, by a seeded coin if its answer was unreadable, or a bye
    reason : the comparator's reason
    """

    round: int
    first: int
    second: NotRequired[int]
    winner: int
    how: How
    reason: NotRequired[str]


class AspectChoice(TypedDict):
    """The origin of a table's aspects.

    lists  : the sampled lists of the online model, None for an unreadable one
    picked : index of the most central list
    """

    how: Literal["online", "fixed", "given"]
    chosen: list[str]
    lists: NotRequired[list[list[str] | None]]
    picked: NotRequired[int]


class Record(TypedDict):
    """The creation of a table.

    scheme      : tournament, exact or random
    samples     : every sampled table, lost ones included
    budget      : calls per verdict, if limited; `left_over` of them were not needed
    schema      : a JSON schema was sent
    asked_first : the text shown first in the calls for tables
    wins        : comparisons won by each sample; None for lost ones and without comparisons
    coins       : decisions by a seeded coin: unreadable answers, and ties between winners
    winner      : index of the winning table
    calls       : number of calls of each kind (`KINDS`)
    """

    scheme: str
    aspects: AspectChoice
    samples: list[TableSample]
    budget: int | None
    left_over: int
    schema: bool
    asked_first: Side
    bracket: list[Match]
    wins: list[int | None]
    coins: int
    winner: int
    calls: dict[str, int]


def swap_row(row: TableRow) -> TableRow:
    """Swap the two texts in a row."""
    return {**row, "only_a": row["only_b"], "only_b": row["only_a"]}


def swap_sides(record: Record) -> Record:
    """Swap the two texts in a record."""
    samples: list[TableSample] = [
        {**sample, "rows": list(map(swap_row, sample["rows"]))} if "rows" in sample else sample
        for sample in record["samples"]
    ]
    return {**record, "samples": samples, "asked_first": "b" if record["asked_first"] == "a" else "a"}


def shown_record(record: Record) -> dict[str, Any]:
    """Return a record as it is shown and exported, with text and code of why a sample was lost."""
    samples: list[Mapping[str, Any]] = []
    for sample in record["samples"]:
        if "lost" in sample:
            why = restored(sample["lost"])
            samples.append({"lost": why.text, "lost_code": why.code})
        else:
            samples.append(sample)
    return {**record, "samples": samples}


def winning_rows(record: Record) -> list[TableRow]:
    """Return the rows of the table that won."""
    return record["samples"][record["winner"]]["rows"]


def is_record(value: Any) -> bool:
    """Tell whether a value is the record of a table."""
    return isinstance(value, dict) and "samples" in value and "bracket" in value


def format_table(rows: Sequence[TableRow]) -> str:
    """Format a table for a prompt."""
    return "\n".join(
        f"{row['aspect']}\n  only A: {row['only_a'] or '–'}\n  both: {row['both'] or '–'}\n  only B: {row['only_b'] or '–'}"
        for row in rows
    )
