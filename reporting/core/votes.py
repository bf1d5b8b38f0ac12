"""Votes by unit (a pair of an instance), aligned so that people and judges can be compared."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from analysis.agreement.coefficients import degrees, majority_of_counts
from analysis.grouping import groups_of_rows
from analysis.types import FloatArray, IntArray, Outcomes
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


def degrees_of(rated: RatedPairs) -> FloatArray:
    """Return verdicts refined by their strengths, or NaN where a strength is not known."""
    return degrees(rated.outcomes.verdict, rated.strength)


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
