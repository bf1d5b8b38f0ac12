"""Consistency and preference strength of rating sets, and their distributions."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from analysis.errors import DuplicateRating, ShapeError, UnknownValue
from analysis.grouping import groups_of_rows
from analysis.intervals.bootstrap import quotient
from analysis.types import BoolArray, FloatArray, IntArray, Outcomes, code_array, verdict_array

TOLERANCE = 1e-9  # values of k/n nearer than this are one; those of sets up to 30,000 pairs lie further apart


def consistency(ratings: npt.ArrayLike) -> FloatArray:
    """Rating consistency: how steadily a rater prefers one system over the pairs of a matchup.

    ratings : (..., n_pairs) of -1, 0, +1, or NaN for a missing rating; one rating set per leading index
    returns : (...,) in [0, 1], a scalar for one set: 0 if the set holds both -1 and +1, else the share of
              present ratings that are not ties; NaN if every rating is missing
    raises  : UnknownValue for other ratings; ShapeError for a bare number
    source  : Ghosh et al. 2024, Compare without Despair, eq. 4
    """
    return consistency_and_strength(ratings)[0]


def preference_strength(ratings: npt.ArrayLike) -> FloatArray:
    """Mean rating of a rating set: how far, and towards which system, it leans.

    ratings : (..., n_pairs) as for `consistency`
    returns : (...,) in [-1, 1], negative for A; NaN if every rating is missing
    raises  : UnknownValue, ShapeError as for `consistency`
    source  : Ghosh et al. 2024, Compare without Despair, eq. 7
    """
    return consistency_and_strength(ratings)[1]


def consistency_and_strength(ratings: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """`consistency` and `preference_strength` from one pass over the ratings."""
    total, decided, n = _sums(_rating_array(ratings))
    return quotient(np.where(np.abs(total) < decided, 0, decided), n), quotient(total, n)


def incomplete(ratings: npt.ArrayLike) -> BoolArray:
    """Return whether a rating set lacks a rating.

    ratings : (..., n_pairs); of sets padded to a common length use `RatingSets.incomplete` instead
    returns : (...,) bool
    """
    return np.asarray(np.isnan(_rating_array(ratings)).any(axis=-1))[()]


@dataclass(frozen=True, eq=False)
class RatingSets:
    """Rating sets by instance, a, b and rater: a row per rater and matchup.

    ratings            : (n_sets, max_pairs), column j is pair j of the matchup; NaN where there is no rating
    instance, a, b, rater : (n_sets,) integer codes
    n_pairs            : (n_sets,) pairs that this rater was asked about: rows in the outcomes, with or without a verdict
    """

    ratings: FloatArray
    instance: IntArray
    a: IntArray
    b: IntArray
    rater: IntArray
    n_pairs: IntArray

    def __len__(self) -> int:
        return len(self.instance)

    @property
    def present(self) -> IntArray:
        """(n_sets,) ratings that are there."""
        return _present(self.ratings)

    @property
    def incomplete(self) -> BoolArray:
        """(n_sets,) whether a pair that the rater was asked about has no rating."""
        return self.present < self.n_pairs


def rating_sets(outcomes: Outcomes) -> RatingSets:
    """Group verdicts into rating sets. Weights play no part. A pair asked about without an answer is a NaN row.

    raises : DuplicateRating if a rater has two rows for one pair of a matchup
    """
    sets, row = groups_of_rows(outcomes.instance, outcomes.a, outcomes.b, outcomes.rater)
    width = int(outcomes.pair.max()) + 1 if len(outcomes) else 0
    instance, a, b, rater = sets
    cell = row * width + outcomes.pair
    is_rated = np.zeros(len(instance) * width, dtype=bool)
    is_rated[cell] = True
    if np.count_nonzero(is_rated) < len(cell):
        _refuse_duplicates(sets, row, outcomes.pair)
    ratings = np.full(len(is_rated), np.nan)
    ratings[cell] = outcomes.verdict
    n_pairs = np.bincount(row, minlength=len(instance))
    return RatingSets(ratings.reshape(len(instance), width), instance, a, b, rater, n_pairs)


class MatchupMeans(NamedTuple):
    """Means over raters by instance, a and b: a row per matchup. `n` counts raters with a value."""

    instance: IntArray
    a: IntArray
    b: IntArray
    mean: FloatArray
    n: IntArray


def matchup_means(sets: RatingSets, values: FloatArray) -> MatchupMeans:
    """Mean over raters of a value per rating set: ratings of different raters are never pooled into one set.

    values : (n_sets,) such as `consistency(sets.ratings)`; NaN is left out, and stays where nothing else is
    raises : ShapeError if there is not one value per set
    source : Ghosh et al. 2024, Compare without Despair, figure 8
    """
    if np.shape(values) != (len(sets),):
        raise ShapeError(f"need one value for each of {len(sets)} rating sets, got shape {np.shape(values)}")
    (instance, a, b), code = groups_of_rows(sets.instance, sets.a, sets.b)
    defined = ~np.isnan(values)
    n = np.bincount(code[defined], minlength=len(instance))
    total = np.bincount(code[defined], weights=values[defined], minlength=len(instance))
    return MatchupMeans(instance, a, b, quotient(total, n), n)


def possible_consistencies(n_pairs: int | Iterable[int]) -> FloatArray:
    """Every value that consistency can take for sets of the given size, ascending.

    n_pairs : present ratings in a set, or the sizes of several (their values are united; size 0 adds none)
    raises  : UnknownValue for a negative size
    """
    return _fractions(n_pairs, signed=False)


def possible_strengths(n_pairs: int | Iterable[int]) -> FloatArray:
    """Every value that preference strength can take for sets of the given size, ascending.

    n_pairs, raises : as for `possible_consistencies`
    """
    return _fractions(n_pairs, signed=True)


def distribution(values: npt.ArrayLike, possible: npt.ArrayLike) -> dict[float, int]:
    """Return the number of times of each possible value, ascending. NaN is not counted.

    raises : UnknownValue if a value is further than 1e-9 from every possible one
    """
    numbers = np.asarray(values, dtype=np.float64).ravel()
    numbers = numbers[~np.isnan(numbers)]
    levels = np.unique(np.asarray(possible, dtype=np.float64))
    if not levels.size and numbers.size:
        raise UnknownValue(f"no value is possible, got {numbers[:5].tolist()}")
    if not levels.size:
        return {}
    nearest = np.searchsorted(levels, numbers).clip(0, len(levels) - 1)
    if (levels[nearest] != numbers).any():
        lower = (nearest - 1).clip(0)
        nearest = np.where(np.abs(numbers - levels[lower]) <= np.abs(levels[nearest] - numbers), lower, nearest)
        stray = ~(np.abs(levels[nearest] - numbers) <= TOLERANCE)
        if stray.any():
            raise UnknownValue(f"not among the {len(levels)} possible values: {numbers[stray][:5].tolist()}")
    counts = np.bincount(nearest, minlength=len(levels))
    return {float(level): int(count) for level, count in zip(levels, counts, strict=True)}


def _fractions(n_pairs: int | Iterable[int], *, signed: bool) -> FloatArray:
    counts = [*n_pairs] if isinstance(n_pairs, Iterable) else [n_pairs]
    sizes = set(code_array("n_pairs", counts).tolist())
    if sizes and min(sizes) < 0:
        raise UnknownValue(f"a rating set cannot hold {min(sizes)} pairs")
    # Division rounds correctly, so equal fractions such as 2/4 and 3/6 are one float and unite exactly.
    values = {k / size for size in sizes if size for k in range(-size if signed else 0, size + 1)}
    return np.array(sorted(values), dtype=np.float64)


def _rating_array(ratings: npt.ArrayLike) -> FloatArray:
    sets = verdict_array(ratings)
    if sets.ndim == 0:
        raise ShapeError(f"a rating set needs an axis of pairs, got the single value {sets}")
    return sets


def _sums(sets: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the sum of the ratings of each set, how many are for one of the systems, and how many there are.

    Pairs come first in memory: NumPy's sum along so short a last axis takes several times as long.
    """
    by_pair = np.ascontiguousarray(np.moveaxis(sets, -1, 0))
    is_rated = ~np.isnan(by_pair)
    filled = np.where(is_rated, by_pair, 0.0)
    return filled.sum(axis=0), np.abs(filled).sum(axis=0), is_rated.sum(axis=0)


def _present(sets: FloatArray) -> IntArray:
    n: IntArray = np.ascontiguousarray(np.moveaxis(~np.isnan(sets), -1, 0)).sum(axis=0)
    return n


def _refuse_duplicates(sets: tuple[IntArray, ...], row: IntArray, pair: IntArray) -> None:
    (rows, pairs), cell = groups_of_rows(row, pair)
    count = np.bincount(cell)
    at = np.flatnonzero(count > 1)[0]
    instance, a, b, rater = (column[rows[at]] for column in sets)
    raise DuplicateRating(
        f"rater {rater} rated pair {pairs[at]} of instance {instance}, systems {a} and {b}, {count[at]} times"
    )
