"""A rater on one configuration: its verdicts and rating sets, the same for people and for a judge."""

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
from django.db.models import Count, Q, QuerySet

from analysis.consistency import RatingSets, consistency, preference_strength, rating_sets
from analysis.types import FloatArray, IntArray
from analysis.weighting import set_probabilities
from annotation.models import Assignment, Batch, Rating
from annotation.tables import RatedPairs, Selection, people
from reporting.votes import by_place, first_of_each

PEOPLE = "people"


@dataclass(frozen=True, eq=False)
class Places:
    """What was preferred by place, one row per presentation: -1 the text shown first, +1 the second, NaN failed."""

    instance: IntArray
    preferred: FloatArray


@dataclass(frozen=True, eq=False)
class Rater:
    """People together, or one judge, on one configuration.

    rated        : their verdicts; `rated.raters` are the persons, or the judge itself
    sets         : the rating sets that findings use: none without a rating, no incomplete one if those are dropped
    consistency, strength : one value per set
    chance       : one per set: that of its instance in the draw of its HIT; NaN where that is unknown, or not one only
    sizes        : how many ratings a set may hold here, for the list of possible values
    incomplete   : rating sets that lack a rating, in use or not
    left_out     : rating sets that are not in use
    dropped      : those of them that hold ratings, and were left out as incomplete
    exclusions   : verdicts that were never looked at, by reason
    """

    name: str
    kind: str
    rated: RatedPairs
    places: Places
    sets: RatingSets
    consistency: FloatArray
    strength: FloatArray
    chance: FloatArray
    sizes: tuple[int, ...]
    incomplete: int
    left_out: int
    dropped: int
    exclusions: dict[str, int]


def people_on(
    selection: Selection,
    batches: Iterable[Batch] | None,
    *,
    stage: str = "first",
    drop_incomplete: bool = False,
) -> Rater:
    """Read people's counted verdicts on a selection."""
    rated = people(selection, batches, stage=stage)
    places = Places(rated.outcomes.instance, by_place(rated.outcomes.verdict, rated.first_is_a))
    left_out = not_counted(selection, batches, stage=stage)
    return rater(PEOPLE, "person", rated, places, left_out, drop_incomplete=drop_incomplete)


def rater(
    name: str,
    kind: str,
    rated: RatedPairs,
    places: Places,
    exclusions: dict[str, int],
    *,
    drop_incomplete: bool,
) -> Rater:
    """Put a rater's verdicts into rating sets; a later verdict of the same person on the same pair is left out."""
    rated, repeated = first_of_each(rated)
    found = rating_sets(rated.outcomes)
    kept = found.present > 0
    if drop_incomplete:
        kept &= ~found.incomplete
    sets = RatingSets(**{field.name: getattr(found, field.name)[kept] for field in fields(RatingSets)})
    return Rater(
        name=name,
        kind=kind,
        rated=rated,
        places=places,
        sets=sets,
        consistency=consistency(sets.ratings),
        strength=preference_strength(sets.ratings),
        chance=set_probabilities(rated.outcomes, rated.chance)[kept],
        sizes=tuple(np.unique(np.concatenate([sets.present, sets.n_pairs])).tolist()),
        incomplete=int(found.incomplete.sum()),
        left_out=int((~kept).sum()),
        dropped=int(((found.present > 0) & ~kept).sum()),
        exclusions={**exclusions, "repeated": repeated},
    )


def not_counted(selection: Selection, batches: Iterable[Batch] | None, *, stage: str) -> dict[str, int]:
    """Count the ratings that `annotation.tables.people` leaves out, each under the first reason that holds.

    withdrawn     : by people who took their consent back
    check         : of a qualification or a hidden check, which are about the rater
    excluded      : by hand, the assignment or the annotator
    not_submitted : of a HIT that wasn't finished, or was given back
    surplus       : of a HIT that came too late, when another assignment filled its slot
    """
    ratings = Rating.objects.filter(
        stage=stage, display__pair__matchup__in=selection.configuration.matchups().order_by()
    )
    return left_out_by_reason(ratings, batches)


def left_out_by_reason(ratings: QuerySet[Rating], batches: Iterable[Batch] | None) -> dict[str, int]:
    """Count those of some ratings that no finding takes, by the reasons of `not_counted`; of these batches only."""
    if batches is not None:
        ratings = ratings.filter(display__assignment__hit__batch__in=list(batches))
    reasons = {
        "withdrawn": Q(display__assignment__annotator__withdrawn_at__isnull=False),
        "check": ~Q(display__assignment__purpose=Assignment.Purpose.RATING),
        "excluded": Q(display__assignment__excluded=True) | Q(display__assignment__annotator__excluded=True),
        "not_submitted": ~Q(display__assignment__state=Assignment.State.SUBMITTED),
        "surplus": Q(display__assignment__slot__isnull=True),
    }
    counts, before = {}, Q()
    for name, reason in reasons.items():
        counts[name] = Count("pk", filter=before & reason)
        before &= ~reason
    return ratings.aggregate(**counts)
