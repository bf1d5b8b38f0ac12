"""Files of JSON Lines or CSV → numbered records and a list of bad lines. Numbers and times in their cells."""

import csv
import io
import json
import math
import re
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from django.utils.dateparse import parse_datetime

from annotation.core.errors import MOST_BAD_LINES, BadFile, BadLine
from annotation.core.files.json_values import MAX_LINE_BYTES, items_of_array, read_value
from annotation.core.files.spreadsheet import restore
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal
from annotation.core.tasks.progress import READING, report

MOST_LINES = 2_000_000
MOST_NAMED = 20  # fields of a record in a message
MOST_FIELDS = 10_000  # of all records, which are noted
MOST_ARRAY_BYTES = 256 * 2**20  # a JSON array is parsed as a whole
_BLOCK = 2**20  # bytes that are read together
_BOM = b"\xef\xbb\xbf"

FileData = bytes | Path  # the bytes of a file, or a file that is read a line at a time
Record = tuple[int, dict[str, Any]]


def opened(data: FileData) -> io.BytesIO | io.BufferedReader:
    """Open a file for reading."""
    return io.BytesIO(data) if isinstance(data, bytes) else data.open("rb")


def size_of(data: FileData) -> int:
    """Return the number of bytes of a file."""
    return len(data) if isinstance(data, bytes) else data.stat().st_size


def _beginning(data: FileData) -> bytes:
    """Return the first bytes of a file, as many as a line may have."""
    with opened(data) as file:
        return file.read(MAX_LINE_BYTES).removeprefix(_BOM)


def count_rows(data: FileData, name: str, *, enough: int) -> int:
    """Count lines, or up to `enough` rows of CSV (a row may have several lines), in constant memory."""
    if not is_csv(name) or _lines(data) > MOST_LINES:  # a file of so many lines is refused anyway
        return _lines(data)
    return sum(1 for _ in islice(_csv_rows(data, [], "replace"), enough + 1)) - 1  # without the header


def _lines(data: FileData) -> int:
    feeds = returns = 0
    last = b""
    with opened(data) as file:
        for block in iter(partial(file.read, _BLOCK), b""):
            feeds, returns, last = feeds + block.count(b"\n"), returns + block.count(b"\r"), block[-1:]
    return max(feeds, returns) + (last != (b"\n" if feeds >= returns else b"\r"))


def decode_lines(data: FileData, bad: list[BadLine]) -> Iterator[tuple[int, str]]:
    """Yield numbered lines of text. Over-long and wrongly encoded ones are appended to `bad`."""
    if (count := _lines(data)) > MOST_LINES:
        bad.append(BadLine(MOST_LINES + 1, refusal("too_many_lines", count=count, most=MOST_LINES)))
        return
    size = size_of(data)
    with opened(data) as file:
        file.seek(len(_BOM) if file.read(len(_BOM)) == _BOM else 0)
        position = file.tell()
        for number, raw in enumerate(iter(partial(file.readline, MAX_LINE_BYTES + 2), b""), start=1):
            if len(bad) >= MOST_BAD_LINES:
                return
            position += len(raw)
            report(READING, position, size)
            line = raw.removesuffix(b"\n").removesuffix(b"\r")
            length = len(line)
            while not raw.endswith(b"\n") and (raw := file.readline(_BLOCK)):  # the rest of an over-long line
                length, position = length + len(raw.removesuffix(b"\n").removesuffix(b"\r")), position + len(raw)
            if length > MAX_LINE_BYTES:
                bad.append(BadLine(number, refusal("line_too_long", number=length, most=MAX_LINE_BYTES)))
                continue
            try:
                yield number, line.decode("utf-8")
            except UnicodeDecodeError as error:
                bad.append(BadLine(number, refusal("not_utf8", byte=error.start + 1)))


def read_json(data: FileData) -> tuple[Iterator[Record], list[BadLine]]:
    """Return an iterator over the objects of JSON Lines or of one JSON array, and the list of bad lines, which it fills.

    Blank lines are skipped. Reading stops after MOST_BAD_LINES, and at the first syntax error of an array. Its objects are
    numbered by the line on which they start; where all stand on one line, by their place in the array.
    """
    bad: list[BadLine] = []
    return (_json_array if is_json_array(data) else _json_lines)(data, bad), bad


def _json_lines(data: FileData, bad: list[BadLine]) -> Iterator[Record]:
    for number, line in decode_lines(data, bad):
        if not line.strip():
            continue
        try:
            value = read_value(line)
        except json.JSONDecodeError as error:  # its text would always name line 1
            bad.append(_syntax_error(number, error))
        except ValueError as error:
            bad.append(BadLine(number, refusal("not_json", error=str(error))))
        else:
            if isinstance(value, dict):
                yield number, value
            else:
                bad.append(BadLine(number, refusal("not_object")))


