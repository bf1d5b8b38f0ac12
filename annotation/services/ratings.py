"""Storing ratings that were collected elsewhere: as batches, HITs and assignments like our own, marked imported."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from annotation.configurations import Configuration
from annotation.errors import BadFile, BadLine
from annotation.models import (
    Annotator,
    Assignment,
    Batch,
    ComparisonTable,
    Display,
    Hit,
    HitPair,
    Pair,
    Rating,
    Slot,
    Study,
)

_CHUNK = 500


@dataclass(frozen=True)
class RatingRow:
    """One rating of a file, checked and in study order. `verdict` None: shown, but not answered."""

    number: int
    batch: str
    hit: str
    pair: Pair
    rater: str
    verdict: int | None
    a_is_left: bool
    stage: str = Rating.Stage.FIRST
    arm: str = ""
    table: ComparisonTable | None = None
    reason: str = ""
    active_seconds: float | None = None
    wall_seconds: float | None = None
    work_seconds: float | None = None
    rated_at: datetime | None = None
    late: bool = False
    excluded: bool = False
    exclusion_reason: str = ""
    software_version: str = ""


@dataclass(frozen=True)
class StoredRatings:
    """What a file changed."""

    added: int
    unchanged: int

    @property
    def counts(self) -> dict[str, int]:
        """The numbers alone."""
        return {"added": self.added, "unchanged": self.unchanged}


@transaction.atomic
def store_ratings(
    *, study: Study, rows: Sequence[RatingRow], name: str, kind: str = Annotator.Kind.IMPORTED
) -> StoredRatings:
    """Add ratings to a study, or nothing of them; those already there must say the same.

    Raises: BadFile listing rows that contradict each other or what is stored.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    return _Store(study, name, kind).add(rows)


