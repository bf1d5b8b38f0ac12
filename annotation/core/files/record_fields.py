"""Typed access to the fields of a record, which collects what is wrong with them."""

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from annotation.core.files.lines import parse_number, parse_time, text_problem


class RecordFields:
    """The fields of one record: each method returns a field's value, and adds to `problems` where it is none."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.record = record
        self.problems: list[str] = []

    def in_trouble(self, *fields: str) -> bool:
        """Tell whether a problem of one of these fields was found."""
        return any(problem.split(" ")[0] in fields for problem in self.problems)

    def text(self, field: str, *, longest: int | None = None) -> str:
        """Return a text, or that of a number; empty where there is none."""
        value = self.record.get(field)
        if value is None or value == "":
            return ""
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if problem := text_problem(value, longest=longest):
            self.problems.append(f"{field} {problem}")
            return ""
        return str(value)

    def needed(self, field: str, *, longest: int | None = None) -> str:
        """Return a text that must be there."""
        value = self.text(field, longest=longest)
        if not value and not self.in_trouble(field):
            self.problems.append(f"{field} is missing")
        return value

    def whole(self, field: str, *, most: int) -> int | None:
        """Return a whole number from 0 to `most`, or None where there is none."""
        value = self.text(field)
        if not value:
            return None
        # No more digits than `most` are read: int() takes long over many.
        if not value.isascii() or not value.isdigit() or len(value) > len(str(most)) or int(value) > most:
            self.problems.append(f"{field} is {value[:40]!r}, not a whole number from 0 to {most:,}")
            return None
        return int(value)

    def number(
        self, field: str, *, least: float = -math.inf, most: float = math.inf, kind: str = "a finite number"
    ) -> float | None:
        """Return a finite number between `least` and `most`, which messages call `kind`, or None where there is none."""
        value = self.text(field)
        number = parse_number(value, least=least, most=most)
        if value and number is None:
            self.problems.append(f"{field} is {value[:40]!r}, not {kind}")
        return number

    def one_of(self, field: str, offered: Iterable[str], *, default: str = "") -> str:
        """Return one of the words on offer, of which the empty one may be; `default` where there is none."""
        value, known = self.text(field).lower() or default, list(offered)
        if value not in known and not self.in_trouble(field):
            named = [one or "empty" for one in known]
            self.problems.append(f"{field} is {value!r}; it must be {', '.join(named[:-1])} or {named[-1]}")
        return value

    def moment(self, field: str) -> datetime | None:
        """Return a time with its zone, or None where there is none."""
        value = self.text(field)
        moment = parse_time(value)
        if value and moment is None:
            self.problems.append(f"{field} is {value[:40]!r}, not an ISO time with its zone")
        return moment
