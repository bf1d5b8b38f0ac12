"""Print the rows of a Parquet file, or of a stream of Arrow's, as JSON Lines. Those of the first sheet of an Excel file as CSV.

usage: arrow_rows.py FILE parquet|arrow|xlsx MOST_BYTES MOST_ROWS

A program of its own, which needs nothing of Django's: a file of some kilobytes may unpack to any size, or end the process that
reads it.
"""

import csv
import io
import json
import sys
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

# Exit codes.
UNREADABLE, TOO_MANY_ROWS, TOO_MUCH_TEXT = 3, 4, 5
BATCH = 100  # rows in memory at once; a text that repeats takes its room once in a file, and in each row here


def main(path: str, form: str, most_bytes: int, most_rows: int) -> int:
    """Print the rows and return the exit code."""
    if form == "xlsx":
        return print_sheet(path, most_bytes, most_rows)
    import pyarrow

    rows = written = 0
    try:
        schema, total, size, batches = open_parquet(path) if form == "parquet" else open_arrow(path)
        if total > most_rows:
            return TOO_MANY_ROWS
        if size > most_bytes:
            return TOO_MUCH_TEXT
        readers = [reader_of(field) for field in schema]
        for batch in batches:
            rows += batch.num_rows
            if rows > most_rows:
                return TOO_MANY_ROWS
            for start in range(0, batch.num_rows, BATCH):
                for row in batch.slice(start, BATCH).to_pylist():
                    values = {name: read(value) for read, (name, value) in zip(readers, row.items(), strict=True)}
                    written += sys.stdout.buffer.write(
                        json.dumps(values, ensure_ascii=False, default=str).encode() + b"\n"
                    )
                    if written > most_bytes:
                        return TOO_MUCH_TEXT
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        sys.stderr.write(str(error))
        return UNREADABLE
    return 0


def print_sheet(path: str, most_bytes: int, most_rows: int) -> int:
    """Print the first sheet of an Excel file and return the exit code."""
    from xml.etree.ElementTree import ParseError

    import openpyxl
    from openpyxl.utils.exceptions import InvalidFileException

    rows = written = 0
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > most_bytes:  # no more than this is unpacked
                return TOO_MUCH_TEXT
        sheet = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False).worksheets[0]
        sheet.reset_dimensions()  # what the file states of itself
        width = 0
        for values in sheet.iter_rows(values_only=True):
            cells = [
                "" if value is None else value.isoformat() if hasattr(value, "isoformat") else str(value)
                for value in values
            ]
            if not any(cells):
                continue
            while not width and not cells[-1]:
                cells.pop()
            width, rows = width or len(cells), rows + 1
            if rows > most_rows + 1:  # beside the header
                return TOO_MANY_ROWS
            text = io.StringIO()
            filled = [*cells[:width], *[""] * (width - len(cells)), *filter(None, cells[width:])]
            csv.writer(text).writerow(filled)  # cells beyond the header are refused with the line
            written += sys.stdout.buffer.write(text.getvalue().encode("utf-8", "surrogatepass"))
            if written > most_bytes:
                return TOO_MUCH_TEXT
    except (
        zipfile.BadZipFile,
        InvalidFileException,
        ParseError,
        OSError,
        ValueError,
        KeyError,
        IndexError,
        TypeError,
    ) as error:
        sys.stderr.write(str(error))
        return UNREADABLE
    return 0


def open_parquet(path: str) -> tuple[Any, int, int, Iterator[Any]]:
    """Return the schema, the numbers of rows and of uncompressed bytes that the file states, and batches of rows."""
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(path)
    size = sum(file.metadata.row_group(index).total_byte_size for index in range(file.metadata.num_row_groups))
    return file.schema_arrow, file.metadata.num_rows, size, file.iter_batches(batch_size=BATCH, use_threads=False)


def open_arrow(path: str) -> tuple[Any, int, int, Iterator[Any]]:
    """Return the schema, 0 twice since a stream states neither rows nor bytes, and batches of rows."""
    from pyarrow import ipc

    stream = ipc.open_stream(path)
    return stream.schema, 0, 0, iter(stream)


def reader_of(field: Any) -> Callable[[Any], Any]:
    """Return the function that reads a field's values. Those of a field that holds JSON as text are parsed."""
    if (field.metadata or {}).get(b"tandem") == b"json":
        return lambda value: None if value is None else json.loads(value)
    return without_null_fields


def without_null_fields(value: Any) -> Any:
    """Remove the null fields of objects: in these files every object has the fields of all others."""
    if isinstance(value, dict):
        return {name: without_null_fields(item) for name, item in value.items() if item is not None}
    return [without_null_fields(item) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
