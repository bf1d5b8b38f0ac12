"""Storing ratings that were collected elsewhere, in imported batches with HITs, assignments and displays."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from django.db import transaction

from annotation.core.database.aggregates import grouped
from annotation.core.errors import BadFile, BadLine
from annotation.core.files.lines import refuse
from annotation.core.tasks.progress import counted
from annotation.importing.notices import notices_of_raters
from annotation.importing.rating_rows import RatingRow, classify_rows
from annotation.models import Annotator, Assignment, Batch, Display, Hit, HitPair, Rating, Slot, Study


@dataclass(frozen=True)
class StoredRatings:
    """Numbers of ratings added, unchanged, and left out as checks; unanswered rows don't count.

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


@transaction.atomic
def store_ratings(
    *,
    study: Study,
    rows: Sequence[RatingRow],
    name: str,
    kind: str = Annotator.Kind.IMPORTED,
    bad: Sequence[BadLine] = (),
) -> StoredRatings:
    """Add all ratings to a study, or none; stored ones must be equal.

    bad : the file's bad lines so far, which are refused together with those of the rows
    Raises: BadFile listing rows that contradict each other or stored ones.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    found = classify_rows(study, rows, kind)
    refuse(name, [*bad, *found.bad])
    if found.fresh:
        RatingWriter(study, name, kind).write(found.fresh)
    answered = sum(row.verdict is not None for row in rows)
    added = sum(row.verdict is not None for row in found.fresh)
    notices = tuple(notices_of_raters(row.rater for row in found.fresh))
    return StoredRatings(added, answered - added, notices=notices)


_CHUNK = 500

HitNames = dict[tuple[str, str], Hit]  # (batch, HIT's name in the file) → HIT
Assignments = dict[tuple[int, int], Assignment]  # (HIT, annotator) → assignment


class RatingWriter:
    """One import into one study."""

    def __init__(self, study: Study, name: str, kind: str) -> None:
        self.study = study
        self.name = name
        self.kind = kind
        self.bad: list[BadLine] = []

    def write(self, rows: Sequence[RatingRow]) -> None:
        """Store new rows.

        Raises: BadFile listing rows that don't fit a batch, a HIT or an assignment.
        """
        placed, hits = self.assign(rows)
        self._place_pairs(rows, hits)
        self._raise_errors()
        displays = self._displays(rows, placed, {hit.batch_id for hit in hits.values()})
        ratings = (
            _rating(row, row.verdict, displays[assignment.pk, row.pair.pk])
            for row, assignment in counted(zip(rows, placed, strict=True), len(rows))
            if row.verdict is not None  # shown but not answered
        )
        while chunk := list(islice(ratings, _CHUNK)):  # `bulk_create` would first hold all of them in memory
            Rating.objects.bulk_create(chunk)

    def assign(self, rows: Sequence[RatingRow]) -> tuple[list[Assignment], HitNames]:
        """Return the assignment of each row and the HITs; both are made if missing, without their pairs.

        Raises: BadFile listing rows that don't fit a batch or an assignment.
        """
        annotators = self._annotators(rows)
        hits = self._hits(rows)
        self._raise_errors()
        assignments = self._assignments(rows, hits, annotators)
        self._raise_errors()
        return [assignments[hits[row.batch, row.hit].pk, annotators[row.rater].pk] for row in rows], hits

    def _add_error(self, row: RatingRow, reason: str) -> None:
        self.bad.append(BadLine(row.number, reason))

    def _raise_errors(self) -> None:
        if self.bad:
            raise BadFile(self.name, self.bad)

    def _annotators(self, rows: Sequence[RatingRow]) -> dict[str, Annotator]:
        known = {annotator.code: annotator for annotator in self.study.annotators.all()}
        codes = dict.fromkeys(row.rater for row in rows if row.rater not in known)
        made = Annotator.objects.bulk_create(
            [Annotator(study=self.study, code=code, kind=self.kind) for code in codes], batch_size=_CHUNK
        )
        return known | {annotator.code: annotator for annotator in made}

    def _hits(self, rows: Sequence[RatingRow]) -> HitNames:
        """Return the HIT of each (batch, hit name), created with its batch, and without pairs, if missing."""
        hits: HitNames = {}
        for batch_name, batch_rows in grouped((row.batch, row) for row in rows).items():
            if batch := self._batch(batch_name, batch_rows):
                found = self._hits_of(batch, batch_rows)
                hits.update({(batch_name, name): hit for name, hit in found.items()})
        return hits

    def _batch(self, name: str, rows: Sequence[RatingRow]) -> Batch | None:
        configurations = {
            (row.pair.matchup.instance.dataset, row.pair.matchup.system_a_id, row.pair.matchup.system_b_id)
            for row in rows
        }
        batch = self.study.batches.filter(name=name).first()
        if batch is not None:
            if batch.origin != Batch.Origin.IMPORTED:
                self._add_error(rows[0], f"batch {name!r} collects ratings here; give imported ones another batch")
                return None
            configurations.add((batch.dataset, batch.system_a_id, batch.system_b_id))
        if len(configurations) > 1:
            self._add_error(rows[0], f"batch {name!r} holds more than one data set or pair of systems")
            return None
        if batch is not None:
            return batch
        dataset, system_a, system_b = configurations.pop()
        pairs: dict[str, set[int]] = {}
        raters: dict[str, set[str]] = {}
        for row in rows:
            pairs.setdefault(row.hit, set()).add(row.pair.pk)
            raters.setdefault(row.hit, set()).add(row.rater)
        return Batch.objects.create(
            study=self.study,
            name=name,
            dataset=dataset,
            system_a_id=system_a,
            system_b_id=system_b,
            pairs_per_hit=max(len(found) for found in pairs.values()),
            raters_per_hit=max(len(found) for found in raters.values()),
            selection={"spec": "imported", "file": self.name},
            status=Batch.Status.CLOSED,
            origin=Batch.Origin.IMPORTED,
        )

    def _hits_of(self, batch: Batch, rows: Sequence[RatingRow]) -> dict[str, Hit]:
        hits = {hit.external_id: hit for hit in batch.hits.all()}
        fresh: dict[str, Hit] = {}
        for row in rows:
            if row.hit not in hits and row.hit not in fresh:
                position = len(hits) + len(fresh)
                fresh[row.hit] = Hit(batch=batch, matchup=row.pair.matchup, external_id=row.hit, position=position)
        made = Hit.objects.bulk_create(fresh.values(), batch_size=_CHUNK)
        return hits | {hit.external_id: hit for hit in made}

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
                self._add_error(row, f"HIT {row.hit!r} holds pairs of more than one matchup")
                continue
            there = placed.setdefault(hit.pk, set())
            if row.pair.pk not in there:
                links.append(HitPair(hit=hit, pair=row.pair, position=len(there)))
                there.add(row.pair.pk)
        HitPair.objects.bulk_create(links, batch_size=_CHUNK)

    def _assignments(self, rows: Sequence[RatingRow], hits: HitNames, annotators: dict[str, Annotator]) -> Assignments:
        """Return the assignment of each (HIT, annotator), created with a slot if missing."""
        batches = {hit.batch_id for hit in hits.values()}
        existing = Assignment.objects.filter(hit__batch__in=batches)
        known = {(item.hit_id, item.annotator_id): item for item in existing}
        fresh: Assignments = {}
        for row in rows:
            key = (hits[row.batch, row.hit].pk, annotators[row.rater].pk)
            found = known.get(key) or fresh.get(key)
            if found is None:
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
            elif found.excluded != row.excluded:
                self._add_error(row, "excluded differs from this rater's other ratings on the same HIT")
            elif row.rated_at and (found.submitted_at is None or row.rated_at > found.submitted_at):
                found.submitted_at = row.rated_at
        Assignment.objects.bulk_update(known.values(), ["submitted_at"], batch_size=_CHUNK)
        made = Assignment.objects.bulk_create(fresh.values(), batch_size=_CHUNK)
        self._fill_slots(made, batches)
        return known | {(item.hit_id, item.annotator_id): item for item in made}

    @staticmethod
    def _fill_slots(assignments: Sequence[Assignment], batches: set[int]) -> None:
        """Create a slot for each new assignment; an imported HIT has no free slots."""
        numbers: dict[int, int] = {}
        for hit_pk, number in Slot.objects.filter(hit__batch__in=batches).values_list("hit_id", "number"):
            numbers[hit_pk] = max(numbers.get(hit_pk, 0), number)
        places = {
            pk: place for pk, *place in Hit.objects.filter(batch__in=batches).values_list("pk", "batch_id", "position")
        }
        made = []
        for assignment in assignments:
            numbers[assignment.hit_id] = number = numbers.get(assignment.hit_id, 0) + 1
            batch_id, position = places[assignment.hit_id]
            made.append(
                Slot(
                    hit_id=assignment.hit_id, batch_id=batch_id, position=position, number=number, assignment=assignment
                )
            )
        Slot.objects.bulk_create(made, batch_size=_CHUNK)

    @staticmethod
    def _displays(
        rows: Sequence[RatingRow], placed: Sequence[Assignment], batches: set[int]
    ) -> dict[tuple[int, int], int]:
        """Return the primary key of the display of each (assignment, pair), created if missing."""
        known: dict[tuple[int, int], int] = {}
        counts: dict[int, int] = {}
        there = Display.objects.filter(assignment__hit__batch__in=batches)
        for pk, assignment_id, pair_id in there.values_list("pk", "assignment_id", "pair_id"):
            known[assignment_id, pair_id] = pk
            counts[assignment_id] = counts.get(assignment_id, 0) + 1
        fresh: dict[tuple[int, int], Display] = {}
        for row, assignment in zip(rows, placed, strict=True):
            key = (assignment.pk, row.pair.pk)
            if key not in known and key not in fresh:
                place = counts.get(assignment.pk, 0)
                counts[assignment.pk] = place + 1
                fresh[key] = Display(assignment=assignment, pair=row.pair, position=place, a_is_left=row.a_is_left)
            elif key in fresh and fresh[key].a_is_left is None:
                fresh[key].a_is_left = row.a_is_left
        made = Display.objects.bulk_create(fresh.values(), batch_size=_CHUNK)
        return known | {(display.assignment_id, display.pair_id): display.pk for display in made}


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
