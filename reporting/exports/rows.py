"""People's work in long form: the ratings, vote changes, flags and returned HITs of a study.

Rows of annotators who withdrew consent are left out.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Case, CharField, F, Value, When

from annotation.importing.formats.long_form import FLAG_COLUMNS, HISTORY_COLUMNS, RATING_COLUMNS, answer_columns
from annotation.importing.formats.ratings_file import CHECK_REASONS
from annotation.models import Assignment, Flag, Rating, Study, VoteChange
from annotation.monitoring.reports import RETURNED

Row = Mapping[str, Any]
NOT_SUBMITTED = "not submitted"
SURPLUS = "surplus: another assignment fills the slot"
LATE = "late: came in after its time, and another assignment fills the slot"
CHUNK = 2000
TIMES = ("rated_at", "received_at", "chosen_at", "reported_at", "taken_back_at")  # written as ISO 8601
# Columns of the export by the ORM lookups that fill them.
_OF_ASSIGNMENT = {
    "study": "hit__batch__study__slug",
    "batch": "hit__batch__name",
    "external_hit": "hit__external_id",
    "hit_key": "hit__key",
    "rater": "annotator__code",
    "purpose": "purpose",
}
_EXCLUSION_FIELDS = {
    "state": "state",
    "slot": "slot",
    "assignment_late": "late",
    "assignment_excluded": "excluded",
    "assignment_reason": "exclusion_reason",
    "annotator_excluded": "annotator__excluded",
    "annotator_reason": "annotator__exclusion_reason",
}
_OF_PAIR = {
    "instance_id": "pair__matchup__instance__instance_id",
    "dataset": "pair__matchup__instance__dataset",
    "pair_index": "pair__index",
    "system_a": "pair__matchup__system_a__name",
    "system_b": "pair__matchup__system_b__name",
    "generation_a_index": "pair__generation_a__index",
    "generation_b_index": "pair__generation_b__index",
    "a_is_left": "a_is_left",
}


def _prefixed(prefix: str, fields: Mapping[str, str]) -> dict[str, str]:
    return {column: f"{prefix}__{path}" for column, path in fields.items()}


_OF_DISPLAY = {**_prefixed("display__assignment", _OF_ASSIGNMENT), **_prefixed("display", _OF_PAIR)}
RATING_FIELDS = {
    **_OF_DISPLAY,
    **_prefixed("display__assignment", _EXCLUSION_FIELDS),
    "rating": "verdict",
    "table_variant": "table__variant",
    **{name: name for name in ("stage", "arm", "reason", "active_seconds", "wall_seconds", "rated_at", "late")},
    **{name: name for name in ("question", "strength", "tie_kind", "software_version", "translated")},
}
# Primary keys, and the place on the page, by which a bundle's rows name their records.
RATING_IDS = {
    "assignment": "display__assignment_id",
    "pair": "display__pair_id",
    "position": "display__position",
    "table": "table__pk",
}
HISTORY_FIELDS = {
    **_OF_DISPLAY,
    **_prefixed("display__assignment", _EXCLUSION_FIELDS),
    "rating": "verdict",
    "assignment_arm": "display__assignment__arm",
    "shown_table_id": "display__table__table_id",
    "shown_variant": "display__table__variant",
    **{name: name for name in ("table_of", "stage", "reason", "received_at", "chosen_at", "page", "active_seconds")},
    **{name: name for name in ("wall_seconds", "late", "software_version", "source_opened")},
    **{name: name for name in ("question", "strength", "tie_kind")},
}
# Which texts the shown table was made from, relative to its pair; a placebo is made from anything but the pair.
TABLE_OF = Case(
    When(display__table=None, then=Value("")),
    When(display__table__pair=F("display__pair"), then=Value("pair")),
    When(display__table__pair__matchup__instance=F("display__pair__matchup__instance"), then=Value("source")),
    When(
        display__table__pair__matchup__instance__dataset=F("display__pair__matchup__instance__dataset"),
        then=Value("dataset"),
    ),
    default=Value("study"),
    output_field=CharField(),
)
FLAG_FIELDS = {
    **_OF_DISPLAY,
    "kind": "kind",
    "comment": "comment",
    "table_id": "table__table_id",
    "table_variant": "table__variant",
    "rows": "table__rows",
    "row": "row",
    "reported_at": "flagged_at",
    "taken_back_at": "taken_back_at",
}
RETURN_FIELDS = {
    **_OF_ASSIGNMENT,
    "instance_id": "hit__matchup__instance__instance_id",
    "dataset": "hit__matchup__instance__dataset",
    "system_a": "hit__matchup__system_a__name",
    "system_b": "hit__matchup__system_b__name",
    "reason": "return_reason",
    "comment": "return_comment",
    "reported_at": "returned_at",
}


def rating_columns(study: Study) -> tuple[str, ...]:
    """Return the columns of a study's ratings."""
    return (*RATING_COLUMNS, "translated", *answer_columns(study.questions))


