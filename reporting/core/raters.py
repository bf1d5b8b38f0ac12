"""A rater of one configuration: verdicts and rating sets, in one form for people and judges."""

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
from django.db.models import Count, Q, QuerySet

from analysis.consistency import RatingSets, consistency, preference_strength, rating_sets
from analysis.types import FloatArray, IntArray
from analysis.weighting import set_probabilities
from annotation.models import Assignment, Batch, Rating
from annotation.questions.questions import MAIN
from annotation.studies.outcomes import RatedPairs, Selection, human_ratings
from reporting.core.votes import by_position, drop_repeats

PEOPLE = "people"


@dataclass(frozen=True, eq=False)
class Positions:
    """Preferences by position, one row per presentation: -1 the text shown first, +1 the second, NaN failed."""

    instance: IntArray
    preferred: FloatArray


@dataclass(frozen=True, eq=False)
class Rater:
    """People together, or one judge, on one configuration.

    rated        : their verdicts; `rated.raters` are the persons, or the judge itself
    sets         : the rating sets in use: those with a rating, and without the incomplete ones if those are dropped
    consistency, strength : one value per set
    chance       : per set, the inclusion probability of its instance; NaN where unknown or ambiguous
    sizes        : numbers of ratings that a set can hold, for the list of possible values
    incomplete   : rating sets that lack a rating, in use or not
    left_out     : rating sets that are not in use
    dropped      : those of them that hold ratings and were dropped as incomplete
    exclusions   : verdicts that were excluded, by reason
    """

    name: str
    kind: str
    rated: RatedPairs
    positions: Positions
    sets: RatingSets
    consistency: FloatArray
    strength: FloatArray
    chance: FloatArray
    sizes: tuple[int, ...]
    incomplete: int
    left_out: int
    dropped: int
    exclusions: dict[str, int]


def people_rater(
    selection: Selection,
    batches: Iterable[Batch] | None,
    *,
    stage: str = "first",
    question: int = MAIN,
    drop_incomplete: bool = False,
) -> Rater:
    """Read people's counted answers to a question on a selection."""
    rated = human_ratings(selection, batches, stage=stage, question=question)
    positions = Positions(rated.outcomes.instance, by_position(rated.outcomes.verdict, rated.first_is_a))
    left_out = exclusion_counts(selection, batches, stage=stage, question=question)
    return rater(PEOPLE, "person", rated, positions, left_out, drop_incomplete=drop_incomplete)


def rater(
    name: str,
    kind: str,
    rated: RatedPairs,
    positions: Positions,
    exclusions: dict[str, int],
    *,
    drop_incomplete: bool,
) -> Rater:
    """Group a rater's verdicts into rating sets; repeated verdicts of a person on a pair are dropped."""
    rated, repeated = drop_repeats(rated)
    found = rating_sets(rated.outcomes)
    kept = found.present > 0
    if drop_incomplete:
        kept &= ~found.incomplete
    sets = RatingSets(**{field.name: getattr(found, field.name)[kept] for field in fields(RatingSets)})
    return Rater(
        name=name,
        kind=kind,
        rated=rated,
        positions=positions,
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


def exclusion_counts(
    selection: Selection, batches: Iterable[Batch] | None, *, stage: str, question: int = MAIN
) -> dict[str, int]:
    """Count the answers to a question that `annotation.studies.outcomes.human_ratings` leaves out, each under the first reason.

    withdrawn     : the annotator withdrew consent
    check         : of a qualification or a hidden check
    excluded      : the assignment or the annotator was excluded manually
    not_submitted : the assignment was not submitted, or was returned
    surplus       : another assignment had already filled the slot
    """
    ratings = Rating.objects.of_question(question).filter(
        stage=stage, display__pair__matchup__in=selection.configuration.matchups().order_by()
    )
    return count_exclusions(ratings, batches)


def count_exclusions(ratings: QuerySet[Rating], batches: Iterable[Batch] | None) -> dict[str, int]:
    """Count the excluded ones of some ratings, by the reasons of `exclusion_counts`; in these batches only."""
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
