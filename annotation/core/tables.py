"""Tables, made once and written as HTML, LaTeX or plain text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from annotation.core.counting import UNDEFINED, counted, estimate_text, fixed, printable

MOST_ROWS = 50  # all are in the JSON
PERCENT, POINTS = "%", " points"
MOST_LISTED = 12  # values in a line
EMPTY: tuple[object, ...] = (None, "", [], (), {})


class Column(NamedTuple):
    """The heading of a column. Numbers are aligned at their end.

    unit : `PERCENT` of shares, `POINTS` of their differences: 100 times the value is shown
    """

    label: Any
    is_numeric: bool = False
    unit: str = ""


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
    beyond      : number of rows that are not among `rows`; beyond_columns: of columns that are not among `columns`
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
    beyond_columns: int = 0
    most: int = MOST_ROWS
    css: str = ""
    label: str = ""
    labelled_by: str = ""

    @property
    def headings(self) -> list[Column]:
        """The columns, each with its settings."""
        return [column if isinstance(column, Column) else Column(column) for column in self.columns]

    @property
    def shown(self) -> Sequence[Row | StyledRow]:
        return self.rows[: self.most]

    @property
    def more(self) -> int:
        return len(self.rows) - len(self.shown) + self.beyond

    @property
    def more_text(self) -> str:
        """The numbers of rows and columns that are not shown."""
        numbers = {"more rows": self.more, "more columns": self.beyond_columns}
        return " and ".join(counted(number, of) for of, number in numbers.items() if number)


SPECIAL_IN_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def latex_text(text: str) -> str:
    """Escape a text for LaTeX. Line ends become spaces."""
    return "".join(SPECIAL_IN_LATEX.get(char, char) for char in " ".join(text.split()) if char.isprintable())


def table_latex(table: DataTable) -> str:
    """Write a table for a paper, with the package booktabs. The first column is text, the others are numbers."""
    columns = table.headings
    lines = []
    for heads, cells, *_css in table.rows:
        values = zip(cells, columns[len(heads) :], strict=True)
        numbers = (_latex_cell(value, table.digits, column.unit) for value, column in values)
        row = " & ".join([*map(latex_text, heads), *numbers])
        # LaTeX reads a bracket or a star at the beginning of a row as an option of the line break before it.
        lines.append(f"{'{}' if row.startswith(('[', '*')) else ''}{row} " + r"\\")
    return "\n".join(
        [
            r"\begin{table}[t]",
            r"\centering",
            rf"\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}",
            r"\toprule",
            " & ".join(latex_text(column.label) for column in columns) + r" \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{latex_text(table.caption)}}}",
            rf"\label{{tab:{table.name}}}",
            r"\end{table}",
            "",
        ]
    )


def _latex_cell(value: Any, digits: int, unit: str) -> str:
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    if not isinstance(value, dict):
        return "--" if value is None else latex_text(str(value))
    if value["value"] is None:
        return "--"
    times = 100 if unit else 1
    text = f"{times * value['value']:.2f}" + (rf" $\pm$ {times * value['sd']:.2f}" if "sd" in value else "")
    if value["low"] is None:
        return f"{text} {value['about']}" if value.get("about") else text
    return f"{text} {{\\scriptsize [{times * value['low']:.1f}, {times * value['high']:.1f}]}}"


def percents(*labels: str) -> list[Column]:
    """Return headings of columns of shares."""
    return [Column(label, unit=PERCENT) for label in labels]


def numbers_text(numbers: Mapping[str, Any]) -> str:
    """Write a JSON document of numbers for a terminal.

    Each value has a line, with what belongs to it indented below. Entries of single values are a table. Codes and what is
    empty are left out.
    """
    return "\n".join(_lines(numbers, ""))


def _lines(numbers: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, value in numbers.items():
        if name.endswith("_code") or value in EMPTY:
            continue
        label = printable(f"{indent}{name.replace('_', ' ')}")
        if isinstance(value, list | tuple) and any(isinstance(entry, dict) for entry in value):
            yield label
            if len(value) > 1 and all(_is_flat(entry) for entry in value):
                yield from _table(value, f"{indent}  ")
            else:
                for entry in value:
                    yield from _entry(entry, f"{indent}  ")
        elif not isinstance(value, dict):
            yield f"{label}: {_value(value)}"
        elif {"value", "low", "n", "of"} <= value.keys():
            yield f"{label}: {estimate_text(value)}"
        elif not _is_flat(value):
            yield label
            yield from _lines(value, f"{indent}  ")
        elif parts := ", ".join(f"{key} {_value(part)}" for key, part in value.items() if part not in EMPTY):
            yield printable(f"{label}: {parts.replace('_', ' ')}")


def _is_flat(entry: Mapping[str, Any]) -> bool:
    return not any(value and isinstance(value, dict | list | tuple) for value in entry.values())


def _table(entries: Sequence[Mapping[str, Any]], indent: str) -> Iterator[str]:
    """Align entries, a row each."""
    fields = [
        field
        for field in entries[0]
        if not field.endswith("_code") and any(entry.get(field) not in EMPTY for entry in entries)
    ]
    rows = [
        [field.replace("_", " ") for field in fields],
        *([_value(entry.get(field)) for field in fields] for entry in entries),
    ]
    yield from _aligned(rows, indent)


def _aligned(rows: list[list[str]], indent: str) -> Iterator[str]:
    """Align rows below their headings, or beside them where there are more columns than rows.

    A table whose columns are named as its rows stays as it is: beside its headings it would say the opposite.
    """
    rows = [list(map(printable, row)) for row in rows]
    if len(rows[0]) > len(rows) - 1 and rows[0][1:] != [row[0] for row in rows[1:]]:
        rows = [list(row) for row in zip(*rows, strict=True)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield f"{indent}{'  '.join(map(str.ljust, row, widths))}".rstrip()


def table_text(table: DataTable) -> str:
    """Write a table for a terminal: its caption, and its first rows."""
    columns = table.headings
    rows = [[str(column.label) for column in columns]]
    for heads, cells, *_css in table.shown:
        values = zip([*heads, *cells], columns, strict=True)
        rows.append([_cell_text(value, table.digits, column.unit) for value, column in values])
    more = [f"  ... {table.more_text}: see --format json"] * bool(table.more_text)
    return "\n".join([printable(table.caption), *_aligned(rows, "  "), *more])


def _cell_text(value: Any, digits: int, unit: str) -> str:
    if isinstance(value, Cell):
        value = value.value
    if isinstance(value, dict):
        return estimate_text(value, digits, unit)
    if isinstance(value, float):
        return f"{fixed(100 * value, 1)}{unit}" if unit else fixed(value, digits)
    return UNDEFINED if value is None else str(value)


def _entry(entry: Mapping[str, Any], indent: str) -> Iterator[str]:
    """Head the lines of an entry with its first value, which names it."""
    (_, name), *others = entry.items()
    yield f"{indent}{_value(name)}"
    yield from _lines(dict(others), f"{indent}  ")


def _value(value: object) -> str:
    if value in EMPTY:
        return UNDEFINED
    if isinstance(value, list | tuple):
        listed = ", ".join(map(_value, value[:MOST_LISTED]))
        return f"{listed}, …" if len(value) > MOST_LISTED else listed
    return f"{value:.4g}" if isinstance(value, float) else printable(str(value))
