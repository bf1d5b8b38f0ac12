"""Spearman's rank correlation, with ties and missing values, and its interval over rows."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.bootstrap import BLOCK_CELLS, Interval, draw_counts, interval_of
from analysis.errors import AnalysisError, ShapeError, UnknownValue
from analysis.types import FloatArray, IntArray


@dataclass(frozen=True)
class Correlation:
    """A rank correlation with its interval; `n` rows count in it, `missing` lack a value on one side."""

    value: float
    interval: Interval
    n: int
    missing: int


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Rank correlation: Pearson's of the mid-ranks, so that tied values share the mean of their ranks.

    x, y    : (n,); a row with NaN on either side is left out
    returns : from -1 to 1; NaN for fewer than two rows, or where all values of one side are equal
    raises  : ShapeError if the lengths differ; UnknownValue for infinite values
    source  : Spearman 1904; Kendall 1948, Rank Correlation Methods, §3.8, for ties
    """
    left, right = _known(x, y)
    if len(left) < 2:
        return float("nan")
    return float(_of_resamples(left, right, np.ones((1, len(left)), dtype=np.int64))[0])


def kendall(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Kendall's τ-b: pairs of rows in the same order less pairs in opposite order, over the pairs that are not tied.

    x, y    : (n,); a row with NaN on either side is left out
    returns : from -1 to 1; NaN for fewer than two rows, or where all values of one side are equal
    raises  : ShapeError if the lengths differ; UnknownValue for infinite values
    source  : Kendall 1948, Rank Correlation Methods, §3.4
    """
    left, right = _known(x, y)
    one, other = (np.sign(values[:, np.newaxis] - values) for values in (left, right))
    room = np.sqrt((one**2).sum() * (other**2).sum())
    return float((one * other).sum() / room) if room else float("nan")


def rank_correlation(
    x: npt.ArrayLike, y: npt.ArrayLike, *, rng: np.random.Generator, rounds: int = 1000, level: float = 0.95
) -> Correlation:
    """`spearman` with a percentile bootstrap interval that resamples rows (instances) and ranks each resample.

    raises : as `spearman`; AnalysisError for a bad level or number of rounds
    source : Efron and Tibshirani 1993, An Introduction to the Bootstrap, §13.3
    """
    if not 0 < level < 1 or rounds < 1:
        raise AnalysisError(f"need 0 < level < 1 and rounds >= 1, got {level} and {rounds}")
    left, right = _known(x, y)
    n, missing = len(left), np.size(x) - len(left)
    if n < 2:
        return Correlation(float("nan"), Interval(np.nan, np.nan, level, rounds, undefined=rounds), n, missing)
    values = np.empty(rounds)
    step = max(1, BLOCK_CELLS // n)
    for start in range(0, rounds, step):
        size = min(step, rounds - start)
        values[start : start + size] = _of_resamples(left, right, draw_counts(n, size, rng))
    return Correlation(spearman(left, right), interval_of(values, level), n, missing)


def _known(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    left, right = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if left.ndim != 1 or left.shape != right.shape:
        raise ShapeError(f"need two columns of one length, got {left.shape} and {right.shape}")
    if np.isinf(left).any() or np.isinf(right).any():
        raise UnknownValue("cannot correlate infinite values")
    known = ~np.isnan(left) & ~np.isnan(right)
    return left[known], right[known]


def _of_resamples(left: FloatArray, right: FloatArray, times: IntArray) -> FloatArray:
    """Correlation of repeated rows: times is (rounds, n), how often each occurs; NaN where a side is constant."""
    middle = (times.sum(axis=1, keepdims=True) + 1) / 2  # the mean of mid-ranks
    ranks_x, ranks_y = (_mid_ranks(column, times) - middle for column in (left, right))
    together = (times * ranks_x * ranks_y).sum(axis=1)
    spread = (times * ranks_x**2).sum(axis=1) * (times * ranks_y**2).sum(axis=1)
    undefined = np.full(len(times), np.nan)
    value: FloatArray = np.divide(together, np.sqrt(spread), out=undefined, where=spread > 0)
    return np.clip(value, -1, 1)


def _mid_ranks(column: FloatArray, times: IntArray) -> FloatArray:
    values, code = np.unique(column, return_inverse=True)
    order = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[order], np.arange(len(values)))
    held = np.add.reduceat(times[:, order], starts, axis=1)
    below = np.cumsum(held, axis=1) - held
    ranks: FloatArray = (below + (held + 1) / 2)[:, code]
    return ranks
