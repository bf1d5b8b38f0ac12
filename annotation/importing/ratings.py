"""Storing ratings that were collected elsewhere, in imported batches with HITs, assignments and displays."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Max

from annotation.core.database.aggregates import grouped
from annotation.core.errors import AnnotationError, BadFile, BadLine
from annotation.core.files.lines import refuse
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal
from annotation.importing.notices import notices_of_raters
from annotation.importing.rating_rows import RatingRow, classify_rows
from annotation.importing.staging import Target
from annotation.models import Annotator, Assignment, Batch, Display, Hit, HitPair, Rating, Slot


@dataclass(frozen=True)
class StoredRatings:
    """Numbers of ratings added, unchanged, and left out as checks. Unanswered rows don't count.

    notices : about the raters of added ratings, see `annotation.importing.notices`
    """

    added: int
    unchanged: int
    checks: int = 0
    notices: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """The numbers by name."""
        return {"added": self.added, "unchanged": self.unchanged}


def stage_ratings(
    *,
    target: Target,
    rows: Sequence[RatingRow],
    name: str,
    kind: str = Annotator.Kind.IMPORTED,
    bad: Sequence[BadLine] = (),
) -> StoredRatings:
    """Add all ratings to the target of an import. Stored ones must be equal.

    bad : the file's bad lines so far, which are refused together with those of the rows
    Raises: BadFile listing rows that contradict each other or stored ones.
    """
    classified = classify_rows(target.study, rows, kind)
    refuse(name, [*bad, *classified.bad])
    if classified.fresh:
        _RatingWriter(target, name, kind).write(classified.fresh)
    answered = sum(row.verdict is not None for row in rows)
    added = sum(row.verdict is not None for row in classified.fresh)
    notices = tuple(notices_of_raters(row.rater for row in classified.fresh))
    return StoredRatings(added, answered - added, notices=notices)


_CHUNK = 500
PARTS = 4  # rows that are stored for a rating: assignment, slot, display and itself

HitNames = dict[tuple[str, str], Hit]  # (batch, HIT's name in the file) → HIT
Assignments = dict[tuple[int, int], Assignment]  # (HIT, annotator) → assignment


class _RatingWriter:
    """One import into one study."""

    def __init__(self, target: Target, name: str, kind: str) -> None:
        self.target = target
        self.name = name
        self.kind = kind
        self.bad: list[BadLine] = []

    def write(self, rows: Sequence[RatingRow]) -> None:
        """Store new rows.

        Raises: BadFile listing rows that don't fit a batch, a HIT or an assignment.
        """
        if self.target.is_apart:
            self._compare_with_stored(rows)
            self._raise_errors()
        annotators = self._annotators(rows)
        hits = self._hits(rows)
        self._raise_errors()
        assignments = self._assignments(rows, hits, annotators)
        self._raise_errors()
        placed = [assignments[hits[row.batch, row.hit].pk, annotators[row.rater].pk].pk for row in rows]
        assignments.clear()  # a kilobyte each
        self._place_pairs(rows, hits)
        self._raise_errors()
        displays = self._displays(rows, placed, {hit.batch_id for hit in hits.values()})
        self.target.create(
            _rating(row, row.verdict, displays[assignment, row.pair.pk])
            for row, assignment in zip(rows, placed, strict=True)
            if row.verdict is not None  # shown but not answered
        )

    def _add_error(self, row: RatingRow, reason: Reason) -> None:
        self.bad.append(BadLine(row.number, reason))

    def _raise_errors(self) -> None:
        if self.bad:
            raise BadFile(self.name, self.bad)

    def _compare_with_stored(self, rows: Sequence[RatingRow]) -> None:
        """Compare staged rows with the stored batches, HITs and assignments, which they will join."""
        study = self.target.study
        of_file = grouped((row.batch, row) for row in rows)
        batches = {batch.name: batch for batch in study.batches.all() if batch.name in of_file}
        for name, batch in batches.items():
            self._check_batch(batch, of_file[name])
        on_hits = Hit.objects.filter(batch__in=list(batches.values())).order_by()
        matchups = {
            (batch, hit): matchup
            for batch, hit, matchup in on_hits.values_list("batch__name", "external_id", "matchup_id")
        }
        work = Assignment.objects.filter(hit__in=on_hits).values_list(
            *("hit__batch__name", "hit__external_id", "annotator__code", "pk", "excluded", "submitted_at")
        )
        stored = {
            (batch, hit, rater): Assignment(pk=pk, excluded=excluded, submitted_at=submitted_at)
            for batch, hit, rater, pk, excluded, submitted_at in work.iterator(chunk_size=_CHUNK)
        }
        for row in rows:
            if matchups.get((row.batch, row.hit), row.pair.matchup_id) != row.pair.matchup_id:
                self._add_error(row, refusal("hit_of_several", hit=repr(row.hit)))
            if item := stored.get((row.batch, row.hit, row.rater)):
                self._joins(row, item)
        self.target.later(self._check_raters(rows))

    def _check_raters(self, rows: Sequence[RatingRow]) -> Callable[[], None]:
        """Return a check that nothing has become of the stored raters meanwhile: one may have withdrawn."""
        codes = {row.rater for row in rows}

        def state() -> set[tuple[Any, ...]]:
            raters = self.target.study.annotators.values_list("pk", "code", "kind", "user_id", "withdrawn_at")
            return {rater for rater in raters.iterator() if rater[1] in codes}

        before = state()

        def check() -> None:
            if not before <= state():
                raise AnnotationError(f"{self.name}: raters of the study have changed meanwhile; import the file again")

        return check

    def _joins(self, row: RatingRow, assignment: Assignment) -> bool:
        """Tell whether a row of an assignment makes it later, which is set."""
        if assignment.excluded != row.excluded:
            self._add_error(row, refusal("excluded_differs"))
        elif row.rated_at and (assignment.submitted_at is None or row.rated_at > assignment.submitted_at):
            assignment.submitted_at = row.rated_at
            return True
        return False

    def _check_batch(self, batch: Batch, rows: Sequence[RatingRow]) -> bool:
        """Tell whether rows may join a batch."""
        if batch.origin != Batch.Origin.IMPORTED:
            self._add_error(rows[0], refusal("batch_collects", batch=repr(batch.name)))
        elif _configurations(rows) != {(batch.dataset, batch.system_a_id, batch.system_b_id)}:
            self._add_error(rows[0], refusal("batch_of_several", batch=repr(batch.name)))
        else:
            return True
        return False

    def _annotators(self, rows: Sequence[RatingRow]) -> dict[str, Annotator]:
        staged = self.target.staged
        existing = {annotator.code: annotator for annotator in staged.annotators.all()}
        codes = dict.fromkeys(row.rater for row in rows if row.rater not in existing)
        created = [Annotator(study=staged, code=code, kind=self.kind) for code in codes]
        self.target.create(created)
        return existing | {annotator.code: annotator for annotator in created}

    def _hits(self, rows: Sequence[RatingRow]) -> HitNames:
        """Return the HIT of each (batch, hit name), created with its batch, and without pairs, if missing."""
        hits: HitNames = {}
        for batch_name, batch_rows in grouped((row.batch, row) for row in rows).items():
            if batch := self._batch(batch_name, batch_rows):
                hits_found = self._hits_of(batch, batch_rows)
                hits.update({(batch_name, name): hit for name, hit in hits_found.items()})
        return hits

    def _batch(self, name: str, rows: Sequence[RatingRow]) -> Batch | None:
        batch = self.target.staged.batches.filter(name=name).first()
        if batch is not None:
            return batch if self._check_batch(batch, rows) else None
        (dataset, system_a, system_b), *more = _configurations(rows)
        if more:
            self._add_error(rows[0], refusal("batch_of_several", batch=repr(name)))
            return None
        pairs: dict[str, set[int]] = {}
        raters: dict[str, set[str]] = {}
        for row in rows:
            pairs.setdefault(row.hit, set()).add(row.pair.pk)
            raters.setdefault(row.hit, set()).add(row.rater)
        batch = Batch(
            study=self.target.staged,
            name=name,
            dataset=dataset,
            system_a_id=system_a,
            system_b_id=system_b,
            pairs_per_hit=max(len(pair) for pair in pairs.values()),
            raters_per_hit=max(len(rater) for rater in raters.values()),
            selection={"spec": "imported", "file": self.name},
            status=Batch.Status.CLOSED,
            origin=Batch.Origin.IMPORTED,
        )
        self.target.create([batch])
        return batch

    def _hits_of(self, batch: Batch, rows: Sequence[RatingRow]) -> dict[str, Hit]:
        hits = {hit.external_id: hit for hit in batch.hits.all()}
        same = Hit.objects.filter(batch__study__in=(self.target.study, self.target.staged), batch__name=batch.name)
        last = same.aggregate(last=Max("position"))["last"]
        start = 0 if last is None else last + 1
        fresh: dict[str, Hit] = {}
        for row in rows:
            if row.hit not in hits and row.hit not in fresh:
                position = start + len(fresh)
                fresh[row.hit] = Hit(batch=batch, matchup=row.pair.matchup, external_id=row.hit, position=position)
        self.target.create(fresh.values())
        return hits | fresh

    def _place_pairs(self, rows: Sequence[RatingRow], hits: HitNames) -> None:
        """Add pairs to their HITs, after the existing ones."""
        placed: dict[int, set[int]] = {}
        batches = {hit.batch_id for hit in hits.values()}
        for hit_pk, pair_pk in HitPair.objects.filter(hit__batch__in=batches).values_list("hit_id", "pair_id"):
            placed.setdefault(hit_pk, set()).add(pair_pk)
        links = []
        for row in rows:
            hit = hits[row.batch, row.hit]
            if hit.matchup_id != row.pair.matchup_id:
                self._add_error(row, refusal("hit_of_several", hit=repr(row.hit)))
                continue
            positions = placed.setdefault(hit.pk, set())
            if row.pair.pk not in positions:
                links.append(HitPair(hit=hit, pair=row.pair, position=len(positions)))
                positions.add(row.pair.pk)
        self.target.create(links)

    def _assignments(self, rows: Sequence[RatingRow], hits: HitNames, annotators: dict[str, Annotator]) -> Assignments:
        """Return the assignment of each (HIT, annotator), created with a slot if missing."""
        batches = {hit.batch_id for hit in hits.values()}
        existing = Assignment.objects.filter(hit__batch__in=batches)
        existing_by_key = {(item.hit_id, item.annotator_id): item for item in existing}
        fresh: Assignments = {}
        changed: Assignments = {}
        for row in rows:
            key = (hits[row.batch, row.hit].pk, annotators[row.rater].pk)
            assignment_found = existing_by_key.get(key) or fresh.get(key)
            if assignment_found is None:
                fresh[key] = Assignment(
                    hit_id=key[0],
                    annotator_id=key[1],
                    state=Assignment.State.SUBMITTED,
                    claimed_at=None,
                    submitted_at=row.rated_at,
                    work_seconds=row.work_seconds,
                    excluded=row.excluded,
                    exclusion_reason=row.exclusion_reason[:300],
                )
            elif self._joins(row, assignment_found) and key in existing_by_key:
                changed[key] = assignment_found
        Assignment.objects.bulk_update(changed.values(), ["submitted_at"], batch_size=_CHUNK)
        self.target.create(fresh.values())
        self._fill_slots(list(fresh.values()), batches)
        return existing_by_key | fresh

    def _fill_slots(self, assignments: Sequence[Assignment], batches: set[int]) -> None:
        """Create a slot for each new assignment. An imported HIT has no free slots."""
        numbers: dict[int, int] = {}
        for hit_pk, number in Slot.objects.filter(hit__batch__in=batches).values_list("hit_id", "number"):
            numbers[hit_pk] = max(numbers.get(hit_pk, 0), number)
        free_slots = {
            pk: index for pk, *index in Hit.objects.filter(batch__in=batches).values_list("pk", "batch_id", "position")
        }

        def slots() -> Iterator[Slot]:
            for assignment in assignments:
                numbers[assignment.hit_id] = number = numbers.get(assignment.hit_id, 0) + 1
                batch_id, position = free_slots[assignment.hit_id]
                place = {"hit_id": assignment.hit_id, "batch_id": batch_id, "position": position, "number": number}
                yield Slot(**place, assignment_id=assignment.pk)

        self.target.create(slots())

    def _displays(
        self, rows: Sequence[RatingRow], placed: Sequence[int], batches: set[int]
    ) -> dict[tuple[int, int], int]:
        """Return the primary key of the display of each (assignment, pair), created if missing."""
        existing: dict[tuple[int, int], int] = {}
        counts: dict[int, int] = {}
        displays = Display.objects.filter(assignment__hit__batch__in=batches)
        for pk, assignment_id, pair_id in displays.values_list("pk", "assignment_id", "pair_id"):
            existing[assignment_id, pair_id] = pk
            counts[assignment_id] = counts.get(assignment_id, 0) + 1
        fresh: dict[tuple[int, int], tuple[int, bool | None]] = {}  # the position, and whether A is on the left
        for row, assignment in zip(rows, placed, strict=True):
            key = (assignment, row.pair.pk)
            if key not in existing and key not in fresh:
                position = counts.get(assignment, 0)
                counts[assignment] = position + 1
                fresh[key] = (position, row.a_is_left)
            elif key in fresh and fresh[key][1] is None:
                fresh[key] = (fresh[key][0], row.a_is_left)
        keys = self.target.create(
            Display(assignment_id=assignment, pair_id=pair, position=position, a_is_left=a_is_left)
            for (assignment, pair), (position, a_is_left) in fresh.items()
        )
        return existing | dict(zip(fresh, keys, strict=True))


def _configurations(rows: Sequence[RatingRow]) -> set[tuple[str, int, int]]:
    """Return the data sets of rows with the systems that are compared."""
    matchups = (row.pair.matchup for row in rows)
    return {(matchup.instance.dataset, matchup.system_a_id, matchup.system_b_id) for matchup in matchups}


def _rating(row: RatingRow, verdict: int, display_id: int) -> Rating:
    return Rating(
        display_id=display_id,
        stage=row.stage,
        question=row.question,
        verdict=verdict,
        strength=row.strength,
        tie_kind=row.tie_kind,
        reason=row.reason,
        table=row.table,
        arm=row.arm,
        active_seconds=row.active_seconds,
        wall_seconds=row.wall_seconds,
        rated_at=row.rated_at,
        late=row.late,
        software_version=row.software_version,
        translated=row.translated,
    )
