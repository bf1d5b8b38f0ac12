"""Parquet files: rows of typed columns, written some at a time, and read as JSON Lines, as Arrow's are. Needs the extra `parquet`."""

import io
import json
import resource
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import islice
from pathlib import Path, PurePath
from threading import Lock
from typing import Any

from annotation.core.errors import AnnotationError, BadFile, BadLine

CHUNK = 10_000
USUAL = 200  # bytes of memory for each of a file's: its rows are up to 50 times as long as text, of which there are four copies
PARQUET, ARROW = ".parquet", ".arrow"
# Of an Arrow field that holds JSON as text, which CSV does too.
JSON_FIELD = {b"tandem": b"json"}
READING = Lock()  # a bound is of the process: of two that overlap, the one that ends last would leave the other's
TEXT, INTEGER, NUMBER, BOOLEAN, JSON = "text", "integer", "number", "boolean", "json"


def is_available() -> bool:
    """Tell whether the package that reads and writes Parquet is installed."""
    return find_spec("pyarrow") is not None


def _pyarrow() -> Any:
    try:
        import pyarrow  # 100 MB, and only these functions need it
        import pyarrow.parquet
    except ImportError:
        raise AnnotationError("Parquet files need the package pyarrow: pip install 'tandem[parquet]'") from None
    return pyarrow


def write_parquet(path: Path, rows: Iterable[Mapping[str, Any]], types: Mapping[str, str]) -> int:
    """Write rows with these columns, name → type; return how many."""
    arrow, count, left = _pyarrow(), 0, iter(rows)
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
    documents = [name for name, kind in types.items() if kind == JSON]
    with arrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        while chunk := list(islice(left, CHUNK)):
            columns = {name: [row[name] for row in chunk] for name in types}
            for name in documents:
                columns[name] = [
                    value if value is None else json.dumps(value, ensure_ascii=False) for value in columns[name]
                ]
            writer.write_table(arrow.table(columns, schema=schema))
            count += len(chunk)
    return count


def as_json_lines(data: bytes, name: str, *, most: int) -> bytes:
    """Return the rows of a Parquet file, or of a stream of Arrow's, as JSON Lines; other files as they are.

    most : bytes that the lines may take

    Raises: BadFile if it can't be read, or holds more.
    """
    form = PurePath(name).suffix.lower()
    if form not in (PARQUET, ARROW):
        return data
    try:
        with READING, _bounded_memory(min(4 * most, USUAL * len(data)) + 2**29):
            return _lines_of(data, name, form, most)
    except MemoryError:
        raise BadFile(name, [BadLine(1, f"it unpacks to far more than {most // 2**20:,} MB: split it")]) from None


@contextmanager
def _bounded_memory(more: int) -> Iterator[None]:
    """Let this process take so much more memory than now, where Linux tells how much that is: kilobytes may unpack to any size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    try:
        now = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    except OSError:
        yield
        return
    bound = now + more
    resource.setrlimit(resource.RLIMIT_AS, (bound if soft == resource.RLIM_INFINITY else min(bound, soft), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _lines_of(data: bytes, name: str, form: str, most: int) -> bytes:
    arrow = _pyarrow()
    lines = io.BytesIO()
    try:
        file = arrow.parquet.ParquetFile(io.BytesIO(data)) if form == PARQUET else arrow.ipc.open_stream(data)
        batches = file.iter_batches(batch_size=1000) if form == PARQUET else file
        readers = [_reader(field) for field in (file.schema_arrow if form == PARQUET else file.schema)]
        for batch in batches:
            for row in batch.to_pylist():
                read = {key: reader(value) for reader, (key, value) in zip(readers, row.items(), strict=True)}
                lines.write(json.dumps(read, ensure_ascii=False, default=str).encode() + b"\n")
                if lines.tell() > most:
                    raise BadFile(name, [BadLine(1, f"its rows take more than {most // 2**20:,} MB as text: split it")])
    except MemoryError:  # Arrow's is an ArrowException too
        raise
    except (arrow.ArrowException, OSError, ValueError, UnicodeEncodeError) as error:
        raise BadFile(name, [BadLine(1, f"not a file of {form[1:].title()} that can be read: {error}")]) from None
    return lines.getvalue()


def _reader(field: Any) -> Callable[[Any], Any]:
    if (field.metadata or {}).get(b"tandem") == b"json":
        return lambda value: None if value is None else json.loads(value)
    return _without_empty_fields


def _without_empty_fields(value: Any) -> Any:
    """Leave out the fields of an object that are null: in these files every row has the fields of all others."""
    if isinstance(value, dict):
        return {name: _without_empty_fields(one) for name, one in value.items() if one is not None}
    return [_without_empty_fields(one) for one in value] if isinstance(value, list) else value
