"""A rater of one configuration, and votes by unit (a pair of an instance), in one form for people and judges."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np

from analysis.agreement.coefficients import majority_of_counts
from analysis.agreement.consistency import RatingSets, consistency_and_strength, rating_sets
from analysis.errors import DuplicateRating
from analysis.grouping import groups_of_rows
from analysis.planning.weighting import set_probabilities
from analysis.types import BoolArray, FloatArray, IntArray, Outcomes
from annotation.studies.rated_pairs import RatedPairs, first_votes


@dataclass(frozen=True, eq=False)
class Units:
    """Votes by unit, counted: which rater gave which one no agreement measure here needs.

    instance, pair : (n_units,) the unit, ascending
    counts         : (n_units, n_values) votes for each value, ascending
    """

    instance: IntArray
    pair: IntArray
    counts: FloatArray

    @cached_property
    def sizes(self) -> FloatArray:
        """(n_units,) the number of votes on each unit."""
        sizes: FloatArray = self.counts.sum(axis=1)
        return sizes

    @cached_property
    def majority(self) -> FloatArray:
        """(n_units,) the verdict with the most votes, NaN for a draw."""
        return majority_of_counts(self.counts)


def units(outcomes: Outcomes, values: FloatArray | None = None, *, limit: int = 1) -> Units:
    """Count verdicts, or other whole numbers from -`limit` to `limit` on the same rows, by unit."""
    (instance, pair), row = groups_of_rows(outcomes.instance, outcomes.pair)
    votes, n_values = outcomes.verdict if values is None else values, 2 * limit + 1
    rows = np.flatnonzero(~np.isnan(votes))
    cell = n_values * row[rows] + votes[rows].astype(np.int64) + limit
    counts = np.bincount(cell, minlength=n_values * len(instance)).astype(np.float64)
    return Units(instance, pair, counts.reshape(-1, n_values))


def verdicts_beside(judge: Outcomes, people: Units | Outcomes) -> FloatArray:
    """Return the judge's verdict on each of the people's units or votes, NaN where it has none."""
    width = 1 + max(int(judge.pair.max(initial=0)), int(people.pair.max(initial=0)))
    keys, first = np.unique(judge.instance * width + judge.pair, return_index=True)
    keys_of_people = people.instance * width + people.pair
    verdicts = np.full(len(keys_of_people), np.nan)
    if len(keys):
        at = np.searchsorted(keys, keys_of_people).clip(0, len(keys) - 1)
        verdicts = np.where(keys[at] == keys_of_people, judge.verdict[first[at]], np.nan)
    return verdicts


def drop_repeats(rated: RatedPairs) -> tuple[RatedPairs, int]:
    """Keep a rater's first verdict on a pair. Return how many later ones (from other batches) were dropped."""
    outcomes = rated.outcomes
    first = first_votes(outcomes)
    repeated = len(outcomes) - len(first)
    if not repeated:
        return rated, 0
    return rated.at(first), repeated


def by_position(verdict: FloatArray, first_is_a: np.ndarray) -> FloatArray:
    """Convert verdicts from study order to positions: -1 the text shown first was preferred, +1 the second.

    first_is_a : 1 or 0; NaN where not known, as is then the position, also of a tie
    """
    return (2.0 * first_is_a - 1.0) * verdict + 0.0


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
