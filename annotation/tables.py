"""Rows → arrays: the one seam between people's ratings and `analysis`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from django.db.models import QuerySet

from analysis.types import FloatArray, Outcomes
from annotation.configurations import Configuration
from annotation.models import Assignment, Batch, Display, HitPair, Pair, Rating, SeparabilityRun


@dataclass(frozen=True)
class Selection:
    """The matchups and pairs of one configuration that findings are about, in the order of the instances.

    chances : matchup's primary key → the chance with which it was drawn, of those whose HITs here all record the same
    """

    configuration: Configuration
    matchup_ids: tuple[int, ...]
    instance_ids: tuple[str, ...]
    pair_ids: frozenset[int]
    chances: Mapping[int, float] = field(default_factory=dict)

    @property
    def codes(self) -> dict[int, int]:
        """Matchup's primary key → its place in the selection, the `instance` code of outcomes."""
        return {matchup_id: code for code, matchup_id in enumerate(self.matchup_ids)}


@dataclass(frozen=True)
class RatedPairs:
    """Verdicts as arrays, with what `Outcomes` has no room for.

    outcomes      : one row per verdict; `instance` counts matchups of the selection, `rater` indexes `raters`
    first_is_a    : (n,) bool, whether A's text was shown first (left)
    raters        : the raters' codes
    chance        : (n,) the chance with which the instance was drawn, as recorded by the HIT that the verdict was given
                    on; a judge answers no HIT, so of all HITs on the instance. NaN where none is recorded
    """

    outcomes: Outcomes
    first_is_a: np.ndarray
    raters: tuple[str, ...]
    chance: FloatArray


def select(configuration: Configuration, batches: Iterable[Batch] | None = None) -> Selection:
    """Choose what to look at: the pairs on the HITs of `batches`, or every pair when there is no batch.

    batches : all that are for rating, when left out; qualifications and hidden checks are no part of findings
    """
    if batches is None:
        batches = _batches_of(configuration)
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
        matchups = list(configuration.matchups().values_list("pk", "instance__instance_id"))
        pair_ids = frozenset(Pair.objects.filter(matchup__in=configuration.matchups()).values_list("pk", flat=True))
    ids, names = tuple(m for m, _ in matchups), tuple(i for _, i in matchups)
    return Selection(configuration, ids, names, pair_ids, _chances(placed))


def _chances(placed: Iterable[tuple[int, int, float | None]]) -> dict[int, float]:
    """Find the one chance of each matchup that has one, from (pair, matchup, chance) of all HITs."""
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


def people(selection: Selection, batches: Iterable[Batch] | None = None, *, stage: str = "first") -> RatedPairs:
    """Return people's verdicts on a selection; excluded, unsubmitted and surplus assignments are left out.

    So are checks and qualifications, which fill no slot, and whatever those rated who have withdrawn.

    Every pair of an answered HIT is a row, one without an answer with a missing verdict, so that its rating set counts
    as incomplete, whoever else rated the HIT.
    """
    # Plain queries rather than one of seven joins, which a planner without statistics gets badly wrong.
    chosen = list(_batches_of(selection.configuration) if batches is None else batches)
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
    verdicts: dict[int | None, int] = dict(
        Rating.objects.filter(stage=stage, display__assignment__hit__batch__in=chosen).values_list(
            "display_id", "verdict"
        )
    )
    rows, chance_of_row = [], []
    for assignment_id, code, hit_id in counted.order_by("pk").values_list("pk", "annotator__code", "hit_id"):
        placed = [pair_id for pair_id in asked[hit_id] if pair_id in pairs]
        seen = [shown.get((assignment_id, pair_id), (None, True)) for pair_id in placed]
        if any(display in verdicts for display, _ in seen):  # who answered nothing rated nothing
            answered = [
                (*pairs[pair_id], verdicts.get(display), code, a_is_left)
                for pair_id, (display, a_is_left) in zip(placed, seen, strict=True)
                if stage == Rating.Stage.FIRST or display in verdicts
            ]
            rows += answered
            chance_of_row += [chances[hit_id]] * len(answered)
    return rated_pairs(selection, rows, chance_of_row)


def _batches_of(configuration: Configuration) -> QuerySet[Batch]:
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

    chances : of each row, where its HIT says; those of the selection when left out
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
    return RatedPairs(outcomes, first_is_a, raters, _or_nan(known))


def separabilities(selection: Selection, run: SeparabilityRun) -> np.ndarray:
    """Return each selected matchup's separability, in the selection's order; NaN where it is undefined or missing."""
    found = dict(run.alignments.values_list("matchup_id", "separability"))
    return _or_nan([found.get(matchup_id) for matchup_id in selection.matchup_ids])


def _or_nan(values: Sequence[float | None]) -> FloatArray:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
