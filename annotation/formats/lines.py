"""Files → numbered records: decoding, JSON Lines and CSV, with every unreadable line listed."""

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from annotation.errors import MOST_BAD_LINES, BadFile, BadLine

MAX_LINE_BYTES = 4 * 1024 * 1024
DEEPEST = 100  # levels of nesting; a database's own limit would end the import half-way
_BOM = b"\xef\xbb\xbf"
_BLANK = re.compile(r"[ \t\r\n]*")

Record = tuple[int, dict[str, Any]]


def decode_lines(data: bytes) -> tuple[list[tuple[int, str]], list[BadLine]]:
    """Split bytes into numbered lines of text; over-long and wrongly encoded ones are listed instead."""
    good: list[tuple[int, str]] = []
    bad: list[BadLine] = []
    for number, raw in enumerate(data.removeprefix(_BOM).split(b"\n"), start=1):
        if len(bad) >= MOST_BAD_LINES:
            break
        if len(raw) > MAX_LINE_BYTES:
            bad.append(BadLine(number, f"the line is {len(raw):,} bytes long; at most {MAX_LINE_BYTES:,} are taken"))
            continue
        try:
            good.append((number, raw.removesuffix(b"\r").decode("utf-8")))
        except UnicodeDecodeError as error:
            bad.append(BadLine(number, f"byte {error.start + 1} is not valid UTF-8; save the file as UTF-8"))
    return good, bad


def read_json_lines(data: bytes) -> tuple[list[Record], list[BadLine]]:
    """Read one JSON object a line; blank lines are passed over."""
    lines, bad = decode_lines(data)
    if is_json_array(data):
        return [], [BadLine(1, "the file is one JSON array; JSON Lines has one object a line: {…}")]
    records: list[Record] = []
    for number, line in lines:
        if len(bad) >= MOST_BAD_LINES:
            break
        if not line.strip():
            continue
        try:
            value = _load(line)
        except json.JSONDecodeError as error:  # its own text names a line, which would be 1 always
            bad.append(BadLine(number, f"not valid JSON: {error.msg} at column {error.colno}"))
            continue
        except ValueError as error:
            bad.append(BadLine(number, f"not valid JSON: {error}"))
            continue
        if isinstance(value, dict):
            records.append((number, value))
        else:
            bad.append(BadLine(number, "not a JSON object; each line holds one {…}"))
    return records, bad


def read_json(data: bytes) -> tuple[list[Record], list[BadLine]]:
    """Read JSON Lines, or one JSON array of objects; a record's number is that of the line on which it starts."""
    return read_json_array(data) if is_json_array(data) else read_json_lines(data)


def first_json_record(data: bytes) -> dict[str, Any]:
    """Return the first object of a file without reading the rest of it as lines; empty if it can't be read."""
    if is_json_array(data):
        records, _ = read_json_array(data)
    else:
        first = data.removeprefix(_BOM).lstrip()[:MAX_LINE_BYTES].split(b"\n", 1)[0]
        records, _ = read_json_lines(first)
    return records[0][1] if records else {}


def is_json_array(data: bytes) -> bool:
    """Tell whether a file is one JSON array."""
    return data.removeprefix(_BOM).lstrip()[:1] == b"["


def read_json_array(data: bytes) -> tuple[list[Record], list[BadLine]]:
    """Read one JSON array of objects, which may be laid out over lines in any way.

    Behind a mistake in the notation itself nothing can be told apart, so that it ends the list of bad lines.
    """
    try:
        text = data.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError:
        unread = [line for line in decode_lines(data)[1] if "UTF-8" in line.reason]
        return [], unread or [BadLine(1, "not valid UTF-8; save the file as UTF-8")]
    records: list[Record] = []
    bad: list[BadLine] = []
    at, number = text.index("[") + 1, 1 + text.count("\n", 0, text.index("["))
    try:
        for start, end, problem, value in _items_of_array(text, at):
            number += text.count("\n", at, start)
            at = start
            if len(bad) >= MOST_BAD_LINES:
                break
            if problem is None and end - start > MAX_LINE_BYTES:
                problem = f"the object is {end - start:,} characters long; at most {MAX_LINE_BYTES:,} are taken"
            if problem is None and not isinstance(value, dict):
                problem = "not a JSON object; the array holds one {…} for each instance"
            if problem is None:
                records.append((number, value))
            else:
                bad.append(BadLine(number, problem))
    except json.JSONDecodeError as error:
        bad.append(BadLine(error.lineno, f"not valid JSON: {error.msg} at column {error.colno}"))
    return records, bad


