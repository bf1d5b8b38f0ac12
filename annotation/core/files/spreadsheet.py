"""CSV without formula injection."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

# What a spreadsheet would run: a cell's beginning, or, where it separates cells by semicolons or tabs, what follows these. The shield
# before it may be repeated, so that removing one restores the text exactly; in the middle it is a character that no text has.
BEGINNING = re.compile(r"(?='*[=+\-@\t\r\n＝＋－＠])")
FOLLOWING = re.compile("(?<=[;\t])(?=\u2060* *[=+\\-@＝＋－＠])")
SHIELDED = re.compile("(?<=[;\t])\u2060(?=\u2060* *[=+\\-@＝＋－＠])")


def csv_lines(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    """Yield lines of CSV, the header first, with formulas defused."""
    writer = csv.writer(_Echo())
    yield writer.writerow([_cell(column) for column in columns])
    for row in rows:
        yield writer.writerow([_cell(row[column]) for column in columns])


def defuse(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run as a formula, and word joiners before such parts of it."""
    shielded = FOLLOWING.sub("\u2060", text)
    return f"'{shielded}" if BEGINNING.match(text) else shielded


def restore(text: str) -> str:
    """Undo `defuse`."""
    unshielded = SHIELDED.sub("", text)
    return unshielded[1:] if text.startswith("'") and BEGINNING.match(text) else unshielded


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
