"""Long-form ratings, one a row, as CSV or JSON Lines, as Tandem exports them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from datetime import datetime

from annotation.core.errors import BadLine
from annotation.core.files.lines import FileData, Record
from annotation.core.files.mapping import NOTHING, FieldMapping
from annotation.core.files.record_fields import LETTERS_TO_SIGNS, RecordFields, iterate_rows
from annotation.core.names import trim
from annotation.core.refusals import refusal

REQUIRED = ("instance_id", "system_a", "system_b", "rater", "rating")
# By the purpose of a HIT, the exclusion reason of its ratings in exports.
CHECK_REASONS = {"qualification": "qualification", "gold": "check: gold", "repeat": "check: repeat"}
LONGEST = {"rater": 200, "batch": 200, "hit": 200, "arm": 50, "software_version": 40}
_INDEXES = ("pair_index", "generation_a_index", "generation_b_index")
_MOST = 999_999_999
_STAGES = ("first", "revised")
_BETWEEN = (" vs. ", " vs ", "|", "_")  # two names of systems


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingValues:
    """What a file and a study have alike of a rating."""

    number: int
    batch: str
    hit: str
    rater: str
    stage: str = "first"
    arm: str = ""
    reason: str = ""
    active_seconds: float | None = None
    wall_seconds: float | None = None
    rated_at: datetime | None = None
    late: bool = False
    excluded: bool = False
    exclusion_reason: str = ""
    software_version: str = ""
    translated: bool | None = None
    strength: int | None = None
    tie_kind: str = ""


SHARED = tuple(field.name for field in fields(RatingValues))


@dataclass(frozen=True, slots=True, kw_only=True)
class LongRow(RatingValues):
    """One rating, with the file's A and B, which may be the study's B and A."""

    instance_id: str
    pair_index: int | None
    system_a: str
    system_b: str
    generation_a_index: int | None
    generation_b_index: int | None
    rating: int
    shown_first: str
    table_variant: str
    question: str

    @property
    def is_check(self) -> bool:
        """Tell whether it is of a qualification or hidden check, which rating sets leave out."""
        return self.excluded and self.exclusion_reason in CHECK_REASONS.values()


def parse_ratings(
    data: FileData, name: str, mapping: FieldMapping = NOTHING
) -> tuple[Iterator[LongRow], list[BadLine]]:
    """Return an iterator over long-form ratings, and the bad lines, which it fills.

    Raises: BadFile for CSV whose header or encoding is broken.
    """
    return iterate_rows(data, name, _rating, subject="ratings", mapping=mapping, spread=_by_rater)


def _by_rater(records: Iterable[Record]) -> Iterator[Record]:
    """Yield a record for each rater of one with an object `ratings`: rater → rating. Empty ones are left out."""
    for number, record in records:
        if not isinstance(ratings := record.get("ratings"), dict):
            yield number, record
            continue
        for rater, rating in ratings.items():
            if rating not in (None, ""):
                yield number, {**record, "rater": rater, "rating": rating}


def _systems(cells: RecordFields) -> tuple[str, str]:
    """Return the names of A and B, which may stand in one field."""
    if "systems" not in cells.record:
        return cells.needed("system_a"), cells.needed("system_b")
    both = cells.needed("systems")
    for between in _BETWEEN:
        names = [trim(name) for name in both.split(between)]
        if len(names) == 2 and all(names):
            return names[0], names[1]
    if both:
        cells.problems.append(refusal("not_kind", field="systems", value=repr(both[:60]), kind="A vs B"))
    return "", ""


def _rating(number: int, cells: RecordFields) -> LongRow:
    kind = cells.text("rater_kind")
    if kind not in ("", "person"):
        cells.problems.append(refusal("not_by_people", kind=repr(kind)))
    shown_first = cells.one_of("shown_first", ("a", "b", ""))
    pair_index, index_a, index_b = (cells.whole(field, maximum=_MOST) for field in _INDEXES)
    system_a, system_b = _systems(cells)
    row = LongRow(
        number=number,
        batch=cells.name("batch", longest=LONGEST["batch"]),
        hit=cells.name("hit", longest=LONGEST["hit"]),
        instance_id=cells.needed("instance_id"),
        pair_index=pair_index,
        system_a=system_a,
        system_b=system_b,
        generation_a_index=index_a,
        generation_b_index=index_b,
        rater=cells.needed("rater", longest=LONGEST["rater"]),
        stage=cells.one_of("stage", _STAGES, default="first"),
        rating=_verdict(cells, shown_first),
        shown_first=shown_first,
        arm=cells.name("arm", longest=LONGEST["arm"]),
        table_variant=cells.name("table_variant"),
        reason=cells.text("reason"),
        active_seconds=cells.number("active_seconds", minimum=0, kind="a number of seconds"),
        wall_seconds=cells.number("wall_seconds", minimum=0, kind="a number of seconds"),
        rated_at=cells.moment("rated_at"),
        late=bool(cells.flag("late")),
        excluded=bool(cells.flag("excluded")),
        exclusion_reason=cells.text("exclusion_reason"),
        software_version=cells.text("software_version", longest=LONGEST["software_version"]),
        translated=cells.flag("translated"),
        question=cells.name("question"),
        strength=_strength(cells),
        tie_kind=cells.one_of("tie_kind", ("good", "bad", "")),
    )
    if pair_index is None and (index_a is None) != (index_b is None) and not cells.in_trouble(*_INDEXES):
        cells.problems.append(refusal("one_of_two_indexes"))
    if row.strength and not row.rating:
        cells.problems.append(refusal("strength_of_tie", strength=row.strength))
    if row.tie_kind and row.rating and not cells.in_trouble("tie_kind"):
        cells.problems.append(refusal("kind_of_no_tie", tie_kind=repr(row.tie_kind), rating=row.rating))
    return row


def _verdict(cells: RecordFields, shown_first: str) -> int:
    word = cells.one_of("rating", ("-1", "0", "1", "left", "right"), synonyms=LETTERS_TO_SIGNS)
    if cells.in_trouble("rating"):
        return 0
    if word not in ("left", "right"):
        return int(word)
    if not shown_first:
        cells.problems.append(refusal("side_without_order", rating=word))
    return -1 if (word == "left") == (shown_first == "a") else 1


def _strength(cells: RecordFields) -> int | None:
    value = cells.text("strength")
    if value and value not in ("1", "2"):
        words = "1 or 2, or empty where it is not known"
        cells.problems.append(refusal("not_one_of", field="strength", words=words, value=repr(value)))
    return int(value) if value in ("1", "2") else None
