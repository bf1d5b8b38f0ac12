"""Importing flags and returned HITs, as they are exported."""

from dataclasses import replace
from typing import Any

from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.files import lines
from annotation.importing.formats.raters_work import FlagRow, parse_flags
from annotation.importing.rating_files import RatingPlaces, is_a_left
from annotation.importing.rating_rows import RatingRow, default_batch
from annotation.importing.ratings import RatingWriter
from annotation.importing.staging import Target, open_import
from annotation.importing.vote_history import PairOf, Shown, shown_in
from annotation.models import Annotator, Assignment, Batch, Flag, Slot, Study
from annotation.studies.services import record_import

_CHUNK = 500
NOT_SUBMITTED = "not submitted"
_FLAGGED = ("display_id", "kind", "table_id", "row")
_REPORT = ("comment", "flagged_at", "taken_back_at")
_RETURN = ("returned_at", "return_reason", "return_comment")
Placed = list[tuple[FlagRow, RatingRow]]


def import_flags(*, data: bytes, name: str, slug: str) -> tuple[Study, int, int]:
    """Import exported flags and returned HITs, whole or not at all; return the study, and how many were added and unchanged.

    The ratings come first. A HIT without ratings is made where it is reported, and not submitted. Reports on qualifications
    and hidden checks are left out, as these are.
    Raises: BadFile listing the bad lines; UnknownStudy.
    """
    given, bad = parse_flags(data, name)
    lines.refuse(name, bad)
    with open_import(slug, rows=0) as target:
        study = target.given
        placed = _placed(study, name, [row for row in given if row.purpose == Assignment.Purpose.RATING])
        flags = _Flags(study, name)
        added = flags.store([one for one in placed if not one[0].is_returned])
        added += flags.store_returned([one for one in placed if one[0].is_returned])
        if added:
            record_import(study=study, kind="flags", name=name, data=data, counts={"added": added})
        return study, added, len(placed) - added


def _placed(study: Study, name: str, rows: list[FlagRow]) -> Placed:
    """Find the pair of each row, the first of its matchup for a whole HIT."""
    places, placed, bad = RatingPlaces(study), [], []
    for row in rows:
        pair, swapped = places.pair(row)
        if isinstance(pair, BadLine):
            bad.append(pair)
            continue
        dataset, systems = pair.matchup.instance.dataset, (pair.matchup.system_a.name, pair.matchup.system_b.name)
        vote = RatingRow(
            number=row.number,
            batch=row.batch or default_batch(dataset, *systems),
            hit=row.hit or row.instance_id,
            pair=pair,
            rater=row.rater,
            verdict=None,
            a_is_left=is_a_left(row.shown_first, swapped=swapped),
            excluded=True,
            exclusion_reason=NOT_SUBMITTED,
        )
        placed.append((row, vote))
    lines.refuse(name, bad[:MOST_BAD_LINES])
    return placed


