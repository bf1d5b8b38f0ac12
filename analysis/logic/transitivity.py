"""Transitivity: the share of sets of K items among which preferences form no cycle, exactly or from a sample of the sets.

A set has no cycle if one of its items is preferred by none of the others and the rest has no cycle. For up to 16 items all
2^n sets are decided that way, 64 instances at a time: one bit each.
"""

from collections.abc import Sequence
from itertools import combinations
from math import comb, prod

import numpy as np
import numpy.typing as npt

from analysis.errors import ShapeError, UnknownValue
from analysis.types import BoolArray, FloatArray, IntArray

MAX_EXACT_ITEMS = 16  # of which all sets are decided at once
MAX_SUBSETS = 12870  # those of 8 out of 16, the most of one size
SAMPLED_SUBSETS = 1000  # the paper's M
MAX_SIZE = 62  # items of a set: one bit each in an integer
BITS = 64

Words = npt.NDArray[np.uint64]


def transitivity(
    prefers: npt.ArrayLike,
    k: int,
    *,
    max_subsets: int = MAX_SUBSETS,
    rng: np.random.Generator | None = None,
) -> FloatArray:
    """s_tran(K): share of the sets of k items whose preferences have no cycle.

    prefers     : (..., n, n) bool, [i, j] where i is preferred to j, as of `preference_graph`; a missing preference is no edge, an edge
                  both ways is a cycle, and the diagonal is left out
    k           : items of a set, from 3 to 62
    max_subsets : exact if there are at most so many sets; else over min(1,000, max_subsets) different ones
    rng         : draws these sets, the same for all instances; a generator with seed 0 when left out
    returns     : (...,) in [0, 1]; NaN for fewer than k items
    raises      : ShapeError for what is not square; UnknownValue for another k, or no set to look at
    source      : Liu et al. 2024, Aligning with Logic, eq. 1 and appendix I
    """
    return transitivity_curve(prefers, [k], max_subsets=max_subsets, rng=rng)[..., 0]


def transitivity_curve(
    prefers: npt.ArrayLike,
    sizes: Sequence[int],
    *,
    max_subsets: int = MAX_SUBSETS,
    rng: np.random.Generator | None = None,
) -> FloatArray:
    """`transitivity` for several sizes at the cost of the largest: (..., n_sizes)."""
    edges = _edges(prefers)
    if wrong := [k for k in sizes if not 3 <= k <= MAX_SIZE]:
        raise UnknownValue(f"a set has 3 to {MAX_SIZE} items, got {wrong[0]}")
    if max_subsets < 1:
        raise UnknownValue(f"at least one set must be looked at, got max_subsets = {max_subsets}")
    n, stack = edges.shape[-1], edges.reshape(prod(edges.shape[:-2]), *edges.shape[-2:])
    exact = [k for k in sizes if k <= n and comb(n, k) <= max_subsets]
    counts = acyclic_counts(stack, max(exact)) if exact and n <= MAX_EXACT_ITEMS else None
    draws = np.random.default_rng(0) if rng is None else rng
    columns = []
    for k in sizes:
        if k > n:
            columns.append(np.full(len(stack), np.nan))
        elif counts is not None and k in exact:
            columns.append(counts[:, k] / comb(n, k))
        else:
            subsets = _all_subsets(n, k) if k in exact else _sample(n, k, min(SAMPLED_SUBSETS, max_subsets), draws)
            columns.append(np.array([_acyclic(one, subsets).mean() for one in stack]))
    return np.stack(columns, axis=-1).reshape(*edges.shape[:-2], len(sizes))


def acyclic_counts(prefers: npt.ArrayLike, largest: int) -> IntArray:
    """Number of sets of each size, up to `largest`, without a cycle.

    prefers : (n_instances, n, n) bool with n of at most 16
    returns : (n_instances, largest + 1) by size
    raises  : ShapeError for another shape; UnknownValue for more items
    """
    edges = _edges(prefers)
    if edges.ndim != 3:
        raise ShapeError(f"need (n_instances, n, n) preferences, got shape {edges.shape}")
    if edges.shape[-1] > MAX_EXACT_ITEMS:
        raise UnknownValue(f"exact for at most {MAX_EXACT_ITEMS} items, got {edges.shape[-1]}")
    blocks = [_counts_of_block(edges[start : start + BITS], largest) for start in range(0, len(edges), BITS)]
    return np.concatenate([np.zeros((0, largest + 1), dtype=np.int64), *blocks])


