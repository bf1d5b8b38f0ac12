"""Stability of separability when it is estimated from fewer generations or cross pairs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.agreement.rank_correlation import spearman
from analysis.errors import AnalysisError, NotEnough, ShapeError
from analysis.intervals.bootstrap import Interval, cluster_interval, interval_of, mean_sums, ratio
from analysis.similarity.separability import alignments, separability
from analysis.types import FloatArray


@dataclass(frozen=True)
class Stability:
    """Separability from fewer samples compared with that from all.

    change      : mean over instances and draws of |δ of the draw - δ of all|
    correlation : mean over draws of the rank correlation of the two over instances
    """

    change: float
    change_interval: Interval
    correlation: float
    correlation_interval: Interval
    n: int
    missing: int


def subsampled(
    similarities: Sequence[FloatArray],
    k_a: Sequence[int],
    *,
    scale: float,
    draws: int,
    rng: np.random.Generator,
    samples: int | None = None,
    cross_pairs: int | None = None,
) -> FloatArray:
    """Separability of every matchup, re-estimated from random subsamples.

    similarities : one (K, K) matrix a matchup, of all generations, those of A first
    k_a          : how many of them are A's, for each matchup
    scale        : high - low of the normalisation that the full separability used
    samples      : generations of each system in a draw, without replacement; all of them when left out
    cross_pairs  : cross pairs in a draw; all of them when left out
    returns      : (n_matchups, draws), NaN for a matchup with fewer generations or cross pairs than asked for, or a
                   single generation
    raises       : ShapeError if the lists differ in length; AnalysisError for a scale or a number that is not positive
    source       : Ghosh et al. 2024, Compare without Despair, figure 5
    """
    if len(similarities) != len(k_a):
        raise ShapeError(f"need one k_a per matrix, got {len(k_a)} for {len(similarities)}")
    if not (np.isfinite(scale) and scale > 0):
        raise AnalysisError(f"the scale must be above 0, got {scale}")
    if draws < 1 or min(samples or 2, 2) < 2 or (cross_pairs is not None and cross_pairs < 1):
        raise AnalysisError(f"cannot draw {draws} times {samples} samples and {cross_pairs} cross pairs")
    draws_of_matchups = np.full((len(similarities), draws), np.nan)
    for number, (matrix, count) in enumerate(zip(similarities, k_a, strict=True)):
        sizes = (count, len(matrix) - count)
        sample_sizes = sizes if samples is None else (samples, samples)
        if min(sizes) < 2 or sample_sizes[0] > sizes[0] or sample_sizes[1] > sizes[1]:
            continue
        if cross_pairs is not None and cross_pairs > sample_sizes[0] * sample_sizes[1]:
            continue
        drawn_texts = np.concatenate(
            [_sample(sizes[0], sample_sizes[0], draws, rng), count + _sample(sizes[1], sample_sizes[1], draws, rng)],
            axis=1,
        )
        stack = matrix[drawn_texts[:, :, np.newaxis], drawn_texts[:, np.newaxis, :]]
        means = alignments(stack, sample_sizes[0], cross_pairs=cross_pairs, rng=rng)
        draws_of_matchups[number] = separability(means.self_a, means.self_b, means.cross) / scale
    return draws_of_matchups


def stability(
    parts: npt.ArrayLike, full: npt.ArrayLike, *, rng: np.random.Generator, rounds: int = 1000, level: float = 0.95
) -> Stability:
    """Compare estimates from subsamples with the separability from all samples.

    parts   : (n, draws) as `subsampled` gives them
    full    : (n,)
    returns : `Stability`; rows without a value on either side are left out and counted. The interval of the change
              resamples instances; that of the correlation holds the middle of the draws. The draws are subsamples of
              the generations behind `full`, so they are nearer to it than new generations would be
    raises  : ShapeError if the shapes do not fit; NotEnough without a draw
    """
    drawn, all_generations = np.asarray(parts, dtype=np.float64), np.asarray(full, dtype=np.float64)
    if drawn.ndim != 2 or all_generations.shape != drawn.shape[:1]:
        raise ShapeError(f"need (n, draws) and (n,), got {drawn.shape} and {all_generations.shape}")
    if not drawn.shape[1]:
        raise NotEnough("no draw to compare")
    defined = ~np.isnan(drawn).any(axis=1) & ~np.isnan(all_generations)
    drawn, all_generations = drawn[defined], all_generations[defined]
    n, missing = int(defined.sum()), int((~defined).sum())
    changes = np.abs(drawn - all_generations[:, np.newaxis]).mean(axis=1)
    sums = mean_sums(changes, np.arange(n))
    interval = cluster_interval(sums, ratio, rng=rng, rounds=rounds, level=level)
    correlations = np.array([spearman(column, all_generations) for column in drawn.T])
    value = float(correlations.mean()) if n > 1 else float("nan")
    spread = interval_of(correlations, level)
    return Stability(float(ratio(sums.sum(axis=0))), interval, value, spread, n, missing)


def _sample(sizes: int, sample_sizes: int, draws: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """(draws, taken) indices, each row without replacement."""
    order = rng.permuted(np.broadcast_to(np.arange(sizes), (draws, sizes)), axis=1)
    return np.sort(order[:, :sample_sizes], axis=1)
