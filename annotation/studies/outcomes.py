"""Ratings → arrays for `analysis`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from django.db.models import QuerySet

from analysis.types import FloatArray, Outcomes
from annotation.core.errors import UnknownName
from annotation.models import Assignment, Batch, Display, HitPair, Pair, Rating, SeparabilityRun, Study
from annotation.questions.questions import MAIN, Answer
from annotation.studies.configurations import Configuration, without_checks
from annotation.studies.rated_pairs import RatedPairs


@dataclass(frozen=True)
class Selection:
    """The matchups and pairs of one configuration that findings cover, in the order of the instances.

    chances : matchup's primary key → its inclusion probability, if all of its HITs record the same one
    """

    configuration: Configuration
    matchup_ids: tuple[int, ...]
    instance_ids: tuple[str, ...]
    pair_ids: frozenset[int]
    chances: Mapping[int, float] = field(default_factory=dict)

    @property
    def codes(self) -> dict[int, int]:
        """Matchup's primary key → its index in the selection, the `instance` code of outcomes."""
        return {matchup_id: code for code, matchup_id in enumerate(self.matchup_ids)}


def select(configuration: Configuration, batches: Iterable[Batch] | None = None) -> Selection:
    """Select the pairs on the HITs of `batches`; without any batch, every pair that doesn't serve checks only.

    batches : by default all batches for rating
    """
    if batches is None:
        batches = batches_for_rating(configuration)
    batch_ids = [batch.pk for batch in batches]
    in_hits = HitPair.objects.filter(hit__batch_id__in=batch_ids, pair__matchup__in=configuration.matchups())
    placed = list(in_hits.values_list("pair_id", "hit__matchup_id", "hit__inclusion_probability"))
    pair_ids = frozenset(pair_id for pair_id, _, _ in placed)
    matchups: Sequence[tuple[int, str]]
    if batch_ids:
        matchups = list(
            configuration.matchups()
            .filter(pk__in=in_hits.values("pair__matchup_id"))
            .values_list("pk", "instance__instance_id")
        )
    else:
        unplaced = without_checks(configuration.matchups())
        matchups = list(unplaced.values_list("pk", "instance__instance_id"))
        pair_ids = frozenset(Pair.objects.filter(matchup__in=unplaced).values_list("pk", flat=True))
    ids, names = tuple(m for m, _ in matchups), tuple(i for _, i in matchups)
    return Selection(configuration, ids, names, pair_ids, _chances(placed))


def _chances(placed: Iterable[tuple[int, int, float | None]]) -> dict[int, float]:
    """Return the inclusion probability of each matchup whose HITs agree on it, from (pair, matchup, chance)."""
    recorded: dict[int, set[float | None]] = {}
    for _, matchup_id, chance in placed:
        recorded.setdefault(matchup_id, set()).add(chance)
    return {
        matchup_id: chance
        for matchup_id, found in recorded.items()
        if len(found) == 1
        for chance in found
        if chance is not None
    }


