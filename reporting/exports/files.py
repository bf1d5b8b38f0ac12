"""Streaming export of a study's rows to CSV, JSON Lines and Parquet, with the same rows, fields and types."""

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from annotation.core.files.parquet import BOOLEAN, INTEGER, JSON, NUMBER, TEXT, write_parquet
from annotation.core.files.spreadsheet import csv_lines
from annotation.importing.formats.long_form import FLAG_COLUMNS, RATER_COLUMNS
from annotation.models import Study
from annotation.studies.data_sets import COLUMNS as DATA_SET_COLUMNS
from judging.importing.judgments import judgment_columns
from judging.outcomes.judgment_rows import judgment_rows
from reporting.exports.content_rows import (
    SEPARABILITY_FIELDS,
    TABLE_FIELDS,
    TEXT_COLUMNS,
    data_set_rows,
    rater_rows,
    separability_rows,
    setting_rows,
    study_file_rows,
    table_rows,
)
from reporting.exports.rows import (
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


def excel_lines(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[str]:
    """Yield lines of CSV after the mark by which Excel knows UTF-8."""
    lines = csv_lines(rows, columns)
    yield f"\ufeff{next(lines)}"
    yield from lines


Lines = Callable[[Iterable[Row], Sequence[str]], Iterator[str]]
EXCEL = "csv-excel"
LINES: dict[str, Lines] = {"csv": csv_lines, EXCEL: excel_lines, "jsonl": jsonl_lines}
PARQUET = "parquet"
FORMATS = (*LINES, PARQUET)
# Each kind's rows and columns, which depend on what a study asks.
KINDS: dict[str, tuple[Callable[[Study], Iterable[Row]], Callable[[Study], Sequence[str]]]] = {
    "ratings": (rating_rows, rating_columns),
    "judgments": (judgment_rows, judgment_columns),
    "history": (history_rows, history_columns),
    "flags": (flag_rows, lambda _study: FLAG_COLUMNS),
    "texts": (study_file_rows, lambda _study: TEXT_COLUMNS),
    "tables": (table_rows, lambda _study: tuple(TABLE_FIELDS)),
    "separability": (separability_rows, lambda _study: tuple(SEPARABILITY_FIELDS)),
    "raters": (rater_rows, lambda _study: RATER_COLUMNS),
    "datasets": (data_set_rows, lambda _study: DATA_SET_COLUMNS),
    "settings": (setting_rows, lambda _study: ("setting", "value")),
}
# Which command reads a kind into a study again; in this order they create a new one. The others are for reading.
READ_BACK = {
    "texts": "import_study",
    "tables": "import_tables",
    "ratings": "import_ratings",
    "judgments": "import_judgments",
}
# Columns that hold no text, in whichever kind.
TYPES = {
    **dict.fromkeys(("pair_index", "generation_a_index", "generation_b_index", "rating", "strength", "row"), INTEGER),
    **dict.fromkeys(("repeat", "verdict", "calls", "prompt_tokens", "completion_tokens"), INTEGER),
    **dict.fromkeys(("instances", "systems", "pairs"), INTEGER),
    **{name: NUMBER if name.endswith(("mean", "median")) else INTEGER for name in DATA_SET_COLUMNS[6:]},
    **dict.fromkeys(("samples", "cross_pairs", "seed", "short"), INTEGER),
    **dict.fromkeys(("active_seconds", "wall_seconds", "p_b", "score_a", "score_b", "cost", "latency_ms"), NUMBER),
    "token_mass": NUMBER,
    **dict.fromkeys(("margin", "low", "high", "self_a", "self_b", "cross", "separability"), NUMBER),
    **dict.fromkeys(("late", "excluded", "negated", "source_opened", "translated", "prompt_cut"), BOOLEAN),
    **dict.fromkeys(("completion_keys", "served_models", "fingerprints", "providers"), JSON),
    **dict.fromkeys(("params", "generations", "gold", "metadata", "matchups"), JSON),
    **dict.fromkeys(("aspects", "rows", "made_by"), JSON),
}


def export_lines(study: Study, kind: str, form: str) -> Iterator[str]:
    """Yield the lines of one export: `kind` of KINDS in `form` of LINES."""
    rows, columns = KINDS[kind]
    return LINES[form](rows(study), columns(study))


def file_name(kind: str, form: str) -> str:
    """Return the name of an exported file."""
    return f"{kind}.{'csv' if form == EXCEL else form}"


def types_of(columns: Sequence[str]) -> dict[str, str]:
    """Return each column's type."""
    return {column: TYPES.get(column, TEXT) for column in columns}


def write_export(path: Path, study: Study, kind: str, form: str) -> int:
    """Write one export and return the number of rows."""
    rows, columns = KINDS[kind]
    return write_rows(path, rows(study), columns(study), form)


def write_rows(path: Path, rows: Iterable[Row], columns: Sequence[str], form: str) -> int:
    """Write a file that replaces `path` when it is complete. Return the number of rows."""
    with replacing(path) as part_file:
        if form == PARQUET:
            return write_parquet(part_file, rows, types_of(columns))
        count = 0 if form == "jsonl" else -1  # the header is no row
        with part_file.open("w", encoding="utf-8", newline="") as file:
            for line in LINES[form](rows, columns):
                file.write(line)
                count += 1
        return count


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path beside `path`, whose file replaces it on success."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(descriptor)
    part_file = Path(name)
    try:
        yield part_file
        part_file.chmod(0o644)  # mkstemp creates it with 0600
        part_file.replace(path)
    except BaseException:
        part_file.unlink()
        raise