def history_columns(study: Study) -> tuple[str, ...]:
    """Return the columns of a study's vote changes."""
    return (*HISTORY_COLUMNS, *answer_columns(study.questions))


def rating_rows(study: Study, columns: tuple[str, ...] = ()) -> Iterator[Row]:
    """Yield every rating of a study, on each of its questions. Those that findings leave out are marked `excluded`.

    columns : of `rating_columns` and `RATING_IDS`; the former when left out
    """
    ratings = _of_study(Rating.objects.all(), study)
    ordered = ratings.order_by("display__assignment_id", "display__position", "stage", "question")
    columns, keys = columns or rating_columns(study), _keys(study)
    for row in read_rows(ordered, {**RATING_FIELDS, **RATING_IDS}):
        _add_exclusion(row)
        row["question"], row["table_variant"] = keys[row["question"]], row["table_variant"] or ""
        yield _row(columns, row)


def history_rows(study: Study) -> Iterator[Row]:
    """Yield every vote change in the order received. The last of a pair, stage and question is the rating."""
    columns, keys = history_columns(study), _keys(study)
    changes = _of_study(VoteChange.objects.annotate(table_of=TABLE_OF), study)
    for row in read_rows(changes.order_by("display__assignment_id", "pk"), HISTORY_FIELDS):
        second = row["stage"] == Rating.Stage.REVISED
        converted = {
            "arm": row["assignment_arm"] if second else "",
            "table_id": (row["shown_table_id"] or "") if second else "",
            "table_variant": (row["shown_variant"] or "") if second else "",
            "table_of": row["table_of"] if second else "",
        }
        _add_exclusion(row)
        yield _row(columns, {**row, **converted, "question": keys[row["question"]]})


def flag_rows(study: Study) -> Iterator[Row]:
    """Yield the flags on pairs and on rows of tables, then the returned HITs."""
    flags = _of_study(Flag.objects.all(), study).order_by("flagged_at", "pk")
    for row in read_rows(flags, FLAG_FIELDS):
        rows, index = row["rows"], row["row"]
        derived = {
            "reason": "",
            "aspect": "" if index is None else rows[index]["aspect"],
            "table_id": row["table_id"] or "",
            "table_variant": row["table_variant"] or "",
        }
        yield _row(FLAG_COLUMNS, {**row, **derived})
    returned = Assignment.objects.present().filter(hit__batch__study=study, state=Assignment.State.RETURNED)
    nothing = dict.fromkeys(("pair_index", "generation_a_index", "generation_b_index", "row", "taken_back_at"))
    blank = dict.fromkeys(("table_id", "table_variant", "aspect", "shown_first"), "")
    for row in read_rows(returned.order_by("returned_at", "pk"), RETURN_FIELDS):
        yield _row(FLAG_COLUMNS, {**nothing, **blank, **row, "kind": RETURNED})


def _keys(study: Study) -> tuple[str, ...]:
    return tuple(question.key for question in study.questions)


def _of_study(rows: Any, study: Study) -> Any:
    """Keep the rows of one study, without those of annotators who withdrew consent."""
    return rows.filter(display__assignment__hit__batch__study=study, display__assignment__annotator__withdrawn_at=None)


def read_rows(rows: Any, fields: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a queryset's rows (column → value) from lookups or expressions by column, a chunk at a time."""
    for values in rows.values_list(*fields.values()).iterator(chunk_size=CHUNK):
        yield dict(zip(fields, values, strict=True))


def _row(columns: tuple[str, ...], values: dict[str, Any]) -> Row:
    """Return the columns of a row that was read, which is completed: no copy of it, as there are millions."""
    values["hit"], values["rater_kind"] = values["external_hit"] or values["hit_key"], "person"
    if "a_is_left" in values:
        values["shown_first"] = {True: "a", False: "b", None: ""}[values["a_is_left"]]
    for name in TIMES:
        if (time := values.get(name)) is not None:
            values[name] = time.isoformat()
    return {column: values[column] for column in columns}


def _add_exclusion(row: dict[str, Any]) -> None:
    """Add whether findings leave a rating out, and the first reason that applies (see `annotation.studies.votes.EXCLUSIONS`)."""
    reason = _exclusion_reason(row)
    row["excluded"], row["exclusion_reason"] = reason is not None, reason or ""


def _exclusion_reason(row: Mapping[str, Any]) -> str | None:
    if row["purpose"] != Assignment.Purpose.RATING:
        return CHECK_REASONS[row["purpose"]]
    if row["assignment_excluded"]:
        return row["assignment_reason"] or "assignment excluded"
    if row["annotator_excluded"]:
        return row["annotator_reason"] or "annotator excluded"
    if row["state"] != Assignment.State.SUBMITTED:
        return NOT_SUBMITTED
    if row["slot"] is None:
        return LATE if row["assignment_late"] else SURPLUS
    return None
