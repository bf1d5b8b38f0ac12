"""CSV without formula injection."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

# With leading apostrophes, so that removing one restores the text exactly.
FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")


def csv_lines(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    """Yield lines of CSV, the header first, with formulas defused."""
    writer = csv.writer(_Echo())
    yield writer.writerow([_cell(column) for column in columns])
    for row in rows:
        yield writer.writerow([_cell(row[column]) for column in columns])


def defuse(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run as a formula."""
    return f"'{text}" if FORMULA.match(text) else text


def restore(text: str) -> str:
    """Undo `defuse`."""
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


class _Echo:
    """A file whose `write` returns its text, so that `csv.writer` yields lines."""

    def write(self, text: str) -> str:
        return text


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return defuse(value)
    if isinstance(value, dict | list | tuple):
        return defuse(json.dumps(value, ensure_ascii=False))
    return value  # a number, which is no formula, or None for an empty cell
