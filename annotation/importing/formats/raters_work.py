"""What raters did beside their ratings, as it is exported: changes of votes, flags with returned HITs; and the raters themselves."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from annotation.core.errors import BadLine
from annotation.core.files.record_fields import RecordFields, read_rows
from annotation.importing.formats.ratings_file import LongRow, Place, read_place, read_rating
from annotation.models import Annotator, Assignment, Flag

RETURNED = "returned"  # the kind of a row that is about a HIT given back
_MOST_ROW = 32_767


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A change of a vote; `more` has the fields that a rating lacks."""

    vote: LongRow
    table_id: str
    more: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FlagRow(Place):
    """A flag on a pair or on a row of a table, or a HIT that was given back."""

    purpose: str
    kind: str
    reason: str
    comment: str
    table_id: str
    row: int | None
    reported_at: datetime | None
    taken_back_at: datetime | None
    shown_first: str

    @property
    def is_returned(self) -> bool:
        """Tell whether it is about a HIT that was given back."""
        return self.kind == RETURNED


@dataclass(frozen=True, slots=True)
class ImportedRater:
    """A rater; `values` are the fields of an annotator."""

    number: int
    code: str
    values: dict[str, Any]


def parse_history(data: bytes, name: str) -> tuple[list[ChangeRow], list[BadLine]]:
    """Parse changes of votes.

    Raises: BadFile for a file without the columns.
    """
    required = ("instance_id", "system_a", "system_b", "rater", "stage", "rating", "received_at")
    return read_rows(data, name, _change, required=required, what="changes of votes")


def _change(number: int, cells: RecordFields) -> ChangeRow:
    return ChangeRow(
        vote=read_rating(number, cells),
        table_id=cells.name("table_id"),
        more={
            "received_at": _needed_moment(cells, "received_at"),
            "chosen_at": cells.moment("chosen_at"),
            "page": cells.text("page", longest=32),
            "source_opened": cells.flag("source_opened"),
        },
    )


def parse_flags(data: bytes, name: str) -> tuple[list[FlagRow], list[BadLine]]:
    """Parse flags and returned HITs.

    Raises: BadFile for a file without the columns.
    """
    required = ("instance_id", "system_a", "system_b", "rater", "kind", "reported_at")
    return read_rows(data, name, _flag, required=required, what="flags")


def _flag(number: int, cells: RecordFields) -> FlagRow:
    kind = cells.one_of("kind", [*Flag.Kind.values, RETURNED])
    of_row, returned = kind == Flag.Kind.UNSUPPORTED_ROW, kind == RETURNED
    row = FlagRow(
        number=number,
        **read_place(cells, whole_hit=returned),
        purpose=cells.one_of("purpose", Assignment.Purpose.values, default=Assignment.Purpose.RATING),
        kind=kind,
        reason=cells.one_of("reason", [*Assignment.ReturnReason.values, ""] if returned else [""]),
        comment=cells.text("comment"),
        table_id=cells.name("table_id") if of_row else "",
        row=cells.whole("row", most=_MOST_ROW),
        reported_at=cells.moment("reported_at") if returned else _needed_moment(cells, "reported_at"),
        taken_back_at=cells.moment("taken_back_at"),
        shown_first=cells.one_of("shown_first", ("a", "b", "")),
    )
    if of_row != (row.row is not None) and not cells.in_trouble("row"):
        cells.problems.append(f"row is there with kind {Flag.Kind.UNSUPPORTED_ROW}, and only there")
    return row


def parse_raters(data: bytes, name: str) -> tuple[list[ImportedRater], list[BadLine]]:
    """Parse raters.

    Raises: BadFile for a file without the columns.
    """
    return read_rows(data, name, _rater, required=("rater", "kind", "joined_at"), what="raters")


def _rater(number: int, cells: RecordFields) -> ImportedRater:
    return ImportedRater(
        number=number,
        code=cells.needed("rater", longest=200),
        values={
            "kind": cells.one_of("kind", Annotator.Kind.values),
            "joined_at": _needed_moment(cells, "joined_at"),
            "excluded": bool(cells.flag("excluded")),
            "exclusion_reason": cells.text("exclusion_reason", longest=300),
            "warned_at": cells.moment("warned_at"),
            "blocked_at": cells.moment("blocked_at"),
            "block_reason": cells.text("block_reason", longest=300),
        },
    )


def _needed_moment(cells: RecordFields, field: str) -> datetime | None:
    moment = cells.moment(field)
    if moment is None and not cells.in_trouble(field):
        cells.problems.append(f"{field} is missing")
    return moment
