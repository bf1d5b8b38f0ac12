"""Long-form ratings, one a row, as CSV or JSON Lines, as Tandem exports them."""

from dataclasses import dataclass
from datetime import datetime

from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.files import lines
from annotation.core.files.record_fields import RecordFields
from annotation.core.files.spreadsheet import restore

REQUIRED = ("instance_id", "system_a", "system_b", "rater", "rating", "shown_first")
# By the purpose of a HIT, the exclusion reason of its ratings in exports.
CHECK_REASONS = {"qualification": "qualification", "gold": "check: gold", "repeat": "check: repeat"}
_MOST = 999_999_999
_STAGES = ("first", "revised")


@dataclass(frozen=True, slots=True)
class LongRow:
    """One rating with the file's A and B, which may be the study's B and A."""

    number: int
    batch: str
    hit: str
    instance_id: str
    pair_index: int | None
    system_a: str
    system_b: str
    generation_a_index: int | None
    generation_b_index: int | None
    rater: str
    stage: str
    rating: int
    shown_first: str
    arm: str
    table_variant: str
    reason: str
    active_seconds: float | None
    wall_seconds: float | None
    rated_at: datetime | None
    late: bool
    excluded: bool
    exclusion_reason: str
    software_version: str
    question: str
    strength: int | None
    tie_kind: str

    @property
    def is_check(self) -> bool:
        """Tell whether it is of a qualification or hidden check, which rating sets leave out."""
        return self.excluded and self.exclusion_reason in CHECK_REASONS.values()


def parse_ratings(data: bytes, name: str) -> list[LongRow]:
    """Parse long-form ratings.

    Raises: BadFile listing the bad lines.
    """
    if lines.is_csv(name):
        header, records, bad = lines.read_csv(data)
        records = ((number, {name: restore(cell) for name, cell in record.items()}) for number, record in records)
        if not bad:
            bad = [BadLine(1, f"column {column} is missing") for column in REQUIRED if column not in header]
            lines.refuse(name, bad)
    else:
        records, bad = lines.read_json_lines(data)
    rows = []
    for number, record in records:
        if len(bad) >= MOST_BAD_LINES:
            break
        cells = _RatingFields(record)
        row = _row(number, cells)
        bad.extend(BadLine(number, problem) for problem in cells.problems)
        if not cells.problems:
            rows.append(row)
    if not rows and not bad:
        bad.append(BadLine(1, "the file holds no ratings"))
    lines.refuse(name, bad)
    return rows


def _row(number: int, cells: "_RatingFields") -> LongRow:
    kind = cells.text("rater_kind")
    if kind not in ("", "person"):
        cells.problems.append(f"rater_kind is {kind!r}; only people's ratings come in here")
    row = LongRow(
        number=number,
        batch=cells.text("batch"),
        hit=cells.text("hit"),
        instance_id=cells.needed("instance_id"),
        pair_index=cells.whole("pair_index", most=_MOST),
        system_a=cells.needed("system_a"),
        system_b=cells.needed("system_b"),
        generation_a_index=cells.whole("generation_a_index", most=_MOST),
        generation_b_index=cells.whole("generation_b_index", most=_MOST),
        rater=cells.needed("rater"),
        stage=cells.one_of("stage", _STAGES, default="first"),
        rating=cells.rating(),
        shown_first=cells.one_of("shown_first", ("a", "b")),
        arm=cells.text("arm"),
        table_variant=cells.text("table_variant"),
        reason=cells.text("reason"),
        active_seconds=cells.number("active_seconds", least=0, kind="a number of seconds"),
        wall_seconds=cells.number("wall_seconds", least=0, kind="a number of seconds"),
        rated_at=cells.moment("rated_at"),
        late=cells.flag("late"),
        excluded=cells.flag("excluded"),
        exclusion_reason=cells.text("exclusion_reason"),
        software_version=cells.text("software_version"),
        question=cells.text("question"),
        strength=cells.strength(),
        tie_kind=cells.one_of("tie_kind", ("good", "bad", "")),
    )
    if row.strength and not row.rating:
        cells.problems.append(f"strength is {row.strength} with rating 0; leave it empty where neither is preferred")
    if row.tie_kind and row.rating and not cells.in_trouble("tie_kind"):
        cells.problems.append(f"tie_kind is {row.tie_kind!r} with rating {row.rating}; leave it empty there")
    unnamed = row.pair_index is None and (row.generation_a_index is None or row.generation_b_index is None)
    if unnamed and not cells.in_trouble("pair_index", "generation_a_index", "generation_b_index"):
        cells.problems.append("neither pair_index nor both generation indexes are given")
    return row


class _RatingFields(RecordFields):
    """The fields of one rating."""

    def rating(self) -> int:
        value = self.text("rating")
        if value in ("-1", "0", "1"):
            return int(value)
        if not self.in_trouble("rating"):
            self.problems.append(f"rating is {value!r}; it must be -1, 0 or 1")
        return 0

    def strength(self) -> int | None:
        value = self.text("strength")
        if value in ("1", "2"):
            return int(value)
        if value:
            self.problems.append(f"strength is {value!r}; it must be 1 or 2, or empty where it is not known")
        return None

    def flag(self, field: str) -> bool:
        value = self.record.get(field)
        word = str(value).strip().lower() if value is not None else ""
        if word not in ("", "true", "false", "1", "0"):
            self.problems.append(f"{field} is {value!r}; it must be true or false")
        return word in ("true", "1")
