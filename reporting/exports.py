"""Ratings and judgments in long form: rows from the database to CSV and JSON Lines, one at a time."""

import csv
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from annotation.models import Assignment, Rating, Study
from judging.tables import judgment_rows

Row = Mapping[str, Any]
RATING_COLUMNS = (
    *("study", "batch", "hit", "instance_id", "dataset", "pair_index", "system_a", "system_b"),
    *("generation_a_index", "generation_b_index", "rater", "rater_kind", "stage", "rating", "shown_first", "arm"),
    *("table_variant", "reason", "active_seconds", "wall_seconds", "rated_at", "late", "excluded"),
    *("exclusion_reason", "software_version"),
)
JUDGMENT_COLUMNS = (
    *RATING_COLUMNS,
    *("judge", "method", "model", "params", "prompt_version", "order", "repeat", "negated", "status", "verdict"),
    *("p_b", "score_a", "score_b", "rationale", "calls", "prompt_tokens", "completion_tokens", "cost", "latency_ms"),
    "completion_keys",
)
NOT_SUBMITTED = "not submitted"
SURPLUS = "surplus: another assignment fills the slot"
CHUNK = 2000
# Longer runs of apostrophes too, so that taking one away again gives back exactly what was there.
FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
# A row of the database: each field that is read, and the column that it becomes.
FIELDS = {
    "study": "display__assignment__hit__batch__study__slug",
    "batch": "display__assignment__hit__batch__name",
    "external_hit": "display__assignment__hit__external_id",
    "hit_key": "display__assignment__hit__key",
    "instance_id": "display__pair__matchup__instance__instance_id",
    "dataset": "display__pair__matchup__instance__dataset",
    "pair_index": "display__pair__index",
    "system_a": "display__pair__matchup__system_a__name",
    "system_b": "display__pair__matchup__system_b__name",
    "generation_a_index": "display__pair__generation_a__index",
    "generation_b_index": "display__pair__generation_b__index",
    "rater": "display__assignment__annotator__code",
    "stage": "stage",
    "rating": "verdict",
    "a_is_left": "display__a_is_left",
    "arm": "arm",
    "table_variant": "table__variant",
    "reason": "reason",
    "active_seconds": "active_seconds",
    "wall_seconds": "wall_seconds",
    "rated_at": "rated_at",
    "late": "late",
    "state": "display__assignment__state",
    "slot": "display__assignment__slot",
    "assignment_excluded": "display__assignment__excluded",
    "assignment_reason": "display__assignment__exclusion_reason",
    "annotator_excluded": "display__assignment__annotator__excluded",
    "annotator_reason": "display__assignment__annotator__exclusion_reason",
    "software_version": "software_version",
}


def rating_rows(study: Study) -> Iterator[Row]:
    """Yield every rating of a study; those that findings leave out are flagged `excluded`, never dropped."""
    ratings = Rating.objects.filter(display__assignment__hit__batch__study=study)
    ordered = ratings.order_by("display__assignment_id", "display__position", "stage")
    for values in ordered.values_list(*FIELDS.values()).iterator(chunk_size=CHUNK):
        yield _rating_row(dict(zip(FIELDS, values, strict=True)))


def _rating_row(found: dict[str, Any]) -> Row:
    reason = _why_not_counted(found)
    derived = {
        "hit": found["external_hit"] or found["hit_key"],
        "rater_kind": "person",
        "shown_first": "a" if found["a_is_left"] else "b",
        "table_variant": found["table_variant"] or "",
        "rated_at": _iso(found["rated_at"]),
        "excluded": reason is not None,
        "exclusion_reason": reason or "",
    }
    return {column: derived[column] if column in derived else found[column] for column in RATING_COLUMNS}


def _why_not_counted(found: dict[str, Any]) -> str | None:
    if found["assignment_excluded"]:
        return found["assignment_reason"] or "assignment excluded"
    if found["annotator_excluded"]:
        return found["annotator_reason"] or "annotator excluded"
    if found["state"] != Assignment.State.SUBMITTED:
        return NOT_SUBMITTED
    return SURPLUS if found["slot"] is None else None


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def csv_lines(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[str]:
    """Yield CSV, the header first. A text that a spreadsheet would take for a formula starts with an apostrophe."""
    writer = csv.writer(_Echo())
    yield writer.writerow(columns)
    for row in rows:
        yield writer.writerow([_cell(row[column]) for column in columns])


def jsonl_lines(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[str]:
    """Yield one JSON object a row, with the same fields as the CSV and nothing defused."""
    for row in rows:
        yield json.dumps({column: row[column] for column in columns}, ensure_ascii=False, allow_nan=False) + "\n"


def defuse(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run; taking one away again undoes it."""
    return f"'{text}" if FORMULA.match(text) else text


class _Echo:
    """A file that hands back what is written to it, so that `csv.writer` yields lines."""

    def write(self, text: str) -> str:
        return text


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return defuse(value)
    if isinstance(value, dict | list | tuple):
        return defuse(json.dumps(value, ensure_ascii=False))
    return value  # numbers as they are: -1 is no formula; None is an empty cell


Lines = Callable[[Iterable[Row], Sequence[str]], Iterator[str]]
FORMATS: dict[str, Lines] = {"csv": csv_lines, "jsonl": jsonl_lines}
KINDS: dict[str, tuple[Callable[[Study], Iterable[Row]], Sequence[str]]] = {
    "ratings": (rating_rows, RATING_COLUMNS),
    "judgments": (judgment_rows, JUDGMENT_COLUMNS),
}


def export_lines(study: Study, kind: str, form: str) -> Iterator[str]:
    """Yield the lines of one export: `kind` of KINDS in `form` of FORMATS."""
    rows, columns = KINDS[kind]
    return FORMATS[form](rows(study), columns)


def write_csv(path: Path, rows: Iterable[Row], columns: Sequence[str]) -> int:
    """Write CSV whole or not at all; return the number of rows."""
    return _write(path, rows, columns, csv_lines)


def write_jsonl(path: Path, rows: Iterable[Row], columns: Sequence[str]) -> int:
    """Write JSON Lines whole or not at all; return the number of rows."""
    return _write(path, rows, columns, jsonl_lines)


def _write(path: Path, rows: Iterable[Row], columns: Sequence[str], lines: Lines) -> int:
    count = 0

    def counted() -> Iterator[Row]:
        nonlocal count
        for row in rows:
            count += 1
            yield row

    with _replacing(path) as file:
        file.writelines(lines(counted(), columns))
    return count


@contextmanager
def _replacing(path: Path) -> Iterator[IO[str]]:
    """Open a temporary file beside `path` that takes its place at the end; an error leaves `path` as it was."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(descriptor, "w", encoding="utf-8", newline="") as file:
            yield file
        os.chmod(name, 0o644)  # mkstemp makes it 0600; it is no secret within its folder
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
