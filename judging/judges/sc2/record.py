"""What is kept of the making of a table: JSON, so that it can be stored, looked at and exported as it is.

A record is written in screen order, as everything that a method says, and turned once, where it is stored
(`in_study_order`). In screen order `only_a` is what the text shown first alone says; in study order, system A's.
"""

from typing import Any, Literal, NotRequired, TypedDict

Side = Literal["a", "b"]
How = Literal["comparator", "coin", "bye"]
KINDS = ("aspects", "table", "comparator", "verdict")  # of calls, as they are asked; databases keep no order of names


class Row(TypedDict):
    """One aspect."""

    aspect: str
    only_a: str
    both: str
    only_b: str


class Sample(TypedDict):
    """One table that was drawn: its rows, or why there are none."""

    rows: NotRequired[list[Row]]
    lost: NotRequired[str]


class Match(TypedDict):
    """Two tables held against each other, by their places among the samples.

    first  : the one that stood first in the question
    second : the other; absent for a bye
    how    : who decided: the comparator, a seeded coin where its answer could not be read, or nobody (a bye)
    reason : what the comparator said for it
    """

    round: int
    first: int
    second: NotRequired[int]
    winner: int
    how: How
    reason: NotRequired[str]


class Aspects(TypedDict):
    """Where the aspects came from.

    lists  : of an online model, each list that was drawn, or None for one that could not be read
    picked : which of them most agree with the others
    """

    how: Literal["online", "fixed", "given"]
    chosen: list[str]
    lists: NotRequired[list[list[str] | None]]
    picked: NotRequired[int]


class Record(TypedDict):
    """How a table was made.

    scheme      : tournament, exact or random
    samples     : every table that was drawn, also those that were lost
    budget      : calls that were to be spent on a verdict, where that was set; `left_over` of them were not needed
    schema      : a JSON schema was sent along
    asked_first : which text stood first when the tables were asked for
    wins        : how many comparisons each sample won; None for lost ones and where nothing was compared
    coins       : decisions of a seeded coin: unreadable answers, and ties between winners
    winner      : place of the winning table among the samples
    calls       : how many answers each kind of call (`KINDS`) took
    """

    scheme: str
    aspects: Aspects
    samples: list[Sample]
    budget: int | None
    left_over: int
    schema: bool
    asked_first: Side
    bracket: list[Match]
    wins: list[int | None]
    coins: int
    winner: int
    calls: dict[str, int]


def turned_row(row: Row) -> Row:
    """Change the two texts over in one row."""
    return {**row, "only_a": row["only_b"], "only_b": row["only_a"]}


def turned(record: Record) -> Record:
    """Change the two texts over in everything that a record says of them."""
    samples: list[Sample] = [
        {**sample, "rows": list(map(turned_row, sample["rows"]))} if "rows" in sample else sample
        for sample in record["samples"]
    ]
    return {**record, "samples": samples, "asked_first": "b" if record["asked_first"] == "a" else "a"}


def winning_rows(record: Record) -> list[Row]:
    """Return the rows of the table that won."""
    return record["samples"][record["winner"]]["rows"]


def is_record(value: Any) -> bool:
    """Tell whether something that was kept with a verdict is the making of a table."""
    return isinstance(value, dict) and "samples" in value and "bracket" in value