def cyclic_triples(prefers: npt.ArrayLike) -> IntArray:
    """The sets of three items whose preferences form a cycle, as (m, 3) of i, j, k with i preferred to j, j to k and k to i.

    prefers : (n, n) bool; returns each cycle once, its lowest item first, in ascending order
    raises  : ShapeError for another shape
    """
    edges = _edges(prefers)
    if edges.ndim != 2:
        raise ShapeError(f"need (n, n) preferences, got shape {edges.shape}")
    found = [
        np.stack([np.full(len(j), i), j, k], axis=1)
        for i in range(len(edges))
        for j, k in [np.nonzero(edges[i][:, np.newaxis] & edges & edges[:, i])]
    ]
    triples: IntArray = np.concatenate([np.zeros((0, 3), dtype=np.int64), *found])
    return triples[(triples[:, 0] < triples[:, 1]) & (triples[:, 0] < triples[:, 2])]


def _edges(prefers: npt.ArrayLike) -> BoolArray:
    edges = np.asarray(prefers)
    if edges.ndim < 2 or edges.shape[-1] != edges.shape[-2]:
        raise ShapeError(f"need (..., n, n) preferences, got shape {edges.shape}")
    if edges.dtype != np.bool_:
        raise UnknownValue(
            f"preferences are true or false, got {edges.dtype}; `preference_graph` makes them of probabilities"
        )
    return edges & ~np.eye(edges.shape[-1], dtype=bool)


def _counts_of_block(edges: BoolArray, largest: int) -> IntArray:
    """`acyclic_counts` of at most 64 instances."""
    n = edges.shape[-1]
    sets = 1 << n
    preferred_by_none = _preferred_by_none(_packed(edges))
    acyclic: Words = np.zeros(sets, dtype=np.uint64)
    acyclic[0] = ~np.uint64(0)
    members = np.arange(sets)
    size_of = np.bitwise_count(members)
    counts = np.zeros((len(edges), largest + 1), dtype=np.int64)
    counts[:, 0] = 1
    for size in range(1, min(largest, n) + 1):
        level = members[size_of == size]
        for item in range(n):
            with_item = level[(level >> item) & 1 == 1]
            acyclic[with_item] |= preferred_by_none[item, with_item] & acyclic[with_item ^ (1 << item)]
        bits = np.unpackbits(acyclic[level].view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
        counts[:, size] = bits.sum(axis=0, dtype=np.int64)[: len(edges)]
    return counts


def _packed(edges: BoolArray) -> Words:
    """(n, n) words whose bits are the instances."""
    shifts = np.arange(len(edges), dtype=np.uint64)[:, np.newaxis, np.newaxis]
    words: Words = np.bitwise_or.reduce(edges.astype(np.uint64) << shifts, axis=0)
    return words


def _preferred_by_none(edges: Words) -> Words:
    """(n, 2^n) of each item and each set: the instances in which no item of the set is preferred to this one."""
    n = len(edges)
    none: Words = np.full((n, 1 << n), ~np.uint64(0))
    for other in range(n):
        half = 1 << other
        none[:, half : 2 * half] = none[:, :half] & ~edges[other][:, np.newaxis]
    return none


def _acyclic(edges: BoolArray, subsets: IntArray) -> BoolArray:
    """(n_subsets,) whether the preferences of one instance have no cycle among the items of each subset (n_subsets, k)."""
    k = subsets.shape[1]
    bit = np.left_shift(np.int64(1), np.arange(k))
    among = edges[subsets[:, :, np.newaxis], subsets[:, np.newaxis, :]]
    preferred_by = (among * bit[:, np.newaxis]).sum(axis=1)
    left: IntArray = np.full(len(subsets), bit.sum())
    before = np.zeros_like(left)
    while (left != before).any():  # takes away what none of the rest is preferred to
        before, left = left, ((preferred_by & left[:, np.newaxis] != 0) * bit).sum(axis=1) & left
    done: BoolArray = left == 0
    return done


def _all_subsets(n: int, k: int) -> IntArray:
    return np.array(list(combinations(range(n), k)), dtype=np.int64)


def _sample(n: int, k: int, size: int, rng: np.random.Generator) -> IntArray:
    """Draw `size` different subsets, or take all if there are not more: (size, k), each ascending."""
    if comb(n, k) <= 2 * size:
        everything = _all_subsets(n, k)
        return everything[np.sort(rng.permutation(len(everything))[:size])]
    found: dict[tuple[int, ...], None] = {}

    while len(found) < size:
        drawn = np.sort(np.argsort(rng.random((size, n)), axis=1)[:, :k], axis=1)
        found |= dict.fromkeys(map(tuple, drawn.tolist()))
    return np.array(list(found)[:size], dtype=np.int64)