class _Store:
    """One import: looks up what is there, makes what is missing, in bulk."""

    def __init__(self, study: Study, name: str, kind: str) -> None:
        self.study = study
        self.name = name
        self.kind = kind
        self.bad: list[BadLine] = []

    def add(self, rows: Sequence[RatingRow]) -> StoredRatings:
        """Store the rows that are not there yet."""
        fresh = self._unknown(rows)
        self._refuse()
        if fresh:
            annotators = self._annotators(fresh)
            hits = self._hits(fresh)
            assignments = self._assignments(fresh, hits, annotators)
            self._refuse()
            self._ratings(fresh, hits, annotators, assignments)
        return StoredRatings(len(fresh), len(rows) - len(fresh))

    def _refuse(self) -> None:
        if self.bad:
            raise BadFile(self.name, self.bad)

    def _unknown(self, rows: Sequence[RatingRow]) -> list[RatingRow]:
        """Sort out rows that are stored already; complain of those that say something else."""
        verdicts: dict[tuple[str, int], dict[str, int]] = {}
        shown: dict[tuple[str, int], bool] = {}
        displays = Display.objects.filter(assignment__hit__batch__study=self.study)
        for pk, code, pair, left in displays.values_list("pk", "assignment__annotator__code", "pair_id", "a_is_left"):
            shown[code, pair] = left
        ratings = Rating.objects.filter(display__assignment__hit__batch__study=self.study)
        for code, pair, stage, verdict in ratings.values_list(
            "display__assignment__annotator__code", "display__pair_id", "stage", "verdict"
        ):
            verdicts.setdefault((code, pair), {})[stage] = verdict
        in_file: dict[tuple[str, int, str], RatingRow] = {}
        fresh = []
        for row in rows:
            key = (row.rater, row.pair.pk)
            earlier = in_file.setdefault((*key, row.stage), row)
            if earlier is not row:
                self._complain(row, f"rater {row.rater} rated this pair on line {earlier.number} already")
            elif key in shown and (
                shown[key] != row.a_is_left or verdicts.get(key, {}).get(row.stage, row.verdict) != row.verdict
            ):
                self._complain(row, f"rater {row.rater} has another rating of this pair in the study already")
            elif key not in shown or (row.verdict is not None and row.stage not in verdicts.get(key, {})):
                fresh.append(row)
        return fresh

    def _complain(self, row: RatingRow, reason: str) -> None:
        self.bad.append(BadLine(row.number, reason))

    def _annotators(self, rows: Iterable[RatingRow]) -> dict[str, Annotator]:
        known = {annotator.code: annotator for annotator in self.study.annotators.all()}
        codes = dict.fromkeys(row.rater for row in rows if row.rater not in known)
        made = Annotator.objects.bulk_create(
            [Annotator(study=self.study, code=code, kind=self.kind) for code in codes], batch_size=_CHUNK
        )
        return known | {annotator.code: annotator for annotator in made}

    def _hits(self, rows: Sequence[RatingRow]) -> dict[tuple[str, str], Hit]:
        """Return the HIT of each (batch, hit name), made with its batch and pairs where it is missing."""
        by_batch: dict[str, list[RatingRow]] = {}
        for row in rows:
            by_batch.setdefault(row.batch, []).append(row)
        hits: dict[tuple[str, str], Hit] = {}
        for batch_name, batch_rows in by_batch.items():
            if batch := self._batch(batch_name, batch_rows):
                hits.update({(batch_name, name): hit for name, hit in self._hits_of(batch, batch_rows).items()})
        self._refuse()
        return hits

    def _batch(self, name: str, rows: Sequence[RatingRow]) -> Batch | None:
        configurations = {
            (row.pair.matchup.instance.dataset, row.pair.matchup.system_a_id, row.pair.matchup.system_b_id)
            for row in rows
        }
        batch = self.study.batches.filter(name=name).first()
        if batch is not None:
            if batch.origin != Batch.Origin.IMPORTED:
                self._complain(rows[0], f"batch {name!r} collects ratings here; give imported ones another batch")
                return None
            configurations.add((batch.dataset, batch.system_a_id, batch.system_b_id))
        if len(configurations) > 1:
            self._complain(rows[0], f"batch {name!r} holds more than one data set or pair of systems")
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
        start = len(hits)
        fresh: dict[str, Hit] = {}
        for row in rows:
            if row.hit not in hits and row.hit not in fresh:
                position = start + len(fresh)
                fresh[row.hit] = Hit(batch=batch, matchup=row.pair.matchup, external_id=row.hit, position=position)
        hits.update({hit.external_id: hit for hit in Hit.objects.bulk_create(fresh.values(), batch_size=_CHUNK)})
        placed: dict[int, dict[int, int]] = {}
        for hit_pk, pair_pk in HitPair.objects.filter(hit__batch=batch).values_list("hit_id", "pair_id"):
            placed.setdefault(hit_pk, {})[pair_pk] = len(placed.get(hit_pk, {}))
        links = []
        for row in rows:
            hit = hits[row.hit]
            if hit.matchup_id != row.pair.matchup_id:
                self._complain(row, f"HIT {row.hit!r} holds pairs of more than one matchup")
                continue
            places = placed.setdefault(hit.pk, {})
            if row.pair.pk not in places:
                places[row.pair.pk] = len(places)
                links.append(HitPair(hit=hit, pair=row.pair, position=places[row.pair.pk]))
        HitPair.objects.bulk_create(links, batch_size=_CHUNK)
        return hits

    def _assignments(
        self, rows: Sequence[RatingRow], hits: dict[tuple[str, str], Hit], annotators: dict[str, Annotator]
    ) -> dict[tuple[int, int], Assignment]:
        """Return the assignment of each (HIT, annotator), made with a filled slot of its own where it is missing."""
        existing = Assignment.objects.filter(hit__batch__study=self.study, hit__batch__origin=Batch.Origin.IMPORTED)
        known = {(item.hit_id, item.annotator_id): item for item in existing}
        fresh: dict[tuple[int, int], Assignment] = {}
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
                self._complain(row, "excluded differs from this rater's other ratings on the same HIT")
            elif row.rated_at and (found.submitted_at is None or row.rated_at > found.submitted_at):
                found.submitted_at = row.rated_at
        made = Assignment.objects.bulk_create(fresh.values(), batch_size=_CHUNK)
        self._fill_slots(made)
        return known | {(item.hit_id, item.annotator_id): item for item in made}

    def _fill_slots(self, assignments: Sequence[Assignment]) -> None:
        """Give each new assignment a slot of its own: an imported HIT has as many as were filled."""
        numbers: dict[int, int] = {}
        slots = Slot.objects.filter(hit__batch__study=self.study, hit__batch__origin=Batch.Origin.IMPORTED)
        for hit_pk, number in slots.values_list("hit_id", "number"):
            numbers[hit_pk] = max(numbers.get(hit_pk, 0), number)
        made = []
        for assignment in assignments:
            numbers[assignment.hit_id] = numbers.get(assignment.hit_id, 0) + 1
            made.append(Slot(hit_id=assignment.hit_id, number=numbers[assignment.hit_id], assignment=assignment))
        Slot.objects.bulk_create(made, batch_size=_CHUNK)

    def _ratings(
        self,
        rows: Sequence[RatingRow],
        hits: dict[tuple[str, str], Hit],
        annotators: dict[str, Annotator],
        assignments: dict[tuple[int, int], Assignment],
    ) -> None:
        known: dict[tuple[int, int], Display] = {}
        counts: dict[int, int] = {}
        batches = {hit.batch_id for hit in hits.values()}
        for display in Display.objects.filter(assignment__hit__batch__in=batches):
            known[display.assignment_id, display.pair_id] = display
            counts[display.assignment_id] = counts.get(display.assignment_id, 0) + 1
        fresh: dict[tuple[int, int], Display] = {}
        keys = []
        for row in rows:
            assignment = assignments[hits[row.batch, row.hit].pk, annotators[row.rater].pk]
            key = (assignment.pk, row.pair.pk)
            keys.append(key)
            if key not in known and key not in fresh:
                place = counts.get(assignment.pk, 0)
                counts[assignment.pk] = place + 1
                fresh[key] = Display(assignment=assignment, pair=row.pair, position=place, a_is_left=row.a_is_left)
        made = Display.objects.bulk_create(fresh.values(), batch_size=_CHUNK)
        known |= {(display.assignment_id, display.pair_id): display for display in made}
        Rating.objects.bulk_create(
            (
                _rating(row, known[key])
                for row, key in zip(rows, keys, strict=True)
                if row.verdict is not None  # shown but not answered: missing, which is no vote
            ),
            batch_size=_CHUNK,
        )


def _rating(row: RatingRow, display: Display) -> Rating:
    return Rating(
        display=display,
        stage=row.stage,
        verdict=row.verdict,
        reason=row.reason,
        table=row.table,
        arm=row.arm,
        active_seconds=row.active_seconds,
        wall_seconds=row.wall_seconds,
        rated_at=row.rated_at,
        late=row.late,
        software_version=row.software_version,
    )


def batch_name_of(configuration: Configuration) -> str:
    """Name for imported ratings of one configuration, where the file gives none."""
    return f"{configuration.dataset}: {configuration.system_a.name} / {configuration.system_b.name}"
