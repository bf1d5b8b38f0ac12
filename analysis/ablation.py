"""Ablation of judging methods: accuracy averaged over rounds, its spread, and paired differences.

A round judges every pair once, with its own seed. Each measure takes per-pair sums, so that `analysis.bootstrap` can
resample instances: a pair's rounds are not independent, and stay together.

A missing verdict is an answer that holds none: never right, as in `analysis.accuracy`. A tie is right where the gold is
a tie, and nowhere else.
"""

import numpy as np
import numpy.typing as npt

from analysis.agreement import majority
from analysis.bootstrap import ratio
from analysis.errors import ShapeError, UnknownValue
from analysis.types import BoolArray, FloatArray, verdict_array


def round_sums(verdict: npt.ArrayLike, gold: npt.ArrayLike, answered: npt.ArrayLike) -> FloatArray:
    """Right answers, and answers to pairs with a gold, in each round.

    verdict  : (n_pairs, n_rounds) in study order; NaN where an answer holds none, or none came
    gold     : (n_pairs,) -1 A is better, +1 B, 0 neither; NaN where it is unknown
    answered : (n_pairs, n_rounds) whether an answer came
    returns  : (n_pairs, n_rounds, 2) of 0 and 1
    raises   : ShapeError if the shapes differ; UnknownValue for an unknown verdict, or one where no answer came
    source   : Predicting Text Preference Via Structured Comparative Reasoning, §4: correctly predicted over all
    """
    verdicts, right = verdict_array(verdict), verdict_array(gold)
    came = _answered(verdicts, answered)
    if right.shape != verdicts.shape[:1]:
        raise ShapeError(f"need one gold for each pair, got {right.shape} for {verdicts.shape} verdicts")
    counted = came & ~np.isnan(right)[:, np.newaxis]
    return _stacked(counted & (verdicts == right[:, np.newaxis]), counted)


def parsed_round_sums(verdict: npt.ArrayLike, gold: npt.ArrayLike) -> FloatArray:
    """The same over verdicts only: an answer without one is left out of both parts.

    returns : (n_pairs, n_rounds, 2) of 0 and 1
    """
    verdicts = verdict_array(verdict)
    return round_sums(verdicts, gold, ~np.isnan(verdicts))


def majority_round_sums(verdict: npt.ArrayLike, people: npt.ArrayLike) -> FloatArray:
    """Verdicts equal to the people's majority, and verdicts on pairs with a majority, in each round.

    verdict : (n_pairs, n_rounds); people : (n_pairs, n_raters); both of -1, 0, +1, NaN for missing
    returns : (n_pairs, n_rounds, 2) of 0 and 1; a tie agrees with a tie only
    raises  : ShapeError, UnknownValue
    """
    return parsed_round_sums(verdict, majority(people))


def rounds_ended(ended: npt.ArrayLike) -> tuple[int, int]:
    """Count the rounds in which every pair has ended, and those in which only some have.

    ended  : (n_pairs, n_rounds) whether there is a result, errors included
    raises : ShapeError for another number of dimensions
    """
    cells = np.asarray(ended, dtype=bool)
    if cells.ndim != 2:
        raise ShapeError(f"need (n, rounds) of ended pairs, got {cells.shape}")
    some = cells.any(axis=0)
    done = some & cells.all(axis=0)
    return int(done.sum()), int((some & ~done).sum())


def mean_of_rounds(sums: FloatArray) -> FloatArray:
    """Statistic: the mean over rounds of each round's ratio; a round without anything to count is left out.

    sums    : (..., n_rounds, 2)
    returns : (...,), NaN where no round counts anything
    """
    values = ratio(sums)
    known = ~np.isnan(values)
    n = known.sum(axis=-1)
    undefined = np.full(n.shape, np.nan)
    mean: FloatArray = np.divide(np.where(known, values, 0.0).sum(axis=-1), n, out=undefined, where=n > 0)[()]
    return mean


def spread_of_rounds(sums: npt.ArrayLike) -> float:
    """Standard deviation of the rounds' ratios, over all pairs (n - 1 in the denominator).

    sums    : (n_pairs, n_rounds, 2)
    returns : NaN for fewer than two rounds that count anything
    """
    values = ratio(np.asarray(sums, dtype=np.float64).sum(axis=0))
    known = values[~np.isnan(values)]
    return float(known.std(ddof=1)) if known.size > 1 else float("nan")


def difference_sums(sums: npt.ArrayLike, reference: npt.ArrayLike) -> FloatArray:
    """Difference in accuracy to the reference per pair, and whether both answered on it.

    A pair's accuracy is the mean over the rounds in which it was answered. With every pair answered in every round the
    ratio of the sums is the difference of the two means over rounds.

    sums, reference : (n_pairs, n_rounds, 2) of the same pairs; the numbers of rounds may differ
    returns         : (n_pairs, 2), numerators within -1 and +1
    raises          : ShapeError if these are not as many pairs
    """
    one, other = np.asarray(sums, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    if one.ndim != 3 or other.ndim != 3 or len(one) != len(other):
        raise ShapeError(f"need (n, rounds, 2) sums of the same pairs, got {one.shape} and {other.shape}")
    gap = ratio(one.sum(axis=1)) - ratio(other.sum(axis=1))
    both = ~np.isnan(gap)
    return np.stack([np.where(both, gap, 0.0), both], axis=1)


def _answered(verdicts: FloatArray, answered: npt.ArrayLike) -> BoolArray:
    came = np.asarray(answered, dtype=bool)
    if verdicts.ndim != 2 or came.shape != verdicts.shape:
        raise ShapeError(f"need (n, rounds) verdicts and answers, got {verdicts.shape} and {came.shape}")
    if (~came & ~np.isnan(verdicts)).any():
        raise UnknownValue(f"{(~came & ~np.isnan(verdicts)).sum()} verdicts where no answer came")
    return came


def _stacked(above: BoolArray, below: BoolArray) -> FloatArray:
    return np.stack([above, below], axis=-1).astype(np.float64)