class _Flags:
    """The flags and returned HITs of a file, beside those that a study has."""

    def __init__(self, study: Study, name: str) -> None:
        self.study, self.name = study, name
        self.writer = RatingWriter(Target(study, study, study), name, Annotator.Kind.IMPORTED)
        self.bad: list[BadLine] = []

    def store(self, placed: Placed) -> int:
        """Add flags, with the pairs that raters flagged and did not rate; return how many flags."""
        shown = self._shown(placed)
        named = self.study.tables.filter(table_id__in={row.table_id for row, _ in placed if row.table_id})
        tables = {table_id: (pk, len(rows)) for table_id, pk, rows in named.values_list("table_id", "pk", "rows")}
        flags = Flag.objects.filter(display__assignment__hit__batch__study=self.study)
        known = {tuple(row[:4]): tuple(row[4:]) for row in flags.values_list(*_FLAGGED, *_REPORT)}
        fresh: list[Flag] = []
        for row, vote in placed:
            there, (table, rows) = shown[_pair_of(vote)], tables.get(row.table_id, (None, 0))
            flagged, report = (
                (there.display, row.kind, table, row.row),
                (row.comment, row.reported_at, row.taken_back_at),
            )
            if row.row is not None and row.row >= rows:
                self._refuse(row, f"the study has no comparison table {row.table_id!r} with a row {row.row}")
            elif known.get(flagged, report) != report:
                self._refuse(row, "the study or a line before has the same flag with another comment or time")
            elif flagged not in known and there.collected_here:
                self._refuse(row, f"batch {vote.batch!r} collects ratings here, with their flags")
            elif flagged not in known:
                known[flagged] = report
                fresh.append(Flag(**dict(zip((*_FLAGGED, *_REPORT), (*flagged, *report), strict=True))))
        self._raise()
        Flag.objects.bulk_create(fresh, batch_size=_CHUNK)
        return len(fresh)

    def _shown(self, placed: Placed) -> dict[PairOf, Shown]:
        """Return the pairs that raters were shown, those of the file among them."""
        shown, assignments = shown_in(self.study), self._assignments()
        missing = []
        for row, vote in placed:
            if _pair_of(vote) not in shown:
                there = assignments.get(_hit_of(vote))  # with ratings of other pairs
                missing.append(replace(vote, excluded=there is None or there.excluded))
                if not row.shown_first:
                    self._refuse(row, f"rater {row.rater} did not rate this pair on this HIT: shown_first is needed")
        self._raise()
        if missing:
            self.writer.write(missing)
        return shown_in(self.study) if missing else shown

    def store_returned(self, placed: Placed) -> int:
        """Add HITs that were given back, and the assignments of which nothing was rated; return how many."""
        known, fresh = self._assignments(), {}
        seen: dict[tuple[str, ...], tuple[Any, ...]] = {}
        for row, vote in placed:
            there, report = known.get(_hit_of(vote)), (row.reported_at, row.reason, row.comment)
            is_known = there is not None and there.state == Assignment.State.RETURNED
            before = tuple(getattr(there, name) for name in _RETURN) if is_known else report
            if seen.setdefault(_hit_of(vote), report) != report or before != report:
                self._refuse(row, "the study or a line before has this returned HIT with another reason or time")
            elif there is not None and not is_known and not there.excluded:
                self._refuse(row, f"rater {row.rater} submitted this HIT")
            elif not is_known:
                fresh[_hit_of(vote)] = vote
        self._raise()
        returned, _ = self.writer.assign(list(fresh.values()))
        for key, assignment in zip(fresh, returned, strict=True):
            assignment.state = Assignment.State.RETURNED
            assignment.submitted_at = None
            assignment.returned_at, assignment.return_reason, assignment.return_comment = seen[key]
        Assignment.objects.bulk_update(returned, ["state", "submitted_at", *_RETURN], batch_size=_CHUNK)
        Slot.objects.filter(batch__origin=Batch.Origin.IMPORTED, assignment__in=returned).delete()
        return len(returned)

    def _assignments(self) -> dict[tuple[str, str, str], Assignment]:
        """Return the study's assignments for rating, by batch, HIT and rater."""
        own = Assignment.objects.filter(hit__batch__study=self.study, purpose=Assignment.Purpose.RATING)
        related = own.select_related("hit__batch", "annotator")
        return {
            (one.hit.batch.name, one.hit.external_id or one.hit.key, one.annotator.code): one
            for one in related.iterator(chunk_size=_CHUNK)
        }

    def _refuse(self, row: FlagRow, reason: str) -> None:
        self.bad.append(BadLine(row.number, reason))

    def _raise(self) -> None:
        lines.refuse(self.name, self.bad[:MOST_BAD_LINES])


def _hit_of(vote: RatingRow) -> tuple[str, str, str]:
    return vote.batch, vote.hit, vote.rater


def _pair_of(vote: RatingRow) -> PairOf:
    return (*_hit_of(vote), vote.pair.pk)
