"""Storing ratings that were collected elsewhere, in imported batches with HITs, assignments and displays."""

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.db.models import Count, Max

from annotation.core.database.aggregates import grouped
from annotation.core.errors import MOST_BAD_LINES, AnnotationError, BadLine
from annotation.core.files.lines import refuse
from annotation.core.reasons import Reason, reason
from annotation.importing.notices import notices_of_raters
from annotation.importing.rating_rows import RatingRow, RowChecks, kind_of, of_raters
from annotation.importing.staging import Target
from annotation.models import Annotator, Assignment, Batch, Display, Hit, HitPair, Rating, Slot

_CHUNK = 500
CHUNK = 10_000  # rows that are compared and stored together: more than a file has that is not staged
PARTS = 4  # rows that are stored for a rating: assignment, slot, display and itself
# What a rating has as its row has it.
_AS_IN_FILE = (
    *("stage", "question", "verdict", "strength", "tie_kind", "reason", "table", "arm", "active_seconds"),
    *("wall_seconds", "rated_at", "late", "software_version", "translated"),
)

HitNames = dict[tuple[str, str], Hit]  # (batch, HIT's name in the file) → HIT
Assignments = dict[tuple[int, int], Assignment]  # (HIT, annotator) → assignment


@dataclass(frozen=True)
class StoredRatings:
    """Numbers of ratings added, unchanged, and left out as checks. Unanswered rows don't count.

    notices : about the raters of added ratings, see `annotation.importing.notices`; of stored ones with another reason
    """

    added: int
    unchanged: int
    checks: int = 0
    notices: tuple[Reason, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """The numbers by name."""
        return {"added": self.added, "unchanged": self.unchanged}


def stage_ratings(
    *, target: Target, rows: Iterable[RatingRow], name: str, bad: list[BadLine] | None = None
) -> StoredRatings:
    """Add all ratings to the target of an import, some at a time. Stored ones must be equal.

    bad : the file's bad lines, which are refused together with those of the rows; more may come as the rows are iterated
    Raises: BadFile listing rows that contradict each other or stored ones.
    """
    bad = [] if bad is None else bad
    writer = _RatingWriter(target, name)
    added = answered = 0
    raters: dict[str, None] = {}
    remaining = iter(rows)
    with closing(RowChecks(target)) as checks:
        while len(bad) < MOST_BAD_LINES and (chunk := list(islice(remaining, CHUNK))):
            fresh, bad_rows = checks.classify(chunk)
            bad += bad_rows
            if not bad and fresh:
                writer.write(fresh)
            answered += sum(row.verdict is not None for row in chunk)
            added += sum(row.verdict is not None for row in fresh)
            raters.update(dict.fromkeys(row.rater for row in fresh))
    refuse(name, bad)
    writer.finish()
    notices = [*notices_of_raters(raters)]
    if checks.other_reasons:
        notices.append(reason("other_reasons", number=checks.other_reasons))
    return StoredRatings(added, answered - added, notices=tuple(notices))


class _RatingWriter:
    """One import of new rows into one study."""

    def __init__(self, target: Target, name: str) -> None:
        self.target = target
        self.name = name
        self.raters: set[str] = set()
        self.created: list[Batch] = []
        if target.is_apart:
            self.stored_raters = self._stored_raters()
            target.later(self._check_raters)

    def write(self, rows: Sequence[RatingRow]) -> None:
        """Store new rows, which fit their batches, HITs and assignments."""
        codes = dict.fromkeys(row.rater for row in rows)
        self.raters.update(codes)
        hits: HitNames = {}
        for name, of_batch in grouped((row.batch, row) for row in rows).items():
            hits |= {(name, hit.external_id): hit for hit in self._hits(self._batch(name, of_batch[0]), of_batch)}
        staged = self.target.staged
        annotators = dict(staged.annotators.filter(code__in=codes).values_list("code", "pk"))
        fresh = [code for code in codes if code not in annotators]
        keys = self.target.create(Annotator(study=staged, code=code, kind=kind_of(code)) for code in fresh)
        annotators |= dict(zip(fresh, keys, strict=True))
        assignments = self._assignments(rows, hits, annotators)
        placed = [assignments[hits[row.batch, row.hit].pk, annotators[row.rater]].pk for row in rows]
        self._place_pairs(rows, hits)
        displays = self._displays(rows, placed)
        self.target.create(
            Rating(display_id=displays[assignment, row.pair.pk], **{name: getattr(row, name) for name in _AS_IN_FILE})
            for row, assignment in zip(rows, placed, strict=True)
            if row.verdict is not None  # shown but not answered
        )

    def finish(self) -> None:
        """Note how many pairs and raters the HITs of new batches have."""
        for batch in self.created:
            batch.pairs_per_hit, batch.raters_per_hit = (
                model._base_manager.filter(hit__batch=batch)
                .order_by()
                .values("hit")
                .annotate(number=Count("pk"))
                .aggregate(most=Max("number"))["most"]
                for model in (HitPair, Assignment)
            )
            batch.save(update_fields=["pairs_per_hit", "raters_per_hit"])

    def _stored_raters(self) -> set[tuple[Any, ...]]:
        raters = self.target.study.annotators.values_list("pk", "code", "kind", "user_id", "withdrawn_at")
        return set(raters.iterator())

    def _check_raters(self) -> None:
        """Check that nothing has become of the stored raters meanwhile: one may have withdrawn."""
        if any(rater[1] in self.raters for rater in self.stored_raters - self._stored_raters()):
            raise AnnotationError(reason("raters_changed", name=self.name))

    def _batch(self, name: str, row: RatingRow) -> Batch:
        """Return a batch, created if missing."""
        batch = self.target.staged.batches.filter(name=name).first()
        if batch is not None:
            return batch
        dataset, system_a, system_b = row.pair.configuration
        batch = Batch(
            study=self.target.staged,
            name=name,
            dataset=dataset,
            system_a_id=system_a,
            system_b_id=system_b,
            pairs_per_hit=1,  # until all are stored
            raters_per_hit=1,
            selection={"spec": "imported", "file": self.name},
            status=Batch.Status.CLOSED,
            origin=Batch.Origin.IMPORTED,
        )
        self.target.create([batch])
        self.created.append(batch)
        return batch

    def _hits(self, batch: Batch, rows: Sequence[RatingRow]) -> list[Hit]:
        """Return the HITs of a batch's rows, created without pairs if missing."""
        matchups = {row.hit: row.pair.matchup_id for row in reversed(rows)}
        hits = list(batch.hits.filter(external_id__in=matchups).order_by())
        same = Hit.objects.filter(batch__study__in=(self.target.study, self.target.staged), batch__name=batch.name)
        last = same.aggregate(last=Max("position"))["last"]
        existing = {hit.external_id for hit in hits}
        names = dict.fromkeys(row.hit for row in rows if row.hit not in existing)
        fresh = [
            Hit(batch=batch, matchup_id=matchups[name], external_id=name, position=position)
            for position, name in enumerate(names, start=0 if last is None else last + 1)
        ]
        self.target.create(fresh)
        return hits + fresh

    def _place_pairs(self, rows: Sequence[RatingRow], hits: HitNames) -> None:
        """Add pairs to their HITs, after the existing ones."""
        placed: dict[int, set[int]] = {}
        existing = HitPair.objects.filter(hit__in=list(hits.values())).order_by()
        for hit_pk, pair_pk in existing.values_list("hit_id", "pair_id"):
            placed.setdefault(hit_pk, set()).add(pair_pk)
        links = []
        for row in rows:
            hit = hits[row.batch, row.hit]
            positions = placed.setdefault(hit.pk, set())
            if row.pair.pk not in positions:
                links.append(HitPair(hit=hit, pair_id=row.pair.pk, position=len(positions)))
                positions.add(row.pair.pk)
        self.target.create(links)

    def _assignments(self, rows: Sequence[RatingRow], hits: HitNames, annotators: dict[str, int]) -> Assignments:
        """Return the assignment of each (HIT, annotator), created with a slot if missing. An imported HIT has no free slots."""
        stored = of_raters(Assignment.objects.filter(hit__in=list(hits.values())), annotators.values())
        existing = {(item.hit_id, item.annotator_id): item for item in stored}
        fresh: Assignments = {}
        changed: Assignments = {}
        for row in rows:
            key = (hits[row.batch, row.hit].pk, annotators[row.rater])
            assignment = existing.get(key) or fresh.get(key)
            if assignment is None:
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
            elif row.rated_at and (assignment.submitted_at is None or row.rated_at > assignment.submitted_at):
                assignment.submitted_at = row.rated_at
                if key in existing:
                    changed[key] = assignment
        Assignment.objects.bulk_update(changed.values(), ["submitted_at"], batch_size=_CHUNK)
        self.target.create(fresh.values())
        by_key = {hit.pk: hit for hit in hits.values()}
        last = Slot.objects.filter(hit__in=by_key).order_by().values_list("hit_id").annotate(last=Max("number"))
        numbers: dict[int, int] = dict(last)
        slots = []
        for assignment in fresh.values():
            hit = by_key[assignment.hit_id]
            numbers[hit.pk] = number = numbers.get(hit.pk, 0) + 1
            fields = {"hit_id": hit.pk, "batch_id": hit.batch_id, "position": hit.position, "number": number}
            slots.append(Slot(**fields, assignment_id=assignment.pk))
        self.target.create(slots)
        return existing | fresh

    def _displays(self, rows: Sequence[RatingRow], placed: Sequence[int]) -> dict[tuple[int, int], int]:
        """Return the primary key of the display of each (assignment, pair), created if missing."""
        existing: dict[tuple[int, int], int] = {}
        counts: dict[int, int] = {}
        of_unknown_order: dict[tuple[int, int], int] = {}
        displays = Display.objects.filter(assignment__in=set(placed)).order_by()
        for pk, a_is_left, assignment, pair in displays.values_list("pk", "a_is_left", "assignment_id", "pair_id"):
            existing[assignment, pair] = pk
            counts[assignment] = counts.get(assignment, 0) + 1
            if a_is_left is None:
                of_unknown_order[assignment, pair] = pk
        fresh: dict[tuple[int, int], tuple[int, bool | None]] = {}  # the position, and whether A is on the left
        for row, assignment in zip(rows, placed, strict=True):
            key = (assignment, row.pair.pk)
            if key not in existing and key not in fresh:
                position = counts.get(assignment, 0)
                counts[assignment] = position + 1
                fresh[key] = (position, row.a_is_left)
            elif key in fresh and fresh[key][1] is None:
                fresh[key] = (fresh[key][0], row.a_is_left)
            elif key in of_unknown_order and row.a_is_left is not None and self.target.staged.importer:
                Display.objects.filter(pk=of_unknown_order.pop(key)).update(a_is_left=row.a_is_left)
        keys = self.target.create(
            Display(assignment_id=assignment, pair_id=pair, position=position, a_is_left=a_is_left)
            for (assignment, pair), (position, a_is_left) in fresh.items()
        )
        return existing | dict(zip(fresh, keys, strict=True))
