"""Parquet files: rows of typed columns, written some at a time, and read as JSON Lines, as Arrow's are. Needs the extra `parquet`."""

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from annotation.core.errors import AnnotationError, BadFile, BadLine
from annotation.core.files import arrow_rows
from annotation.core.files.file_bounds import Bound
from annotation.core.refusals import refusal

CHUNK = 10_000
PARQUET = ".parquet"
EXCEL = ".xlsx"
FORMS = {PARQUET: "parquet", ".arrow": "arrow", EXCEL: "xlsx"}
# Of an Arrow field that holds JSON as text, which CSV does too.
JSON_FIELD = {b"tandem": b"json"}
TEXT, INTEGER, NUMBER, BOOLEAN, JSON = "text", "integer", "number", "boolean", "json"


def is_available() -> bool:
    """Tell whether the package that reads and writes Parquet is installed."""
    return find_spec("pyarrow") is not None


def _pyarrow() -> Any:
    try:
        import pyarrow  # 100 MB, and only these functions need it
        import pyarrow.parquet
    except ImportError:
        raise AnnotationError(refusal("needs_pyarrow")) from None
    return pyarrow


def write_parquet(path: Path, rows: Iterable[Mapping[str, Any]], types: Mapping[str, str]) -> int:
    """Write rows with these columns, name → type. Return how many."""
    arrow, count, remaining = _pyarrow(), 0, iter(rows)
    kinds = {
        TEXT: arrow.string(),
        JSON: arrow.string(),
        INTEGER: arrow.int64(),
        NUMBER: arrow.float64(),
        BOOLEAN: arrow.bool_(),
    }
    schema = arrow.schema(
        [arrow.field(name, kinds[kind], metadata=JSON_FIELD if kind == JSON else None) for name, kind in types.items()]
    )
    documents, texts = ([name for name, kind in types.items() if kind == which] for which in (JSON, TEXT))
    as_json = partial(json.dumps, ensure_ascii=False)
    with arrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        while chunk := list(islice(remaining, CHUNK)):
            columns = {name: [row[name] for row in chunk] for name in types}
            for name in documents:
                columns[name] = [None if value is None else as_json(value) for value in columns[name]]
            for name in texts:  # messages, as a cell holds them
                columns[name] = [as_json(value) if isinstance(value, list) else value for value in columns[name]]
            writer.write_table(arrow.table(columns, schema=schema))
            count += len(chunk)
    return count


def as_json_lines(path: Path, name: str, *, limit: int, bound: Bound) -> bytes:
    """Return the rows of a Parquet file, or of a stream of Arrow's, as JSON Lines, those of Excel as CSV. A program of its own reads it.

    limit : bytes that the lines may take

    Raises: BadFile if it can't be read, or holds more.
    """
    if path.suffix.lower() != EXCEL:
        _pyarrow()
    elif find_spec("openpyxl") is None:
        raise AnnotationError(refusal("needs_openpyxl"))
    command = [
        sys.executable,
        "-P",
        arrow_rows.__file__,
        str(path),
        FORMS[path.suffix.lower()],
        str(limit),
        str(bound.most),
    ]
    program = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if program.returncode == 0:
        return program.stdout
    if program.returncode == arrow_rows.TOO_MANY_ROWS:
        bound.refuse_more(name, bound.most + 1, "rows")
    if program.returncode == arrow_rows.UNREADABLE:
        reason = program.stderr.decode(errors="replace").strip()
        raise BadFile(name, [BadLine(1, refusal("unreadable", kind=path.suffix[1:].title(), error=reason))])
    # Too much text, or the system has ended the program for want of memory.
    raise BadFile(name, [BadLine(1, refusal("rows_too_large", most=limit // 2**20))])
