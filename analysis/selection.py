"""Choosing instances for a study, with or without regard to their separability."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from analysis.bins import assign, equal_width_edges
from analysis.errors import NotEnough, ShapeError, UnknownValue
from analysis.types import FloatArray, IntArray

LEAST_WEIGHT = 0.05  # so that an instance that can hardly be told apart still has a chance
CERTAIN = 1 - 1e-12


class Sample(NamedTuple):
    """Chosen positions and the probability with which each was to be chosen."""

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
    """Positions of the n greatest values, greatest first; of equal values the earlier comes first.

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
    held = np.bincount(index[index >= 0], minlength=len(edges) - 1)
    if per_bin < 0 or (held < per_bin).any():
        short = {f"[{edges[k]:g}, {edges[k + 1]:g}]": int(held[k]) for k in np.flatnonzero(held < per_bin)}
        raise NotEnough(f"asked for {per_bin} from each bin; too few in {short}")
    members = [np.flatnonzero(index == k) for k in range(len(held))]
    chosen = [np.sort(rng.choice(items, per_bin, replace=False)) for items in members]
    chances = np.repeat(per_bin / np.maximum(held, 1), per_bin)
    return Sample(np.concatenate(chosen).astype(np.int64), chances)


def inclusion_probabilities(values: npt.ArrayLike, n: int) -> FloatArray:
    """Chances of being among n chosen, in proportion to w = max(value, 0.05) and at most 1.

    values  : (n_items,) separability; NaN has no chance
    returns : (n_items,) summing to n. Where n w / sum(w) reaches 1 the item is certain; the other chances are
              then worked out again for the places left, until none exceeds 1, so that they never sum to less
    raises  : NotEnough if fewer than n values are there; UnknownValue for an infinite one; ShapeError unless
              1-D
    source  : Särndal, Swensson and Wretman 1992, Model Assisted Survey Sampling, §3.6.1
    """
    scores = _column(values)
    open_ = ~np.isnan(scores)
    if np.isinf(scores).any():
        raise UnknownValue(f"{np.isinf(scores).sum()} values are infinite")
    _refuse_too_many(n, int(open_.sum()), "items that have a value")
    weight = np.maximum(scores, LEAST_WEIGHT)
    chances = np.zeros(len(scores))
    places = n
    while places and open_.any():
        share = places * weight[open_] / weight[open_].sum()
        chances[open_] = np.minimum(share, 1)
        certain = np.flatnonzero(open_)[share >= CERTAIN]
        if not certain.size:
            break
        chances[certain] = 1
        open_[certain] = False
        places -= certain.size
    return chances


def choose_importance(values: npt.ArrayLike, n: int, rng: np.random.Generator) -> Sample:
    """Draw n positions systematically, in the order given, with the chances of `inclusion_probabilities`.

    values  : (n_items,) separability; NaN is never chosen
    returns : `Sample`, ascending; `weighting.weighted_back` makes estimates over all items of it
    raises  : as for `inclusion_probabilities`
    source  : Madow 1949, On the theory of systematic sampling, II
    """
    chances = inclusion_probabilities(values, n)
    certain = np.flatnonzero(chances >= CERTAIN)
    maybe = np.flatnonzero((chances > 0) & (chances < CERTAIN))
    places = n - certain.size
    drawn = np.empty(0, dtype=np.int64)
    if places:
        ends = np.cumsum(chances[maybe])
        ends[-1] = places  # rounding must not leave the last tick without an item
        drawn = maybe[np.searchsorted(ends, rng.random() + np.arange(places), side="right")]
    indices = np.sort(np.concatenate([certain, drawn])).astype(np.int64)
    return Sample(indices, chances[indices])


def _column(values: npt.ArrayLike) -> FloatArray:
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1:
        raise ShapeError(f"need one value per item, got shape {column.shape}")
    return column


def _refuse_too_many(n: int, available: int, what: str) -> None:
    if not 0 <= n <= available:
        raise NotEnough(f"cannot choose {n} of {available} {what}")
