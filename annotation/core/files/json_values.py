"""Strict JSON: no repeated keys, no infinity, and no nesting deeper than databases store."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from annotation.core.reasons import Reason
from annotation.core.refusals import refusal

MAX_LINE_BYTES = 4 * 1024 * 1024
DEEPEST = 100  # levels of nesting; below the databases' own limits
_BLANKS = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(parse_int=str)  # finds where a value ends; `read_value` reads it


def read_value(line: str) -> Any:
    """Parse one JSON value.

    Raises: ValueError.
    """
    too_deep = f"nested more than {DEEPEST} levels deep"
    try:
        value = _STRICT.decode(line)
    except RecursionError:
        raise ValueError(too_deep) from None
    if line.count("{") + line.count("[") < DEEPEST:
        return value
    level = [value]
    for _ in range(DEEPEST):
        level = [item for row in level if isinstance(row, dict | list) for item in _items(row)]
        if not level:
            return value
    raise ValueError(too_deep)


def count_values(value: Any) -> int:
    """Count the texts, numbers, lists and objects that a value holds at any depth."""
    count, level = 0, [value]
    while level := [item for row in level if isinstance(row, dict | list) for item in _items(row)]:
        count += len(level)
    return count


def items_of_array(text: str, at: int) -> Iterator[tuple[int, int, Reason | None, Any]]:
    """Yield (start, end, problem, value) of each item of an array. `at` is the place after the opening bracket.

    Raises: JSONDecodeError where the syntax is wrong.
    """
    at = _after_blanks(text, at)
    window, begin = "", at
    while text[at : at + 1] != "]":
        if begin + len(window) < min(at + MAX_LINE_BYTES, len(text)):
            window, begin = text[at : at + 9 * MAX_LINE_BYTES // 8], at
        end = _end_of_item(text, at, window, begin)
        try:
            yield at, end, None, read_value(text[at:end])
        except ValueError as error:
            yield at, end, refusal("not_json", error=str(error)), None
        at = _after_blanks(text, end)
        if text[at : at + 1] == ",":
            at = _after_blanks(text, at + 1)
            if text[at : at + 1] == "]":
                raise json.JSONDecodeError("Expecting value", text, at)
        elif text[at : at + 1] != "]":
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
    position = _after_blanks(text, at + 1)
    if position < len(text):
        raise json.JSONDecodeError("Extra data", text, position)


def _end_of_item(text: str, at: int, window: str, begin: int) -> int:
    """Return where the item that starts at `at` ends.

    window : the part of the text, from `begin` on, that is parsed; a larger item is refused before it is built
    Raises: JSONDecodeError.
    """
    try:
        return begin + _DECODER.raw_decode(window, at - begin)[1]
    except json.JSONDecodeError as error:
        if begin + len(window) == len(text):
            raise json.JSONDecodeError(error.msg, text, begin + error.pos) from None
        message = f"broken, or an object of more than {MAX_LINE_BYTES:,} characters"
        raise json.JSONDecodeError(message, text, at) from None
    except RecursionError:
        raise json.JSONDecodeError(f"nested more than {DEEPEST} levels deep", text, at) from None


def _after_blanks(text: str, at: int) -> int:
    return _BLANKS.match(text, at).end()  # type: ignore[union-attr]  # matches the empty text too


def _items(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"the number {digits} is too large")
    return value


def _whole(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # Python's limit on digits, since int() takes quadratic time
        raise ValueError(f"a number has {len(digits):,} digits") from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    by_key = dict(pairs)
    if len(by_key) < len(pairs):
        repeated, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"the key {repeated!r} is there more than once")
    return by_key


def _constant(name: str) -> None:
    """Return None for NaN, which pandas writes where a value is missing.

    Raises: ValueError for an infinity.
    """
    if name != "NaN":
        raise ValueError(f"{name} is not a number of JSON")


_STRICT = json.JSONDecoder(
    object_pairs_hook=_unique_keys, parse_constant=_constant, parse_float=_finite, parse_int=_whole
)
