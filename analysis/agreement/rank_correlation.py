"""Spearman's rank correlation, with ties and missing values, and its interval over rows."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.errors import UnknownValue
from analysis.intervals.bootstrap import Interval, check_resampling, drawn_blocks, interval_of, quotient
from analysis.types import FloatArray, IntArray, check_columns, code_array


@dataclass(frozen=True)
class Correlation:
    """A rank correlation of `n` rows with its interval. `missing` rows lack a value on one side."""

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
    x_values, y_values = _known(x, y)
    if len(x_values) < 2:
        return float("nan")
    return float(_of_resamples(x_values, y_values, np.ones((1, len(x_values)), dtype=np.int64))[0])


def kendall(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Kendall's τ-b: pairs of rows in the same order less pairs in opposite order, over the pairs that are not tied.

    x, y    : (n,); a row with NaN on either side is left out
    returns : from -1 to 1; NaN for fewer than two rows, or where all values of one side are equal
    raises  : ShapeError if the lengths differ; UnknownValue for infinite values
    source  : Kendall 1948, Rank Correlation Methods, §3.4
    """
    x_values, y_values = _known(x, y)
    x_signs, y_signs = (np.sign(values[:, np.newaxis] - values) for values in (x_values, y_values))
    room = np.sqrt((x_signs**2).sum() * (y_signs**2).sum())
    return float((x_signs * y_signs).sum() / room) if room else float("nan")


def rank_correlation(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    rounds: int = 1000,
    level: float = 0.95,
    clusters: npt.ArrayLike | None = None,
) -> Correlation:
    """`spearman` with a percentile bootstrap interval that resamples rows (instances) and ranks each resample.

    clusters : (n,) integer codes of clusters, which are resampled in place of rows
    raises : as `spearman`; AnalysisError for a bad level or number of rounds
    source : Efron and Tibshirani 1993, An Introduction to the Bootstrap, §13.3
    """
    check_resampling(level, rounds)
    x_values, y_values = _known(x, y)
    n, missing = len(x_values), np.size(x) - len(x_values)
    codes = np.arange(np.size(x)) if clusters is None else code_array("clusters", clusters)
    drawn, row = np.unique(codes[~np.isnan(np.asarray(x) + np.asarray(y))], return_inverse=True)
    if len(drawn) < 2:
        return Correlation(float("nan"), Interval(np.nan, np.nan, level, rounds, undefined=rounds), n, missing)
    values = np.empty(rounds)
    for block, times in drawn_blocks(len(drawn), rounds, rng, width=n):
        values[block] = _of_resamples(x_values, y_values, times[:, row])
    return Correlation(spearman(x_values, y_values), interval_of(values, level), n, missing)


def _known(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    x_values, y_values = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    check_columns(x_values, y_values)
    if np.isinf(x_values).any() or np.isinf(y_values).any():
        raise UnknownValue("cannot correlate infinite values")
    defined = ~np.isnan(x_values) & ~np.isnan(y_values)
    return x_values[defined], y_values[defined]


def _of_resamples(x_values: FloatArray, y_values: FloatArray, times: IntArray) -> FloatArray:
    """Correlation of rows, each repeated `times` (rounds, n). NaN where a side is constant."""
    middle = (times.sum(axis=1, keepdims=True) + 1) / 2  # the mean of mid-ranks
    ranks_x, ranks_y = (_mid_ranks(column, times) - middle for column in (x_values, y_values))
    together = (times * ranks_x * ranks_y).sum(axis=1)
    spread = (times * ranks_x**2).sum(axis=1) * (times * ranks_y**2).sum(axis=1)
    return np.clip(quotient(together, np.sqrt(spread)), -1, 1)


def _mid_ranks(column: FloatArray, times: IntArray) -> FloatArray:
    values, code = np.unique(column, return_inverse=True)
    order = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[order], np.arange(len(values)))
    at_rank = np.add.reduceat(times[:, order], starts, axis=1)
    below_rank = np.cumsum(at_rank, axis=1) - at_rank
    ranks: FloatArray = (below_rank + (at_rank + 1) / 2)[:, code]
    return ranks