def human_ratings(
    selection: Selection, batches: Iterable[Batch] | None = None, *, stage: str = "first", question: int = MAIN
) -> RatedPairs:
    """Return human answers to a question on a selection, of counted assignments only (see `AssignmentQuerySet.counted`).

    Every pair of an answered HIT is a row; a pair without an answer has a missing verdict, so that its rating set
    counts as incomplete.
    """
    # Several queries instead of seven joins, for which a planner without statistics chooses a bad plan.
    chosen = list(batches_for_rating(selection.configuration) if batches is None else batches)
    counted = Assignment.objects.counted().filter(hit__batch__in=chosen)
    pairs = {
        pk: (matchup_id, index)
        for pk, matchup_id, index in Pair.objects.filter(
            matchup__in=selection.configuration.matchups().order_by()
        ).values_list("pk", "matchup_id", "index")
        if pk in selection.pair_ids
    }
    asked: dict[int, list[int]] = {}
    chances: dict[int, float | None] = {}
    for hit_id, pair_id, chance in HitPair.objects.filter(hit__batch__in=chosen).values_list(
        "hit_id", "pair_id", "hit__inclusion_probability"
    ):
        asked.setdefault(hit_id, []).append(pair_id)
        chances[hit_id] = chance
    shown = {
        (assignment_id, pair_id): (pk, a_is_left)
        for pk, assignment_id, pair_id, a_is_left in Display.objects.filter(
            assignment__hit__batch__in=chosen
        ).values_list("pk", "assignment_id", "pair_id", "a_is_left")
    }
    given = Rating.objects.of_question(question).filter(stage=stage, display__assignment__hit__batch__in=chosen)
    verdicts: dict[int | None, int] = dict(given.values_list("display_id", "verdict"))
    # The times on a pair are kept with the main question.
    timed = Rating.objects.of_question(MAIN).filter(stage=stage, display__assignment__hit__batch__in=chosen)
    seconds: dict[int | None, float | None] = dict(timed.values_list("display_id", "active_seconds"))
    asked_for = selection.configuration.study.questions[question]
    rows, chance_of_row, shown_rows = [], [], []
    for assignment_id, code, hit_id in counted.order_by("pk").values_list("pk", "annotator__code", "hit_id"):
        placed = [pair_id for pair_id in asked[hit_id] if pair_id in pairs]
        seen = [shown.get((assignment_id, pair_id), (None, True)) for pair_id in placed]
        if any(display in verdicts for display, _ in seen):  # an assignment without answers has no rows
            answered = [
                (*pairs[pair_id], verdicts.get(display), code, a_is_left)
                for pair_id, (display, a_is_left) in zip(placed, seen, strict=True)
                if stage == Rating.Stage.FIRST or display in verdicts
            ]
            rows += answered
            chance_of_row += [chances[hit_id]] * len(answered)
            shown_rows += [display for display, _ in seen if stage == Rating.Stage.FIRST or display in verdicts]
    found = replace(rated_pairs(selection, rows, chance_of_row), seconds=_or_nan(list(map(seconds.get, shown_rows))))
    if not (asked_for.strength or asked_for.tie_kinds):
        return found
    return replace(found, asked=asked_for, answers=tuple(map(_whole_answers(given).get, shown_rows)))


def _whole_answers(given: QuerySet[Rating]) -> dict[int | None, Answer]:
    stored = given.values_list("display_id", "verdict", "strength", "tie_kind")
    return {display: Answer(verdict, strength, tie_kind) for display, verdict, strength, tie_kind in stored}


def batches_for_rating(configuration: Configuration) -> QuerySet[Batch]:
    """Return a configuration's batches for rating."""
    return Batch.objects.for_rating().filter(
        study=configuration.study,
        dataset=configuration.dataset,
        system_a=configuration.system_a,
        system_b=configuration.system_b,
    )


def rated_pairs(
    selection: Selection,
    rows: list[tuple[int, int, int | None, str, bool]],
    chances: Sequence[float | None] | None = None,
) -> RatedPairs:
    """Build arrays from (matchup, pair index, verdict or None, rater's code, A shown first) rows.

    chances : inclusion probability of each row; by default those of the selection
    """
    codes = selection.codes
    known = [selection.chances.get(row[0]) for row in rows] if chances is None else chances
    raters = tuple(sorted({row[3] for row in rows}))
    rater_codes = {code: number for number, code in enumerate(raters)}
    outcomes = Outcomes(
        instance=np.array([codes[row[0]] for row in rows], dtype=np.int64),
        pair=np.array([row[1] for row in rows], dtype=np.int64),
        a=np.zeros(len(rows), dtype=np.int64),
        b=np.ones(len(rows), dtype=np.int64),
        verdict=np.array([np.nan if row[2] is None else row[2] for row in rows], dtype=np.float64),
        rater=np.array([rater_codes[row[3]] for row in rows], dtype=np.int64),
        weight=np.ones(len(rows), dtype=np.float64),
    )
    first_is_a = np.array([row[4] for row in rows], dtype=bool)
    return RatedPairs(outcomes, first_is_a, raters, _or_nan(known), np.full(len(rows), np.nan))


def separabilities(selection: Selection, run: SeparabilityRun) -> np.ndarray:
    """Return each selected matchup's separability, in the selection's order; NaN where it is undefined or missing."""
    found = dict(run.alignments.values_list("matchup_id", "separability"))
    return _or_nan([found.get(matchup_id) for matchup_id in selection.matchup_ids])


def _or_nan(values: Sequence[float | None]) -> FloatArray:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def batches_named(study: Study, names: Sequence[str]) -> tuple[Batch, ...] | None:
    """Find batches by name; no name stands for all. Qualifications and hidden checks enter no findings.

    Raises: UnknownName listing those that exist.
    """
    if not names:
        return None
    known = {batch.name: batch for batch in study.batches.for_rating()}
    if strangers := [name for name in names if name not in known]:
        listed = ", ".join(known) or "none"
        raise UnknownName(f"study {study.slug} has no batch {', '.join(strangers)} for rating; it has {listed}")
    return tuple(known[name] for name in dict.fromkeys(names))
