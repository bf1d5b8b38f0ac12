"""Votes by unit (a pair of an instance), aligned so that people and judges can be compared."""

from dataclasses import dataclass

import numpy as np

from analysis.agreement import degrees
from analysis.grouping import groups_of_rows
from analysis.types import FloatArray, IntArray, Outcomes
from annotation.studies.rated_pairs import RatedPairs, first_votes


@dataclass(frozen=True, eq=False)
class Units:
    """Votes by unit, without their raters, which no agreement measure here needs.

    instance, pair : (n_units,) the unit, ascending
    votes          : (n_units, most votes on any unit) of -1, 0, +1, NaN where there is none
    """

    instance: IntArray
    pair: IntArray
    votes: FloatArray


def units(outcomes: Outcomes, values: FloatArray | None = None) -> Units:
    """Group verdicts, or other values of the same rows, by unit; the array is as wide as the unit with most votes."""
    (instance, pair), row = groups_of_rows(outcomes.instance, outcomes.pair)
    by_unit = np.argsort(row, kind="stable")
    sizes = np.bincount(row, minlength=len(instance))
    starts = np.cumsum(sizes) - sizes
    column = np.arange(len(row)) - np.repeat(starts, sizes)
    votes = np.full((len(instance), int(sizes.max(initial=0))), np.nan)
    votes[row[by_unit], column] = (outcomes.verdict if values is None else values)[by_unit]
    return Units(instance, pair, votes)


def degrees_of(rated: RatedPairs) -> FloatArray:
    """Return verdicts refined by their strengths; NaN where a strength is not known."""
    return degrees(rated.outcomes.verdict, rated.strength)


def verdicts_beside(judge: Outcomes, people: Units | Outcomes) -> FloatArray:
    """Return the judge's verdict on each of the people's units, or beside each of their votes; NaN where it has none."""
    width = 1 + max(int(judge.pair.max(initial=0)), int(people.pair.max(initial=0)))
    asked, first = np.unique(judge.instance * width + judge.pair, return_index=True)
    wanted = people.instance * width + people.pair
    found = np.full(len(wanted), np.nan)
    if len(asked):
        at = np.searchsorted(asked, wanted).clip(0, len(asked) - 1)
        found = np.where(asked[at] == wanted, judge.verdict[first[at]], np.nan)
    return found


def drop_repeats(rated: RatedPairs) -> tuple[RatedPairs, int]:
    """Keep a rater's first verdict on a pair; return how many later ones (from other batches) were dropped."""
    outcomes = rated.outcomes
    first = first_votes(outcomes)
    repeated = len(outcomes) - len(first)
    if not repeated:
        return rated, 0
    return rated.at(first), repeated


def by_position(verdict: FloatArray, first_is_a: np.ndarray) -> FloatArray:
    """Convert verdicts from study order to positions: -1 the text shown first was preferred, +1 the second."""
    return np.where(first_is_a, verdict, -verdict) + 0.0