def _syntax_error(number: int, error: json.JSONDecodeError) -> BadLine:
    return BadLine(number, refusal("not_json_at", error=error.msg.removesuffix(" at"), column=error.colno))


def first_json_record(data: FileData) -> dict[str, Any]:
    """Return the first object of a file without reading the rest, or an empty one if it can't be read."""
    text = _beginning(data).decode("utf-8", "ignore").lstrip()
    try:
        if text.startswith("["):
            return next((value for *_, value in items_of_array(text, 1) if isinstance(value, dict)), {})
        value = read_value(text.split("\n", 1)[0])
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def is_json(data: FileData) -> bool:
    """Tell whether a file begins as JSON Lines or a JSON array does."""
    return _beginning(data).lstrip()[:1] in (b"{", b"[")


def is_json_array(data: FileData) -> bool:
    """Tell whether a file is one JSON array."""
    return _beginning(data).lstrip()[:1] == b"["


def _json_array(data: FileData, bad: list[BadLine]) -> Iterator[Record]:
    if size_of(data) > MOST_ARRAY_BYTES:
        bad.append(BadLine(1, refusal("array_too_large", most=MOST_ARRAY_BYTES // 2**20)))
        return
    try:
        with opened(data) as file:
            text = file.read().removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError:
        deque(decode_lines(data, bad), maxlen=0)
        return
    at = text.index("[") + 1
    number = 1 + text.count("\n", 0, at)
    has_lines = 0 <= text.find("\n", at) < text.rfind("]")
    try:
        for index, (start, end, problem, value) in enumerate(items_of_array(text, at), start=1):
            number = number + text.count("\n", at, start) if has_lines else index
            at = start
            report(READING, start, len(text))
            if len(bad) >= MOST_BAD_LINES:
                return
            if problem is None and end - start > MAX_LINE_BYTES:
                problem = refusal("object_too_long", number=end - start, most=MAX_LINE_BYTES)
            if problem is None and not isinstance(value, dict):
                problem = refusal("not_object_of_array")
            if problem is None:
                yield number, value
            else:
                bad.append(BadLine(number, problem))
    except json.JSONDecodeError as error:
        bad.append(_syntax_error(error.lineno, error))


def read_csv(data: FileData) -> tuple[list[str], Iterator[Record], list[BadLine]]:
    """Return the header, an iterator over the records (numbered by the line on which they start), and the bad lines.

    Errors of encoding and header are listed at once, the others as the iterator is read.
    """
    bad: list[BadLine] = []
    with_nul = (number for number, line in decode_lines(data, bad) if "\x00" in line)
    results = [BadLine(number, refusal("nul_character")) for number in islice(with_nul, MOST_BAD_LINES)]
    bad = bad or results
    if bad:  # without these lines, quotes would not match and every later line would look wrong
        return [], iter(()), bad
    rows = _csv_rows(data, bad)
    header = next(([cell.strip() for cell in cells] for _, cells in rows), [])
    repeated = sorted(name for name, count in Counter(header).items() if count > 1)
    bad.extend(BadLine(1, refusal("repeated_column", column=repr(name))) for name in repeated)
    return header, _csv_records(header, rows, bad), bad


def _csv_rows(data: FileData, bad: list[BadLine], errors: str = "strict") -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(MAX_LINE_BYTES)
    size, start = size_of(data), 1
    with opened(data) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="", errors=errors) as text:
        reader = csv.reader(text, strict=True, delimiter=delimiter_of(data))
        try:
            for cells in reader:
                if cells:
                    report(READING, file.tell(), size)
                    yield start, cells
                start = reader.line_num + 1
        except csv.Error as error:
            end = {"line": reader.line_num} if reader.line_num > start else {}
            bad.append(BadLine(start, refusal("not_csv_until" if end else "not_csv", error=str(error), **end)))


def read_file(data: FileData, name: str) -> tuple[Iterator[Record], list[BadLine]]:
    """Read CSV or JSON, by the file's name."""
    return read_csv(data)[1:] if is_csv(name) else read_json(data)


def read_content(data: FileData) -> tuple[Iterator[Record], list[BadLine]]:
    """Read CSV or JSON, by what the file begins with."""
    return read_json(data) if is_json(data) else read_csv(data)[1:]


def delimiter_of(data: FileData) -> str:
    """Return the delimiter of a CSV file: the comma, semicolon or tab that its header has most of outside quotes."""
    with opened(data) as file:
        header = re.split(rb"[\r\n]", file.readline(MAX_LINE_BYTES), maxsplit=1)[0]
    unquoted = b"".join(header.split(b'"')[::2])
    return max(",;\t", key=lambda delimiter: unquoted.count(delimiter.encode()))


def _csv_records(header: list[str], rows: Iterator[tuple[int, list[str]]], bad: list[BadLine]) -> Iterator[Record]:
    for number, cells in rows:
        if len(bad) >= MOST_BAD_LINES:
            return
        if len(cells) == len(header):
            yield number, dict(zip(header, cells, strict=True))
        else:
            bad.append(BadLine(number, refusal("cells", cells=len(cells), columns=len(header))))


def with_json_cells(records: Iterator[Record], columns: Collection[str], bad: list[BadLine]) -> Iterator[Record]:
    """Restore defused texts. Parse some columns of CSV as JSON, an empty cell as `None`."""
    for number, record in records:
        texts = {name: restore(cell) for name, cell in record.items()}
        try:
            yield (
                number,
                texts | {name: read_value(texts[name]) if texts[name] else None for name in columns if name in texts},
            )
        except ValueError as error:
            bad.append(BadLine(number, refusal("cell_not_json", columns=", ".join(columns), error=str(error))))


def listed(fields: Sequence[str]) -> str:
    """List the first fields of a record. What no database stores is escaped."""
    return ", ".join(repr(field)[1:-1] for field in fields[:MOST_NAMED]) + (", …" if len(fields) > MOST_NAMED else "")


def watched(records: Iterable[Record], bad: list[BadLine], what: str) -> Iterator[Record]:
    """Yield the records until there are too many bad lines. Then let one of these say which fields no record has.

    what : the file should hold
    """
    fields: dict[str, None] = {}
    first: list[str] = []
    count = 0
    for number, record in records:
        count += 1
        first = first or list(record)
        if len(fields) < MOST_FIELDS:
            fields.update(dict.fromkeys(record))
        if len(bad) >= MOST_BAD_LINES:
            break
        yield number, record
    missing = [line for line in bad if line.reason.code == "missing"]
    needed = dict.fromkeys(line.reason.values["field"] for line in missing)
    absent = [field for field in needed if field not in fields and ":" not in field]  # “row 1: …” is a part
    if count > 1 and absent and len(fields) < MOST_FIELDS:
        values = {"records": count, "fields": listed(first) or "no field", "what": what}
        summarised = {line for line in missing if line.reason.values["field"] in absent}
        summary = BadLine(1, refusal("in_no_record", field=", ".join(absent), **values))
        bad[:] = [summary, *(line for line in bad if line not in summarised)]


def is_csv(name: str) -> bool:
    """Tell whether a file's name is one of CSV, as which the rows of Excel come too. Other files are read as JSON."""
    return name.lower().endswith((".csv", ".tsv", ".xlsx"))


def refuse(name: str, bad: Iterable[BadLine]) -> None:
    """Raise `BadFile` if there is any bad line."""
    if lines := list(dict.fromkeys(bad)):  # a record may have been converted to several
        raise BadFile(name, lines)


# Values of JSON, by their types in Python.
KINDS = {
    "bool": "true or false",
    "int": "a number",
    "float": "a number",
    "list": "a list",
    "dict": "an object",
    "NoneType": "null",
}


def text_problem(
    value: object, field: str = "it", *, longest: int | None = None, may_be_blank: bool = False
) -> Reason | None:
    """Return why the value of a field can't be stored as text, or None."""
    if not isinstance(value, str):
        kind = type(value).__name__
        return refusal("not_text", field=field, kind=KINDS.get(kind, kind))
    if not may_be_blank and not value.strip():
        return refusal("empty", field=field)
    if "\x00" in value:
        return refusal("nul_in_text", field=field)
    if any("\ud800" <= char <= "\udfff" for char in value):
        return refusal("surrogate", field=field)
    if longest is not None and len(value) > longest:
        return refusal("too_long", field=field, number=len(value), longest=longest)
    return None


def unstorable_key(values: dict[str, Any]) -> str | None:
    """Return a key under which, at any depth, lies a text that a database refuses."""
    stack = list(values.items())
    while stack:
        key, value = stack.pop()
        if isinstance(value, dict):
            stack.extend((key, name) for name in value)
            stack.extend((key, item) for item in value.values())
        elif isinstance(value, list):
            stack.extend((key, item) for item in value)
        elif isinstance(value, str) and text_problem(value, may_be_blank=True):
            return key
    return None


def parse_number(cell: str, *, minimum: float = -math.inf, maximum: float = math.inf) -> float | None:
    """Parse a finite number between `minimum` and `maximum`."""
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) and minimum <= number <= maximum else None


def parse_time(cell: str) -> datetime | None:
    """Parse an ISO 8601 time with a UTC offset, unless UTC has no such year."""
    try:
        time = parse_datetime(cell)
        return time.astimezone(UTC) if time is not None and time.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
