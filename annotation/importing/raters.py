"""Importing what is known of raters, as it is exported."""

from typing import Any

from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.files import lines
from annotation.core.names import lookalike_lines
from annotation.importing.formats.raters_work import ImportedRater, parse_raters
from annotation.importing.staging import open_import
from annotation.models import Annotator, Study
from annotation.studies.services import record_import

_CHUNK = 500
# Of a rater of whom a study knows no more than the ratings that were imported.
_BARE = {"kind": Annotator.Kind.IMPORTED, "excluded": False, "warned_at": None, "blocked_at": None}


def import_raters(*, data: bytes, name: str, slug: str) -> tuple[Study, int, int]:
    """Import exported raters, whole or not at all; return the study, and how many were added or completed, and unchanged.

    A file says more about raters whose ratings were imported, and nothing else about those that the study knows. Accounts and
    ids at platforms are in no file.
    Raises: BadFile listing the bad lines; UnknownStudy.
    """
    rows, bad = parse_raters(data, name)
    with open_import(slug, rows=0) as target:
        study = target.given
        added, completed = _fresh(study, rows, bad)
        lines.refuse(name, bad[:MOST_BAD_LINES])
        Annotator.objects.bulk_create(added, batch_size=_CHUNK)
        Annotator.objects.bulk_update(completed, rows[0].values, batch_size=_CHUNK)
        if changed := len(added) + len(completed):
            record_import(study=study, kind="raters", name=name, data=data, counts={"added": changed})
        return study, changed, len(rows) - changed


def _fresh(study: Study, rows: list[ImportedRater], bad: list[BadLine]) -> tuple[list[Annotator], list[Annotator]]:
    """Return the raters to be added, and those to be completed."""
    known = {annotator.code: annotator for annotator in study.annotators.all()}
    seen: dict[str, int] = {}
    added, completed = [], []
    for row in rows:
        rater, before = known.get(row.code), seen.setdefault(row.code, row.number)
        if before != row.number:
            bad.append(BadLine(row.number, f"rater {row.code} is on line {before} already"))
        elif rater is None:
            added.append(Annotator(study=study, code=row.code, **row.values))
        elif differing := _differing(rater, row.values):
            if rater.withdrawn_at or rater.user_id or _differing(rater, _BARE):
                problem = f"rater {row.code} is in the study already, with another {differing[0]}"
                bad.append(BadLine(row.number, problem))
            for field, value in row.values.items():
                setattr(rater, field, value)
            completed.append(rater)
    bad.extend(lookalike_lines("rater", ((row.number, row.code) for row in rows), known))
    return added, completed


def _differing(rater: Annotator, values: dict[str, Any]) -> list[str]:
    return [field for field, value in values.items() if getattr(rater, field) != value]
