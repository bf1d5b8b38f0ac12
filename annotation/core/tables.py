"""Tables, made once and written as HTML or plain text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

MOST_ROWS = 50  # all are in the JSON
UNDEFINED = "—"


class Column(NamedTuple):
    """The heading of a column. Numbers are aligned at their end."""

    label: Any
    is_numeric: bool = False


class Cell(NamedTuple):
    """A value with attributes of its HTML element."""

    value: Any
    attributes: Mapping[str, Any]


Row = tuple[Sequence[Any], Sequence[Any]]  # cells that head the row, and the others


class StyledRow(NamedTuple):
    """A row with a class."""

    heads: Sequence[Any]
    cells: Sequence[Any]
    css: str = ""


@dataclass(frozen=True)
class DataTable:
    """A table of a page, which is named by its caption, by another heading or by a label.

    name        : its id on the page
    columns     : headings; a text is a column that isn't numeric
    rows        : all, or the first `most` at least
    digits      : decimals of its estimates
    beyond      : number of rows that are not among `rows`
    most        : rows that are shown
    css         : its class; with `stack` each row is a card on narrow screens
    labelled_by : id of the heading that names it
    """

    name: str
    caption: str
    columns: Sequence[Column | Any]
    rows: Sequence[Row | StyledRow]
    digits: int = 3
    beyond: int = 0
    most: int = MOST_ROWS
    css: str = ""
    label: str = ""
    labelled_by: str = ""

    @property
    def shown(self) -> Sequence[Row | StyledRow]:
        """The first rows."""
        return self.rows[: self.most]

    @property
    def more(self) -> int:
        """Number of further rows."""
        return len(self.rows) - len(self.shown) + self.beyond


def fixed(value: float, digits: int = 3, *, signed: bool = False) -> str:
    """Format a number with a fixed number of decimals and the minus sign that pictures have. 0 has no sign."""
    return f"{value:{'+' if signed else ''}z.{digits}f}".replace("-", "\N{MINUS SIGN}")
