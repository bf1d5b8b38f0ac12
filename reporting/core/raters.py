"""A rater of one configuration: verdicts and rating sets, in one form for people and judges."""

from dataclasses import dataclass, fields

import numpy as np

from analysis.consistency import RatingSets, consistency_and_strength, rating_sets
from analysis.errors import DuplicateRating
from analysis.types import FloatArray, IntArray
from analysis.weighting import set_probabilities
from annotation.studies.rated_pairs import RatedPairs
from reporting.core.votes import drop_repeats

PEOPLE = "people"
NO_ORDER = "a jury's verdicts are on pairs, which have no order"
UNKNOWN_ORDER = "it is not known which text was shown first"


@dataclass(frozen=True, eq=False)
class Positions:
    """Preferences by position, one row per presentation: -1 the text shown first, +1 the second, NaN failed.

    rater : codes of the persons; None for a judge
    """

    instance: IntArray
    preferred: FloatArray
    rater: IntArray | None = None


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


@dataclass(frozen=True, eq=False)
class JudgeRater:
    """A judge as a rater, with the status counts of its presentations.

    family : of the judge's model, as it is named on systems; empty where not stated
    """

    rater: Rater
    status: dict[str, int]
    family: str = ""


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
    repeated = 0
    try:
        found = rating_sets(rated.outcomes)
    except DuplicateRating:  # rare, and looking for them beforehand would take as long as grouping
        rated, repeated = drop_repeats(rated)
        found = rating_sets(rated.outcomes)
    chance = np.full(len(found), np.nan)
    if not np.isnan(rated.chance).all():
        chance = set_probabilities(rated.outcomes, rated.chance)
    kept = found.present > 0
    if drop_incomplete:
        kept &= ~found.incomplete
    sets = RatingSets(**{field.name: getattr(found, field.name)[kept] for field in fields(RatingSets)})
    steadiness, strength = consistency_and_strength(sets.ratings)
    return Rater(
        name=name,
        kind=kind,
        rated=rated,
        positions=positions,
        sets=sets,
        consistency=steadiness,
        strength=strength,
        chance=chance[kept],
        sizes=tuple(np.unique(np.concatenate([sets.present, sets.n_pairs])).tolist()),
        incomplete=int(found.incomplete.sum()),
        left_out=int((~kept).sum()),
        dropped=int(((found.present > 0) & ~kept).sum()),
        exclusions={**exclusions, "repeated": repeated},
    )
