"""Sampling of instances, at random or by separability."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from analysis.errors import NotEnough, ShapeError, UnknownValue
from analysis.grouping import assign, equal_width_edges
from analysis.types import FloatArray, IntArray

MIN_WEIGHT = 0.05  # so that every instance has a positive inclusion probability
CERTAIN = 1 - 1e-12


class Sample(NamedTuple):
    """Selected positions and their inclusion probabilities."""

    indices: IntArray
    probabilities: FloatArray


def choose_random(n_items: int, n: int, rng: np.random.Generator) -> IntArray:
    """Choose n of n_items positions, each set of them equally likely.

    returns : (n,) ascending
    raises  : NotEnough if n is more than n_items, or negative
    """
    _refuse_too_many(n, n_items, "items")
    return np.sort(rng.choice(n_items, size=n, replace=False)).astype(np.int64)


def choose_top(values: npt.ArrayLike, n: int) -> IntArray:
    """Positions of the n greatest values, greatest first. Of equal values the earlier comes first.

    values  : (n_items,); NaN is never chosen
    returns : (n,)
    raises  : NotEnough if fewer than n values are there; ShapeError unless 1-D
    """
    scores = _column(values)
    _refuse_too_many(n, int((~np.isnan(scores)).sum()), "items that have a value")
    return np.argsort(-scores, kind="stable")[:n].astype(np.int64)


def choose_stratified(
    values: npt.ArrayLike, bins: int | npt.ArrayLike, per_bin: int, rng: np.random.Generator
) -> Sample:
    """The same number of positions from every bin, at random within it.

    values  : (n_items,); NaN and values outside the edges are never chosen
    bins    : a number of equal-width bins over the values, or their edges as for `bins.assign`
    returns : `Sample` of n_bins * per_bin, bin after bin, ascending within each; the chance is per_bin / held, where the
              bin holds so many
    raises  : NotEnough naming every bin that holds too few
    source  : Särndal, Swensson and Wretman 1992, Model Assisted Survey Sampling, §3.7
    """
    scores = _column(values)
    edges = equal_width_edges(scores, int(bins)) if isinstance(bins, (int, np.integer)) else np.asarray(bins)
    index = assign(scores, edges)
    counts = np.bincount(index[index >= 0], minlength=len(edges) - 1)
    if per_bin < 0 or (counts < per_bin).any():
        short = [f"[{edges[k]:g}, {edges[k + 1]:g}]: {counts[k]}" for k in np.flatnonzero(counts < per_bin)]
        raise NotEnough(f"asked for {per_bin} from each bin; too few in {', '.join(short)}")
    members = [np.flatnonzero(index == k) for k in range(len(counts))]
    drawn = [np.sort(rng.choice(items, per_bin, replace=False)) for items in members]
    probabilities = np.repeat(per_bin / np.maximum(counts, 1), per_bin)
    return Sample(np.concatenate(drawn).astype(np.int64), probabilities)


def inclusion_probabilities(values: npt.ArrayLike, n: int) -> FloatArray:
    """Inclusion probabilities for n draws, in proportion to w = max(value, 0.05) and at most 1.

    values  : (n_items,) separability; NaN has probability 0
    returns : (n_items,) summing to n. Where n w / sum(w) reaches 1 the item is certain; the other probabilities are
              then computed again for the remaining draws, until none exceeds 1, so that they sum to n
    raises  : NotEnough if fewer than n values are there; UnknownValue for an infinite one; ShapeError unless
              1-D
    source  : Särndal, Swensson and Wretman 1992, Model Assisted Survey Sampling, §3.6.1
    """
    scores = _column(values)
    undecided = ~np.isnan(scores)
    if np.isinf(scores).any():
        raise UnknownValue(f"{np.isinf(scores).sum()} values are infinite")
    _refuse_too_many(n, int(undecided.sum()), "items that have a value")
    weight = np.maximum(scores, MIN_WEIGHT)
    probabilities = np.zeros(len(scores))
    remaining = n
    while remaining and undecided.any():
        share = remaining * weight[undecided] / weight[undecided].sum()
        probabilities[undecided] = np.minimum(share, 1)
        certain = np.flatnonzero(undecided)[share >= CERTAIN]
        if not certain.size:
            break
        probabilities[certain] = 1
        undecided[certain] = False
        remaining -= certain.size
    return probabilities


def choose_importance(values: npt.ArrayLike, n: int, rng: np.random.Generator) -> Sample:
    """Draw n positions systematically, in the order given, with the probabilities of `inclusion_probabilities`.

    values  : (n_items,) separability; NaN is never chosen
    returns : `Sample`, ascending; `weighting.weighted_back` makes estimates over all items of it
    raises  : as for `inclusion_probabilities`
    source  : Madow 1949, On the theory of systematic sampling, II
    """
    probabilities = inclusion_probabilities(values, n)
    certain = np.flatnonzero(probabilities >= CERTAIN)
    maybe = np.flatnonzero((probabilities > 0) & (probabilities < CERTAIN))
    remaining = n - certain.size
    drawn = np.empty(0, dtype=np.int64)
    if remaining:
        ends = np.cumsum(probabilities[maybe])
        ends[-1] = remaining  # rounding must not leave the last tick without an item
        drawn = maybe[np.searchsorted(ends, rng.random() + np.arange(remaining), side="right")]
    indices = np.sort(np.concatenate([certain, drawn])).astype(np.int64)
    return Sample(indices, probabilities[indices])


def _column(values: npt.ArrayLike) -> FloatArray:
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1:
        raise ShapeError(f"need one value per item, got shape {column.shape}")
    return column


def _refuse_too_many(n: int, available: int, noun: str) -> None:
    if not 0 <= n <= available:
        raise NotEnough(f"cannot choose {n} of {available} {noun}")
