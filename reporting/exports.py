"""Rows in long form to CSV and JSON Lines, one at a time: ratings, their history, flags, judgments."""

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from annotation.formats.spreadsheet import csv_lines
from annotation.models import Study
from judging.tables import judgment_rows
from reporting.rows import (
    FLAG_COLUMNS,
    HISTORY_COLUMNS,
    RATING_COLUMNS,
    Row,
    flag_rows,
    history_rows,
    rating_rows,
)

JUDGMENT_COLUMNS = (
    *RATING_COLUMNS,
    *("judge", "method", "model", "params", "prompt_version", "order", "repeat", "negated", "status", "verdict"),
    *("p_b", "score_a", "score_b", "rationale", "calls", "prompt_tokens", "completion_tokens", "cost", "latency_ms"),
    "completion_keys",
)


def jsonl_lines(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[str]:
    """Yield one JSON object a row, with the same fields as the CSV and nothing defused."""
    for row in rows:
        yield json.dumps({column: row[column] for column in columns}, ensure_ascii=False, allow_nan=False) + "\n"


Lines = Callable[[Iterable[Row], Sequence[str]], Iterator[str]]
FORMATS: dict[str, Lines] = {"csv": csv_lines, "jsonl": jsonl_lines}
KINDS: dict[str, tuple[Callable[[Study], Iterable[Row]], Sequence[str]]] = {
    "ratings": (rating_rows, RATING_COLUMNS),
    "judgments": (judgment_rows, JUDGMENT_COLUMNS),
    "history": (history_rows, HISTORY_COLUMNS),
    "flags": (flag_rows, FLAG_COLUMNS),
}


def export_lines(study: Study, kind: str, form: str) -> Iterator[str]:
    """Yield the lines of one export: `kind` of KINDS in `form` of FORMATS."""
    rows, columns = KINDS[kind]
    return FORMATS[form](rows(study), columns)


def write_csv(path: Path, rows: Iterable[Row], columns: Sequence[str]) -> int:
    """Write CSV whole or not at all; return the number of rows."""
    return _write(path, rows, columns, csv_lines)


def write_jsonl(path: Path, rows: Iterable[Row], columns: Sequence[str]) -> int:
    """Write JSON Lines whole or not at all; return the number of rows."""
    return _write(path, rows, columns, jsonl_lines)


def _write(path: Path, rows: Iterable[Row], columns: Sequence[str], lines: Lines) -> int:
    count = 0

    def counted() -> Iterator[Row]:
        nonlocal count
        for row in rows:
            count += 1
            yield row

    with _replacing(path) as file:
        file.writelines(lines(counted(), columns))
    return count


@contextmanager
def _replacing(path: Path) -> Iterator[IO[str]]:
    """Open a temporary file beside `path` that takes its place at the end; an error leaves `path` as it was."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(descriptor, "w", encoding="utf-8", newline="") as file:
            yield file
        os.chmod(name, 0o644)  # mkstemp makes it 0600; it is no secret within its folder
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
