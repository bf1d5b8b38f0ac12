"""Percentile intervals that resample whole clusters: instances, since ratings of one are not independent.

A measure comes in as sums that add up over clusters and a statistic of their total, so that a round is one
row of a matrix product and never a pass over the ratings.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.errors import AnalysisError, ShapeError, UnknownValue
from analysis.grouping import groups
from analysis.types import FloatArray, IntArray, check_columns, check_level, code_array

BLOCK_CELLS = 2**20  # most cluster counts drawn at a time: 8 MiB
Statistic = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Interval:
    """A bootstrap interval of the rounds with a value. NaN bounds mean that there is none."""

    low: float
    high: float
    level: float
    rounds: int
    undefined: int


def cluster_sums(values_per_row: npt.ArrayLike, cluster_codes: npt.ArrayLike) -> FloatArray:
    """Sum the rows of each cluster.

    values_per_row : (n_rows, ...)  additive values, such as the per-unit sums of `analysis.agreement.coefficients`
    cluster_codes  : (n_rows,)      integer code of the cluster that a row belongs to
    returns        : (n_clusters, ...) in ascending order of the codes
    raises         : ShapeError if the lengths differ; UnknownValue for NaN, which one row would spread to its
                     whole cluster (`mean_sums` leaves NaN out); UnknownValue for codes that are not integers
    """
    rows = np.asarray(values_per_row, dtype=np.float64)
    codes = code_array("cluster_codes", cluster_codes)
    if codes.ndim != 1 or rows.shape[:1] != codes.shape:
        raise ShapeError(f"need one cluster code per row, got {codes.shape} codes for {rows.shape} values")
    if np.isnan(rows).any():
        raise UnknownValue(f"{np.isnan(rows).sum()} values to be summed are NaN")
    clusters, index = groups(codes)
    n_clusters = len(clusters)
    flat = rows.reshape(len(rows), math.prod(rows.shape[1:]))
    sums = np.zeros((n_clusters, flat.shape[1]))
    for column, values in enumerate(flat.T):
        sums[:, column] = np.bincount(index, weights=values, minlength=n_clusters)
    return sums.reshape(n_clusters, *rows.shape[1:])


def mean_sums(values: npt.ArrayLike, cluster_codes: npt.ArrayLike, weight: npt.ArrayLike | None = None) -> FloatArray:
    """Sums for `ratio`, which gives the mean of the values. NaN is left out of both.

    values  : (n_rows,); weight : (n_rows,), ones when left out
    returns : (n_clusters, 2) of weighted sum and total weight
    raises  : ShapeError, UnknownValue as for `cluster_sums`
    """
    return cluster_sums(mean_rows(values, weight), cluster_codes)


def mean_rows(values: npt.ArrayLike, weight: npt.ArrayLike | None = None) -> FloatArray:
    """Return `mean_sums` before they are summed, row by row: (n_rows, 2).

    raises : ShapeError if the lengths differ
    """
    numbers = np.asarray(values, dtype=np.float64)
    weights = np.ones(numbers.shape) if weight is None else np.asarray(weight, dtype=np.float64)
    check_columns(numbers, weights)
    rows = np.stack([numbers * weights, weights], axis=1)
    rows[np.isnan(numbers)] = 0.0
    return rows


def ratio(sums: FloatArray) -> FloatArray:
    """Statistic for sums of numerator and denominator.

    sums    : (..., 2)
    returns : (...,), NaN where the denominator is 0
    raises  : ShapeError if the last axis is not 2
    """
    pairs = np.asarray(sums, dtype=np.float64)
    if pairs.shape[-1:] != (2,):
        raise ShapeError(f"need numerator and denominator on the last axis, got shape {pairs.shape}")
    return quotient(pairs[..., 0], pairs[..., 1])


def quotient(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> FloatArray:
    """Divide element by element, with NaN where the denominator is 0. It may be broadcast to the numerator's shape."""
    undefined = np.full(np.shape(numerator), np.nan)
    share: FloatArray = np.divide(numerator, denominator, out=undefined, where=np.not_equal(denominator, 0))[()]
    return share


