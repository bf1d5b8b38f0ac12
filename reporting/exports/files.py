"""Streaming export of ratings, their history, flags and judgments to CSV and JSON Lines."""

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from annotation.core.spreadsheet import csv_lines
from annotation.models import Study
from judging.importing.columns import judgment_columns
from judging.outcomes.judgments import judgment_rows
from reporting.exports.rows import (
    FLAG_COLUMNS,
    Row,
    flag_rows,
    history_columns,
    history_rows,
    rating_columns,
    rating_rows,
)


def jsonl_lines(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[str]:
    """Yield one JSON object per row, with the fields of the CSV but nothing escaped for spreadsheets."""
    for row in rows:
        yield json.dumps({column: row[column] for column in columns}, ensure_ascii=False, allow_nan=False) + "\n"


Lines = Callable[[Iterable[Row], Sequence[str]], Iterator[str]]
FORMATS: dict[str, Lines] = {"csv": csv_lines, "jsonl": jsonl_lines}
# Each kind's rows and columns, which depend on what a study asks.
KINDS: dict[str, tuple[Callable[[Study], Iterable[Row]], Callable[[Study], Sequence[str]]]] = {
    "ratings": (rating_rows, rating_columns),
    "judgments": (judgment_rows, judgment_columns),
    "history": (history_rows, history_columns),
    "flags": (flag_rows, lambda _study: FLAG_COLUMNS),
}


def export_lines(study: Study, kind: str, form: str) -> Iterator[str]:
    """Yield the lines of one export: `kind` of KINDS in `form` of FORMATS."""
    rows, columns = KINDS[kind]
    return FORMATS[form](rows(study), columns(study))


def write_csv(path: Path, rows: Iterable[Row], columns: Sequence[str]) -> int:
    """Write a CSV file atomically; return the number of rows."""
    return _write(path, rows, columns, csv_lines)


def write_jsonl(path: Path, rows: Iterable[Row], columns: Sequence[str]) -> int:
    """Write a JSON Lines file atomically; return the number of rows."""
    return _write(path, rows, columns, jsonl_lines)


def _write(path: Path, rows: Iterable[Row], columns: Sequence[str], lines: Lines) -> int:
    count = 0

    def counted() -> Iterator[Row]:
        nonlocal count
        for row in rows:
            count += 1
            yield row

    with _atomic_write(path) as file:
        file.writelines(lines(counted(), columns))
    return count


@contextmanager
def _atomic_write(path: Path) -> Iterator[IO[str]]:
    """Open a temporary file that replaces `path` on success."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(descriptor, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123  # no path, a descriptor
            yield file
        Path(name).chmod(0o644)  # mkstemp creates it with 0600
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink()
        raise
