"""A rater of one configuration: verdicts and rating sets, in one form for people and judges."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, fields, replace

import numpy as np

from analysis.agreement.consistency import RatingSets, consistency_and_strength, rating_sets
from analysis.errors import DuplicateRating
from analysis.planning.weighting import set_probabilities
from analysis.types import BoolArray, FloatArray, IntArray
from annotation.studies.rated_pairs import RatedPairs
from reporting.core.votes import drop_repeats

PEOPLE = "people"


def without_baselines(judges: Iterable[str], baselines: Collection[str]) -> list[str]:
    """Return the judges, by their names as raters, that are no baselines, or all where there is no other."""
    every = list(judges)
    return [judge for judge in every if judge.removeprefix("judge:") not in baselines] or every


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
    sets         : the rating sets in use: complete ones, and with them incomplete ones of two ratings or more if asked for
    consistency, strength : one value per set in use
    every, chance : all rating sets, and the inclusion probability of each one's instance; NaN where unknown or ambiguous
    in_use       : per rating set
    sizes        : numbers of ratings that a set can hold, for the list of possible values
    incomplete   : rating sets that lack a rating, in use or not
    exclusions   : verdicts that were excluded, by reason
    p_b          : a judge's probability of B beside each verdict; NaN for none. None where it has none at all
    status       : counts of a judge's presentations by status
    family       : of a judge's model, as it is named on systems; empty where not stated
    """

    name: str
    kind: str
    rated: RatedPairs
    positions: Positions
    sets: RatingSets
    consistency: FloatArray
    strength: FloatArray
    every: RatingSets
    chance: FloatArray
    in_use: BoolArray
    sizes: tuple[int, ...]
    incomplete: int
    exclusions: dict[str, int]
    p_b: FloatArray | None = None
    status: dict[str, int] = field(default_factory=dict)
    family: str = ""

    @property
    def left_out(self) -> int:
        """Rating sets that are not in use."""
        return int((~self.in_use).sum())


def rater(
    name: str,
    kind: str,
    rated: RatedPairs,
    positions: Positions,
    exclusions: dict[str, int],
    *,
    with_incomplete: bool = False,
    pairs: IntArray | None = None,
) -> Rater:
    """Group a rater's verdicts into rating sets. Repeated verdicts of a person on a pair are dropped.

    with_incomplete : whether incomplete sets are in use too; one of a single rating never is, as it can't be inconsistent
    pairs           : (n_instances,) pairs of a complete set on each instance; those that the rater was asked about when left out
    """
    repeated = 0
    try:
        rating_sets_found = rating_sets(rated.outcomes)
    except DuplicateRating:  # rare, and looking for them beforehand would take as long as grouping
        rated, repeated = drop_repeats(rated)
        rating_sets_found = rating_sets(rated.outcomes)
    chance = np.full(len(rating_sets_found), np.nan)
    if not np.isnan(rated.chance).all():
        chance = set_probabilities(rated.outcomes, rated.chance)
    if pairs is not None:
        rating_sets_found = replace(rating_sets_found, n_pairs=pairs[rating_sets_found.instance])
    most_pairs = int(rating_sets_found.n_pairs.max(initial=0))
    in_use = (rating_sets_found.present > 1) | ((rating_sets_found.present == 1) & (most_pairs == 1))
    if not with_incomplete:
        in_use &= ~rating_sets_found.incomplete
    sets = RatingSets(**{column.name: getattr(rating_sets_found, column.name)[in_use] for column in fields(RatingSets)})
    steadiness, strength = consistency_and_strength(sets.ratings)
    return Rater(
        name=name,
        kind=kind,
        rated=rated,
        positions=positions,
        sets=sets,
        consistency=steadiness,
        strength=strength,
        every=rating_sets_found,
        chance=chance,
        in_use=in_use,
        sizes=tuple(np.unique(np.concatenate([sets.present, sets.n_pairs])).tolist()),
        incomplete=int(rating_sets_found.incomplete.sum()),
        exclusions={**exclusions, "repeated": repeated},
    )