def counted_rows(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> FloatArray:
    """Return rows for `ratio`, (n, 2). What isn't in the denominator isn't in the numerator either.

    numerator, denominator : (..., n) numbers, or whether a row counts in each
    """
    counts, totals = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    return np.stack([np.where(totals > 0, counts, 0.0), totals], axis=-1)


def cluster_interval(
    sums: npt.ArrayLike,
    statistic: Statistic,
    *,
    rng: np.random.Generator,
    rounds: int = 1000,
    level: float = 0.95,
) -> Interval:
    """Percentile bootstrap interval of a statistic of summed clusters.

    sums      : (n_clusters, ...)  one row per cluster; the estimate itself is statistic(sums.sum(axis=0))
    statistic : total sums (rounds, ...) to values (rounds,), NaN where undefined
    rounds    : resamples; each draws n_clusters clusters with replacement
    level     : share of the rounds inside the interval, strictly between 0 and 1
    returns   : `Interval`; bounds are NaN for fewer than two clusters or when no round has a value
    raises    : ShapeError if the statistic does not return one value per round; AnalysisError for a bad level
                or number of rounds, or sums that are not finite
    source    : Efron and Tibshirani 1993, An Introduction to the Bootstrap, §13.3, with clusters as units
    """

    def one(totals: FloatArray) -> FloatArray:
        values = np.asarray(statistic(totals), dtype=np.float64)
        if values.shape != totals.shape[:1]:
            raise ShapeError(f"the statistic must return shape {totals.shape[:1]}, got {values.shape}")
        return values[:, np.newaxis]

    (interval,) = cluster_intervals(sums, one, 1, rng=rng, rounds=rounds, level=level)
    return interval


def cluster_intervals(
    sums: npt.ArrayLike,
    statistic: Statistic,
    n_measures: int,
    *,
    rng: np.random.Generator,
    rounds: int = 1000,
    level: float = 0.95,
) -> tuple[Interval, ...]:
    """Percentile bootstrap intervals of several measures on the same resamples, which are drawn once for all.

    sums      : (n_clusters, ...)  one row per cluster
    statistic : total sums (rounds, ...) to values (rounds, n_measures), NaN where undefined
    returns   : one `Interval` a measure, as `cluster_interval` gives it
    raises    : ShapeError if the statistic does not return n_measures values per round; AnalysisError for a bad level
                or number of rounds, or sums that are not finite
    """
    table = np.asarray(sums, dtype=np.float64)
    check_resampling(level, rounds)
    if table.ndim < 1 or not np.isfinite(table).all():
        raise AnalysisError(f"need finite sums of shape (n_clusters, ...), got shape {table.shape}")
    if len(table) < 2:
        return (Interval(np.nan, np.nan, level, rounds, undefined=rounds),) * n_measures
    values = _resampled(table, statistic, n_measures, rng, rounds)
    return tuple(interval_of(column, level) for column in values.T)


def median_interval(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    rounds: int = 1000,
    level: float = 0.95,
) -> Interval:
    """Percentile bootstrap interval of the median of values, resampling clusters. NaN values are left out.

    values   : (n,); clusters : (n,) codes
    returns  : `Interval`; bounds are NaN for fewer than two clusters
    raises   : ShapeError if the lengths differ; UnknownValue for codes that are not integers; AnalysisError for a bad
               level or number of rounds
    source   : Efron and Tibshirani 1993, An Introduction to the Bootstrap, §13.3, with clusters as units
    """
    medians = _resampled_medians([_ascending(values, clusters)], rng, rounds, level)
    return interval_of(medians[:, 0], level)


def median_difference_interval(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike,
    control_values: npt.ArrayLike,
    control_clusters: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    rounds: int = 1000,
    level: float = 0.95,
) -> Interval:
    """Percentile bootstrap interval of a median less that of a control. A round draws a cluster for both or neither.

    values, control_values     : (n,) and (m,); NaN values are left out
    clusters, control_clusters : (n,) and (m,) codes, of the same clusters
    returns                    : `Interval`; a round that holds no value of one of them is undefined; bounds are NaN for
                                 fewer than two clusters with a value in either
    raises                     : as `median_interval`
    source                     : Efron and Tibshirani 1993, An Introduction to the Bootstrap, §13.3, with clusters as
                                 units
    """
    sides = [_ascending(values, clusters), _ascending(control_values, control_clusters)]
    medians = _resampled_medians(sides, rng, rounds, level)
    return interval_of(medians[:, 0] - medians[:, 1], level)


def interval_of(values: FloatArray, level: float) -> Interval:
    """Percentile interval of the values of all rounds. Rounds without a finite value are undefined."""
    defined = values[np.isfinite(values)]
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2]) if defined.size else (np.nan, np.nan)
    return Interval(float(low), float(high), level, len(values), undefined=len(values) - defined.size)


