"""CSV that a spreadsheet opens without running anything in it."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

# Longer runs of apostrophes too, so that taking one away again gives back exactly what was there.
FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")


def csv_lines(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    """Yield CSV, the header first. A text that a spreadsheet would take for a formula starts with an apostrophe."""
    writer = csv.writer(_Echo())
    yield writer.writerow(columns)
    for row in rows:
        yield writer.writerow([_cell(row[column]) for column in columns])


def defuse(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run; taking one away again undoes it."""
    return f"'{text}" if FORMULA.match(text) else text


class _Echo:
    """A file that hands back what is written to it, so that `csv.writer` yields lines."""

    def write(self, text: str) -> str:
        return text


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return defuse(value)
    if isinstance(value, dict | list | tuple):
        return defuse(json.dumps(value, ensure_ascii=False))
    return value  # numbers as they are: -1 is no formula; None is an empty cell
