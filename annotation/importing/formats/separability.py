"""Separability as it is exported, a matchup by one measure a row: the columns of writer and reader, and the parsing of rows."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.files import lines
from annotation.core.files.lines import parse_number, parse_time, text_problem
from annotation.models.separability import LONGEST_MODEL

# Columns by the fields of a run that fill them.
MEASURE = ("similarity", "model", "model_fingerprint", "samples", "cross_pairs", "seed")
SCALE = ("group", "low", "high")
RUN = (*MEASURE, *SCALE)
ALIGNMENTS = ("self_a", "self_b", "cross", "separability")
PROVENANCE = ("short", "computed_at", "software_version")
COLUMNS = ("instance_id", "dataset", "system_a", "system_b", *RUN, *ALIGNMENTS, *PROVENANCE)
REQUIRED = ("instance_id", "system_a", "system_b", "similarity", *SCALE, *ALIGNMENTS)
_LONGEST = {"similarity": 60, "model": LONGEST_MODEL, "model_fingerprint": 64, "group": 60, "software_version": 40}
_MOST = {"samples": 2**31 - 1, "cross_pairs": 2**31 - 1, "seed": 2**63 - 1, "short": 2**31 - 1}


@dataclass(frozen=True, slots=True)
class SeparabilityRow:
    """Alignments of one matchup with the file's A and B, which may be the study's B and A.

    run    : what the rows of one run have in common: the columns of RUN and PROVENANCE
    values : those of ALIGNMENTS
    """

    number: int
    instance_id: str
    systems: tuple[str, str]
    run: dict[str, Any]
    values: tuple[float | None, float | None, float, float | None]


def parse_separability(data: bytes, name: str) -> tuple[list[SeparabilityRow], list[BadLine]]:
    """Parse exported separability, CSV or JSON Lines; return the rows and the bad lines.

    Raises: BadFile for a file without the columns.
    """
    if lines.is_csv(name):
        header, cells, bad = lines.read_csv(data)
        lines.refuse(name, bad or [BadLine(1, f"column {one} is missing") for one in REQUIRED if one not in header])
        records = lines.with_json_cells(cells, (), bad)
    else:
        records, bad = lines.read_json_lines(data)
    rows = []
    for number, record in records:
        if len(bad) >= MOST_BAD_LINES:
            break
        found = _Cells(record)
        row = _row(number, found)
        bad.extend(BadLine(number, problem) for problem in found.problems)
        if not found.problems:
            rows.append(row)
    if not rows and not bad:
        bad.append(BadLine(1, "the file holds no separability"))
    return rows, bad


def _row(number: int, cells: "_Cells") -> SeparabilityRow:
    run: dict[str, Any] = {
        **{name: cells.text(name, needed=name in REQUIRED) for name in _LONGEST},
        **{name: cells.whole(name) for name in _MOST},
        **{name: cells.number(name, needed=True) for name in ("low", "high")},
        "computed_at": cells.moment("computed_at"),
    }
    if run["low"] is not None and run["high"] is not None and run["low"] >= run["high"]:
        cells.problems.append("low is not below high")
    self_a, self_b, value = (cells.number(name) for name in ("self_a", "self_b", "separability"))
    cross = cells.number("cross", needed=True)
    row = SeparabilityRow(
        number=number,
        instance_id=cells.text("instance_id", needed=True),
        systems=(cells.text("system_a", needed=True), cells.text("system_b", needed=True)),
        run=run,
        values=(self_a, self_b, cross or 0.0, value),
    )
    if not cells.problems and (value is None) == (self_a is not None and self_b is not None):
        cells.problems.append("separability is there where self_a and self_b are, and only there")
    return row


class _Cells:
    """Typed access to a record's fields, which collects problems."""

    def __init__(self, record: dict[str, Any]) -> None:
        self.record = record
        self.problems: list[str] = []

    def text(self, field: str, *, needed: bool = False) -> str:
        value = self.record.get(field)
        if value is None or value == "":
            if needed:
                self.problems.append(f"{field} is missing")
            return ""
        if problem := text_problem(value, longest=_LONGEST.get(field, 200)):
            self.problems.append(f"{field} {problem}")
            return ""
        return str(value)

    def whole(self, field: str) -> int | None:
        value = self.record.get(field)
        if value is None or value == "":
            return None
        text = str(value)
        if (
            not text.isascii() or not text.isdigit() or len(text) > 19 or int(text) > _MOST[field]
        ):  # digits of the largest
            self.problems.append(f"{field} is {text[:40]!r}, not a whole number from 0 to {_MOST[field]:,}")
            return None
        return int(text)

    def number(self, field: str, *, needed: bool = False) -> float | None:
        value = self.record.get(field)
        if value is None or value == "":
            if needed:
                self.problems.append(f"{field} is missing")
            return None
        number = None if isinstance(value, bool) else parse_number(str(value))
        if number is None:
            self.problems.append(f"{field} is {str(value)[:40]!r}, not a finite number")
        return number

    def moment(self, field: str) -> datetime | None:
        value = str(self.record.get(field) or "")
        moment = parse_time(value)
        if value and moment is None:
            self.problems.append(f"{field} is {value[:40]!r}, not an ISO time with its zone")
        return moment