def read_csv(data: bytes) -> tuple[list[str], list[Record], list[BadLine]]:
    """Read a CSV with a header line; a record's number is that of the line on which it starts."""
    lines, bad = decode_lines(data)
    if bad:  # a hole would shift quotes, so that every later line looked wrong
        return [], [], bad
    csv.field_size_limit(MAX_LINE_BYTES)
    text = data.removeprefix(_BOM).decode("utf-8")
    if "\x00" in text:
        return [], [], [BadLine(number, "holds a NUL character") for number, line in lines if "\x00" in line]
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    records: list[Record] = []
    start = 1
    header: list[str] = []
    try:
        for cells in reader:
            if len(bad) >= MOST_BAD_LINES:
                break
            if not header:
                header = [cell.strip() for cell in cells]
                bad.extend(_header_problems(header))
            elif len(cells) == len(header):
                records.append((start, dict(zip(header, cells, strict=True))))
            elif cells:
                bad.append(BadLine(start, f"{len(cells)} cells under {len(header)} columns"))
            start = reader.line_num + 1
    except csv.Error as error:
        noticed = f" (noticed on line {reader.line_num})" if reader.line_num > start else ""
        bad.append(BadLine(start, f"not valid CSV: {error}{noticed}"))
    return header, records, bad


def is_csv(name: str) -> bool:
    """Tell by its name whether a file is CSV; everything else is read as JSON Lines."""
    return name.lower().endswith(".csv")


def refuse(name: str, bad: Iterable[BadLine]) -> None:
    """Raise `BadFile` if there is any bad line."""
    if lines := list(bad):
        raise BadFile(name, lines)


def text_problem(value: object, *, longest: int | None = None, may_be_blank: bool = False) -> str | None:
    """Say what keeps `value` from being stored as text, or `None`."""
    if not isinstance(value, str):
        return f"is {type(value).__name__}, not text"
    if not may_be_blank and not value.strip():
        return "is empty"
    if "\x00" in value:
        return "holds a NUL character"
    if any("\ud800" <= char <= "\udfff" for char in value):
        return "holds half of a surrogate pair"
    if longest is not None and len(value) > longest:
        return f"is {len(value)} characters long; at most {longest} are taken"
    return None


def unstorable(values: dict[str, Any]) -> str | None:
    """Return the first key under which, at any depth, lies a text that a database refuses."""
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


def _load(line: str) -> Any:
    """Read one JSON value, with the numbers that JSON has and no deeper than databases take.

    Raises: ValueError.
    """
    too_deep = f"nested more than {DEEPEST} levels deep"
    try:
        value = json.loads(line, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError(too_deep) from None
    level = [value]
    for _ in range(DEEPEST):
        level = [item for one in level if isinstance(one, dict | list) for item in _items(one)]
        if not level:
            return value
    raise ValueError(too_deep)


def _items_of_array(text: str, at: int) -> Iterator[tuple[int, int, str | None, Any]]:
    """Yield where each item of an array starts and ends, what is wrong with it, and the item.

    at     : behind the opening bracket
    Raises: JSONDecodeError where the notation is wrong.
    """
    find = json.JSONDecoder().raw_decode
    at = _BLANK.match(text, at).end()  # type: ignore[union-attr]  # matches the empty text too
    while text[at : at + 1] != "]":
        try:
            _, end = find(text, at)
        except RecursionError:
            raise json.JSONDecodeError(f"nested more than {DEEPEST} levels deep", text, at) from None
        try:
            yield at, end, None, _load(text[at:end])
        except ValueError as error:
            yield at, end, f"not valid JSON: {error}", None
        at = _BLANK.match(text, end).end()  # type: ignore[union-attr]
        if text[at : at + 1] == ",":
            at = _BLANK.match(text, at + 1).end()  # type: ignore[union-attr]
            if text[at : at + 1] == "]":
                raise json.JSONDecodeError("Expecting value", text, at)
        elif text[at : at + 1] != "]":
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
    rest = _BLANK.match(text, at + 1).end()  # type: ignore[union-attr]
    if rest < len(text):
        raise json.JSONDecodeError("Extra data", text, rest)


def _items(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"the number {digits} is too large")
    return value


def _header_problems(header: list[str]) -> list[BadLine]:
    if len(header) == 1 and ";" in header[0]:
        return [BadLine(1, "cells are separated by semicolons; save the file with commas")]
    repeated = sorted(name for name, count in Counter(header).items() if count > 1)
    return [BadLine(1, f"column {name!r} is there more than once") for name in repeated]


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        repeated, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"the key {repeated!r} is there more than once")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")
