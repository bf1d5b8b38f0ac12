"""Designs over several systems: which pairs of systems are compared on which instances.

A pair of systems is a row of `pairs`, an (n_pairs, 2) array of codes; a design is an (n_instances, n_pairs) boolean array.
"""

import numpy as np
import numpy.typing as npt

from analysis.errors import NotEnough, ShapeError, UnknownValue
from analysis.types import BoolArray, IntArray


def balanced_design(
    available: npt.ArrayLike, pairs: npt.ArrayLike, per_instance: int, rng: np.random.Generator
) -> BoolArray:
    """Choose some pairs of systems for each instance, so that all are used equally often: a balanced incomplete design.

    Instances come in a random order. Each takes the pairs used least so far; among these first the ones that connect systems that
    no pair connects yet, then those whose systems were used least, then at random.

    available    : (n_instances, n_pairs) whether an instance has texts of a pair's systems
    pairs        : (n_pairs, 2) codes of systems
    per_instance : pairs of systems on each instance; an instance with fewer takes those that it has
    returns      : (n_instances, n_pairs). Where every instance has every pair, numbers of uses differ by 1 at most, and the
                   design connects all systems as soon as it has one pair fewer than systems
    raises       : NotEnough for fewer than one pair on an instance; ShapeError, UnknownValue as `checked_pairs`
    source       : after David 1988, The Method of Paired Comparisons, §5.2 (incomplete designs balanced over pairs)
    """
    has, ends = checked_pairs(available, pairs)
    if per_instance < 1:
        raise NotEnough(f"an instance needs at least one pair of systems, got {per_instance}")
    design = np.zeros_like(has)
    used, of_system = np.zeros(len(ends), dtype=np.int64), np.zeros(int(ends.max(initial=-1)) + 1, dtype=np.int64)
    component = np.arange(len(of_system))
    for row in rng.permutation(len(has)).tolist():
        for _ in range(min(per_instance, int(has[row].sum()))):
            free = np.flatnonzero(has[row] & ~design[row])
            first, second = ends[free].T
            keys = (
                rng.random(len(free)),
                of_system[first] + of_system[second],
                component[first] == component[second],
                used[free],
            )
            pair = free[np.lexsort(keys)[0]]  # the last key is the first to sort by
            design[row, pair] = True
            used[pair] += 1
            of_system[ends[pair]] += 1
            component[component == component[ends[pair, 1]]] = component[ends[pair, 0]]
    return design


def neighbour_design(available: npt.ArrayLike, pairs: npt.ArrayLike, order: npt.ArrayLike) -> BoolArray:
    """Pair neighbours of a ranking: ranks 1–2, 3–4 and so on, and on every other instance 2–3, 4–5 and so on.

    A round of the Swiss system on many instances at once: no system stands twice on an instance, and every two neighbours meet on
    half of the instances.

    available, pairs : as for `balanced_design`
    order   : (n_systems,) codes of the systems, the best first
    returns : (n_instances, n_pairs); an instance lacks the pairs that it has no texts of
    raises  : ShapeError, UnknownValue as `checked_pairs`; UnknownValue for an order that is none of the systems of the pairs
    source  : after Csató 2013, Ranking by pairwise comparisons for Swiss-system tournaments
    """
    has, ends = checked_pairs(available, pairs)
    ranked = np.asarray(order, dtype=np.int64)
    if not np.array_equal(np.sort(ranked), np.unique(ends)):
        raise UnknownValue(f"an order has each system of the pairs once, got {ranked.tolist()}")
    rank_of = np.empty(len(ranked), dtype=np.int64)
    rank_of[ranked] = np.arange(len(ranked))
    between = rank_of[ends]
    adjacent, upper = np.abs(between[:, 0] - between[:, 1]) == 1, between.min(axis=1)
    design: BoolArray = has & adjacent & (upper % 2 == np.arange(len(has))[:, np.newaxis] % 2)
    alone = ~design.any(axis=1)  # of two systems the second kind of round has no pair
    design[alone] = has[alone] & adjacent & (upper % 2 != np.flatnonzero(alone)[:, np.newaxis] % 2)
    return design


def checked_pairs(available: npt.ArrayLike, pairs: npt.ArrayLike) -> tuple[BoolArray, IntArray]:
    """Check the columns of a design.

    raises : ShapeError where their shapes don't fit; UnknownValue for a negative code, a system beside itself, or a pair twice
    """
    has, ends = np.asarray(available, dtype=bool), np.asarray(pairs, dtype=np.int64)
    if has.ndim != 2 or ends.shape != (has.shape[1], 2):
        raise ShapeError(f"need (n_instances, n_pairs) and (n_pairs, 2), got {has.shape} and {ends.shape}")
    if ends.min(initial=0) < 0 or (ends[:, 0] == ends[:, 1]).any():
        raise UnknownValue("a pair has two systems, with codes from 0")
    if len(np.unique(np.sort(ends, axis=1), axis=0)) < len(ends):
        raise UnknownValue("a pair of systems stands twice among the pairs")
    return has, ends


def settled_places(rank_low: npt.ArrayLike, rank_high: npt.ArrayLike) -> int:
    """Return the number of settled places from the first on: one system's range of ranks is that place alone.

    rank_low, rank_high : (n_systems,) ranges of ranks; 0 for a system without a rank
    """
    low, high = np.asarray(rank_low), np.asarray(rank_high)
    sure = set(low[(low == high) & (low > 0)].tolist())
    return next((rank for rank in range(len(low)) if rank + 1 not in sure), len(low))