def _resampled(
    table: FloatArray, statistic: Statistic, n_measures: int, rng: np.random.Generator, rounds: int
) -> FloatArray:
    flat = table.reshape(len(table), -1)
    values = np.empty((rounds, n_measures))
    for block, times in drawn_blocks(len(table), rounds, rng):
        totals = (times @ flat).reshape(len(times), *table.shape[1:])
        measured = np.asarray(statistic(totals), dtype=np.float64)
        if measured.shape != (len(times), n_measures):
            raise ShapeError(f"the statistic must return shape ({len(times)}, {n_measures}), got {measured.shape}")
        values[block] = measured
    return values


def check_resampling(level: float, rounds: int) -> None:
    """Raise AnalysisError for a level outside (0, 1), or fewer than one round."""
    check_level(level)
    if rounds < 1:
        raise AnalysisError(f"need at least one round, got {rounds}")


def drawn_blocks(
    n: int, rounds: int, rng: np.random.Generator, *, width: int | None = None
) -> Iterator[tuple[slice, IntArray]]:
    """Yield rounds of a bootstrap in blocks that fit the memory, and how often each round draws each cluster.

    n       : clusters
    width   : numbers that the caller holds for each round; as many as clusters when left out
    returns : of each block the slice of its rounds, and `draw_counts` of these
    """
    step = max(1, BLOCK_CELLS // (width or n))
    for start in range(0, rounds, step):
        block = slice(start, min(start + step, rounds))
        yield block, draw_counts(n, block.stop - start, rng)


def draw_counts(n: int, rounds: int, rng: np.random.Generator) -> IntArray:
    """(rounds, n) how often each cluster is drawn, when n of n are with replacement: a multinomial draw, only faster."""
    drawn = rng.integers(n, size=(rounds, n)) + np.arange(rounds)[:, np.newaxis] * n
    counts: IntArray = np.bincount(drawn.ravel(), minlength=rounds * n).reshape(rounds, n)
    return counts


def _ascending(values: npt.ArrayLike, clusters: npt.ArrayLike) -> tuple[FloatArray, IntArray]:
    """Values in ascending order without those that are NaN, and the cluster of each."""
    numbers, codes = np.asarray(values, dtype=np.float64), code_array("clusters", clusters)
    check_columns(numbers, codes)
    defined = ~np.isnan(numbers)
    order = np.argsort(numbers[defined], kind="stable")
    return numbers[defined][order], codes[defined][order]


def _resampled_medians(
    sides: Sequence[tuple[FloatArray, IntArray]], rng: np.random.Generator, rounds: int, level: float
) -> FloatArray:
    """(rounds, n_sides) medians of each side, whose clusters are drawn for all sides at once."""
    check_resampling(level, rounds)
    medians = np.full((rounds, len(sides)), np.nan)
    clusters, index = np.unique(np.concatenate([codes for _, codes in sides]), return_inverse=True)
    if len(clusters) < 2:
        return medians
    of_side = np.split(index, np.cumsum([len(codes) for _, codes in sides])[:-1])
    for block, times in drawn_blocks(len(clusters), rounds, rng, width=len(index)):
        for column, ((ordered, _), members) in enumerate(zip(sides, of_side, strict=True)):
            medians[block, column] = _medians(ordered, times[:, members])
    return medians


def _medians(ordered: FloatArray, times: IntArray) -> FloatArray:
    """Medians of ascending values, each repeated `times` (rounds, n). NaN where none occurs."""
    if not ordered.size:
        return np.full(len(times), np.nan)
    cumulative = np.cumsum(times, axis=1)
    half = cumulative[:, -1:] / 2
    lower, upper = (cumulative >= half).argmax(axis=1), (cumulative > half).argmax(axis=1)
    return np.where(cumulative[:, -1] > 0, (ordered[lower] + ordered[upper]) / 2, np.nan)
