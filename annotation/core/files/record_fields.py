"""Typed access to the fields of a record, which collects their problems."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeVar

from annotation.core.errors import BadLine
from annotation.core.files import lines
from annotation.core.files.lines import FileData, parse_number, parse_time, text_problem
from annotation.core.files.mapping import NOTHING, FieldMapping, read_mapped
from annotation.core.names import trim
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal

Row = TypeVar("Row")
_NO_SYNONYMS: Mapping[str, str] = {}
# How files name the sides of a verdict: pandas makes 1.0 of 1 where another row has none.
SIGNS = {"-1.0": "-1", "0.0": "0", "1.0": "1", "+1": "1"}
LETTERS_TO_SIGNS = {"a": "-1", "model_a": "-1", "tie": "0", "b": "1", "model_b": "1", **SIGNS}
SIGNS_TO_LETTERS = {
    **dict.fromkeys(("-1", "-1.0", "model_a"), "a"),
    **dict.fromkeys(("0", "0.0"), "tie"),
    **dict.fromkeys(("1", "1.0", "model_b"), "b"),
}


def number_as_text(value: Any) -> Any:
    """Return a number as a text, a whole one without decimals: pandas makes 1.0 of 1 where another row has none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


class RecordFields:
    """The fields of one record: each method returns a field's value, and adds to `problems` where it is none."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.record = record
        self.problems: list[Reason] = []

    def in_trouble(self, *fields: str) -> bool:
        """Tell whether a problem of one of these fields was found."""
        return any(problem.values.get("field") in fields for problem in self.problems)

    def text(self, field: str, *, longest: int | None = None) -> str:
        """Return a text, or that of a number, or an empty string where there is none."""
        value = self.record.get(field)
        if value is None or value == "":
            return ""
        value = number_as_text(value)
        if problem := text_problem(value, field, longest=longest):
            self.problems.append(problem)
            return ""
        return str(value)

    def name(self, field: str, *, longest: int | None = None) -> str:
        """Return a name or code without blanks around it, or an empty string where there is none."""
        return trim(self.text(field, longest=longest))

    def needed(self, field: str, *, longest: int | None = None) -> str:
        """Return a name or code that must be there."""
        value = self.name(field, longest=longest)
        if not value and not self.in_trouble(field):
            self.problems.append(refusal("missing", field=field))
        return value

    def whole(self, field: str, *, maximum: int) -> int | None:
        """Return a whole number from 0 to `maximum`, or None where there is none."""
        value = self.text(field).removesuffix(".0")
        if not value:
            return None
        # No more digits than `most` are read: int() takes long over many.
        if not value.isascii() or not value.isdigit() or len(value) > len(str(maximum)) or int(value) > maximum:
            self.problems.append(refusal("not_whole", field=field, value=repr(value[:40]), most=maximum))
            return None
        return int(value)

    def number(
        self, field: str, *, minimum: float = -math.inf, maximum: float = math.inf, kind: str = "a finite number"
    ) -> float | None:
        """Return a finite number between `minimum` and `maximum`, which messages call `kind`, or None where there is none."""
        value = self.text(field)
        number = parse_number(value, minimum=minimum, maximum=maximum)
        if value and number is None:
            self.problems.append(refusal("not_kind", field=field, value=repr(value[:40]), kind=kind))
        return number

    def one_of(
        self, field: str, offered: Iterable[str], *, default: str = "", synonyms: Mapping[str, str] = _NO_SYNONYMS
    ) -> str:
        """Return one of the words on offer, of which the empty one may be. `default` where there is none.

        synonyms : words that are taken for one on offer
        """
        value, allowed = self.text(field).lower() or default, list(offered)
        value = synonyms.get(value, value)
        if value not in allowed and field not in self.record:
            self.problems.append(refusal("missing", field=field))
        elif value not in allowed and not self.in_trouble(field):
            *first_words, last = [item or "empty" for item in allowed]
            words = f"{', '.join(first_words)} or {last}" if first_words else last
            self.problems.append(refusal("not_one_of", field=field, value=repr(value), words=words))
        return value

    def moment(self, field: str) -> datetime | None:
        """Return a time with its zone, or None where there is none."""
        value = self.text(field)
        moment = parse_time(value)
        if value and moment is None:
            self.problems.append(
                refusal("not_kind", field=field, kind="an ISO time with its zone", value=repr(value[:40]))
            )
        return moment

    def flag(self, field: str) -> bool | None:
        """Return whether a field says true or false, or None where it says nothing."""
        value = self.record.get(field)
        word = str(value).strip().lower() if value is not None else ""
        if word not in ("", "true", "false", "1", "0"):
            self.problems.append(refusal("not_one_of", field=field, words="true or false", value=repr(value)))
        return word in ("true", "1") if word else None


def iterate_rows(
    data: FileData,
    name: str,
    read: Callable[[int, RecordFields], Row],
    *,
    subject: str,
    mapping: FieldMapping = NOTHING,
    spread: Callable[[Iterable[lines.Record]], Iterable[lines.Record]] = iter,
) -> tuple[Iterator[Row], list[BadLine]]:
    """Return an iterator over the good rows of an exported file, CSV or JSON Lines, and the bad lines, which it fills.

    subject : the content of the file, in the plural
    mapping : field → column, see `annotation.core.files.mapping`
    spread  : makes a record a row of those that have several
    Raises: BadFile for CSV whose header or encoding is broken.
    """
    records, bad = read_mapped(data, mapping) if mapping else lines.read_file(data, name)
    if not mapping and lines.is_csv(name):
        lines.refuse(name, bad)
        records = lines.with_json_cells(records, (), bad)

    def good_rows() -> Iterator[Row]:
        is_empty = True
        for number, record in lines.watched(spread(records), bad, subject):
            fields = RecordFields(record)
            row = read(number, fields)
            bad.extend(BadLine(number, problem) for problem in fields.problems)
            if not fields.problems:
                is_empty = False
                yield row
        if is_empty and not bad:
            bad.append(BadLine(1, refusal("no_rows", what=subject)))

    return good_rows(), bad
