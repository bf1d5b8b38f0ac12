"""Transitivity: the share of sets of K items among which preferences form no cycle, exactly or from a sample of the sets.

A set is complete if each two of its items have a preference. On sparse data hardly any set is: then the share over all sets is
near 1 for any rater, and `complete_set_sums` is what tells raters apart. A set has no cycle if one of its items is preferred by none of the others and the rest has no cycle. For up to 16 items all
2^n sets are decided that way, 64 instances at a time: one bit each.
"""

from collections.abc import Sequence
from itertools import combinations
from math import comb, factorial, prod

import numpy as np
import numpy.typing as npt

from analysis.errors import ShapeError, UnknownValue
from analysis.types import BoolArray, FloatArray, IntArray

MAX_EXACT_ITEMS = 16  # of which all sets are decided at once
MAX_SUBSETS = 12870  # those of 8 out of 16, the most of one size
SAMPLED_SUBSETS = 1000  # the paper's M
MAX_SIZE = 62  # items of a set: one bit each in an integer
MAX_PARTIAL_SETS = 50_000  # to build larger complete sets from; beyond it sets are drawn
MAX_DRAWS = 100  # of so many sets at a time as are wanted
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
    _check_sizes(sizes)
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
            columns.append(np.array([_acyclic(graph, subsets).mean() for graph in stack]))
    return np.stack(columns, axis=-1).reshape(*edges.shape[:-2], len(sizes))


def complete_set_sums(prefers: npt.ArrayLike, sizes: Sequence[int]) -> FloatArray:
    """Complete sets without a cycle, and complete sets, for `ratio`.

    All complete sets up to 12,870 in an instance count, and all of three; of more, 1,000 are drawn with seed 0.

    prefers : (..., n, n) bool as for `transitivity`, without an edge both ways. A set is complete if each two of its items
              have an edge: a pair that was not compared has none, and neither has a tie
    sizes   : items of a set, each from 3 to 62
    returns : (..., n_sizes, 2)
    raises  : as `transitivity`; UnknownValue for an edge both ways
    source  : Liu et al. 2024, Aligning with Logic, eq. 1, which is about items that were all compared
    """
    edges = _edges(prefers)
    _check_sizes(sizes)
    if (edges & np.swapaxes(edges, -1, -2)).any():
        raise UnknownValue("of two items at most one is preferred")
    n, draws = edges.shape[-1], np.random.default_rng(0)
    stack = edges.reshape(prod(edges.shape[:-2]), n, n)
    linked = stack | np.swapaxes(stack, -1, -2)
    sums = np.zeros((len(stack), len(sizes), 2))
    by_bits = [k for k in sizes if k <= n <= MAX_EXACT_ITEMS]
    if by_bits:
        acyclic = acyclic_counts(stack, max(by_bits), linked=linked)
        complete = acyclic_counts(np.zeros_like(stack), max(by_bits), linked=linked)
    for column, k in enumerate(sizes):
        if k in by_bits:
            sums[:, column] = np.stack([acyclic[:, k], complete[:, k]], axis=1)
        elif k <= n:
            sums[:, column] = [_complete_sums(*graphs, k, draws) for graphs in zip(stack, linked, strict=True)]
    return sums.reshape(*edges.shape[:-2], len(sizes), 2)


def coin_transitivity(k: int) -> float:
    """Return the share of complete sets of k items that have no cycle if a coin answers: k! of 2^(k (k - 1) / 2) graphs."""
    return factorial(k) / (1 << comb(k, 2))


def acyclic_counts(prefers: npt.ArrayLike, largest: int, *, linked: npt.ArrayLike | None = None) -> IntArray:
    """Number of sets of each size, up to `largest`, without a cycle.

    prefers : (n_instances, n, n) bool with n of at most 16
    linked  : of the same shape, symmetric; only sets of which all pairs are linked count. All sets when left out
    returns : (n_instances, largest + 1) by size
    raises  : ShapeError for another shape; UnknownValue for more items
    """
    edges = _edges(prefers)
    if edges.ndim != 3:
        raise ShapeError(f"need (n_instances, n, n) preferences, got shape {edges.shape}")
    if edges.shape[-1] > MAX_EXACT_ITEMS:
        raise UnknownValue(f"exact for at most {MAX_EXACT_ITEMS} items, got {edges.shape[-1]}")
    missing = np.zeros_like(edges) if linked is None else ~np.asarray(linked, dtype=bool)
    starts = range(0, len(edges), BITS)
    blocks = [_counts_of_block(edges[start : start + BITS], missing[start : start + BITS], largest) for start in starts]
    return np.concatenate([np.zeros((0, largest + 1), dtype=np.int64), *blocks])


def cyclic_triples(prefers: npt.ArrayLike) -> IntArray:
    """(m, 3) triples of items with a cycle: i is preferred to j, j to k and k to i.

    prefers : (n, n) bool; returns each cycle once, its lowest item first, in ascending order
    raises  : ShapeError for another shape
    """
    edges = _edges(prefers)
    if edges.ndim != 2:
        raise ShapeError(f"need (n, n) preferences, got shape {edges.shape}")
    triples_by_item = [
        np.stack([np.full(len(j), i), j, k], axis=1)
        for i in range(len(edges))
        for j, k in [np.nonzero(edges[i][:, np.newaxis] & edges & edges[:, i])]
    ]
    triples: IntArray = np.concatenate([np.zeros((0, 3), dtype=np.int64), *triples_by_item])
    return triples[(triples[:, 0] < triples[:, 1]) & (triples[:, 0] < triples[:, 2])]


def _check_sizes(sizes: Sequence[int]) -> None:
    if wrong := [k for k in sizes if not 3 <= k <= MAX_SIZE]:
        raise UnknownValue(f"a set has 3 to {MAX_SIZE} items, got {wrong[0]}")


def _edges(prefers: npt.ArrayLike) -> BoolArray:
    edges = np.asarray(prefers)
    if edges.ndim < 2 or edges.shape[-1] != edges.shape[-2]:
        raise ShapeError(f"need (..., n, n) preferences, got shape {edges.shape}")
    if edges.dtype != np.bool_:
        raise UnknownValue(
            f"preferences are true or false, got {edges.dtype}; `preference_graph` makes them of probabilities"
        )
    return edges & ~np.eye(edges.shape[-1], dtype=bool)


def _complete_sums(edges: BoolArray, linked: BoolArray, k: int, draws: np.random.Generator) -> tuple[int, int]:
    """Complete sets of k items without a cycle, and complete sets, of one instance."""
    if k == 3:
        complete = int(np.trace(np.linalg.matrix_power(linked.astype(np.int64), 3))) // 6
        return complete - len(cyclic_triples(edges)), complete
    sets = _complete_sets(linked, k, draws)
    return int(_acyclic(edges, sets).sum()), len(sets)


def _complete_sets(linked: BoolArray, k: int, draws: np.random.Generator) -> IntArray:
    """(n_sets, k) sets of which all pairs are linked: all, or 1,000 drawn from them."""
    sets = np.argwhere(np.triu(linked, 1))
    while 0 < len(sets) <= MAX_PARTIAL_SETS and sets.shape[1] < k:  # each by a later item that is linked with all
        follows = np.arange(len(linked)) > sets[:, -1:]
        row, item = np.nonzero(linked[sets].all(axis=1) & follows)
        sets = np.column_stack([sets[row], item])
    if not len(sets):
        return np.zeros((0, k), dtype=np.int64)
    if sets.shape[1] == k:
        return sets if len(sets) <= MAX_SUBSETS else sets[np.sort(draws.permutation(len(sets))[:SAMPLED_SUBSETS])]
    complete: dict[tuple[int, ...], None] = {}
    for _ in range(MAX_DRAWS):
        drawn = _sample(len(linked), k, SAMPLED_SUBSETS, draws)
        pairs = linked[drawn[:, :, np.newaxis], drawn[:, np.newaxis, :]] | np.eye(k, dtype=bool)
        complete |= dict.fromkeys(map(tuple, drawn[pairs.all(axis=(1, 2))].tolist()))
        if len(complete) >= SAMPLED_SUBSETS:
            break
    return np.array(list(complete)[:SAMPLED_SUBSETS], dtype=np.int64).reshape(-1, k)


def _counts_of_block(edges: BoolArray, missing: BoolArray, largest: int) -> IntArray:
    """`acyclic_counts` of at most 64 instances."""
    n = edges.shape[-1]
    sets = 1 << n
    preferred_by_none = _preferred_by_none(_packed(edges))
    acyclic: Words = np.zeros(sets, dtype=np.uint64)
    acyclic[0] = ~np.uint64(0)
    complete = _complete_words(_packed(missing)) if missing.any() else None
    members = np.arange(sets)
    size_of = np.bitwise_count(members)
    counts = np.zeros((len(edges), largest + 1), dtype=np.int64)
    counts[:, 0] = 1
    for size in range(1, min(largest, n) + 1):
        level = members[size_of == size]
        for item in range(n):
            with_item = level[(level >> item) & 1 == 1]
            acyclic[with_item] |= preferred_by_none[item, with_item] & acyclic[with_item ^ (1 << item)]
        counted = acyclic[level] if complete is None else acyclic[level] & complete[level]
        bits = np.unpackbits(counted.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
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
    for j in range(n):
        half = 1 << j
        none[:, half : 2 * half] = none[:, :half] & ~edges[j][:, np.newaxis]
    return none


def _complete_words(missing: Words) -> Words:
    """(2^n,) of each set: the instances in which no pair of its items is missing."""
    linked_with_all = _preferred_by_none(missing)
    complete: Words = np.full(1 << len(missing), ~np.uint64(0))
    for item in range(len(missing)):  # the set's last item beside the rest of it
        last = 1 << item
        complete[last : 2 * last] = complete[:last] & linked_with_all[item, :last]
    return complete


def _acyclic(edges: BoolArray, subsets: IntArray) -> BoolArray:
    """(n_subsets,) whether the preferences of one instance have no cycle among the items of each subset (n_subsets, k)."""
    k = subsets.shape[1]
    bit = np.left_shift(np.int64(1), np.arange(k))
    among = edges[subsets[:, :, np.newaxis], subsets[:, np.newaxis, :]]
    preferred_by = (among * bit[:, np.newaxis]).sum(axis=1)
    remaining: IntArray = np.full(len(subsets), bit.sum())
    before = np.zeros_like(remaining)
    while (remaining != before).any():  # takes away what none of the rest is preferred to
        before, remaining = remaining, ((preferred_by & remaining[:, np.newaxis] != 0) * bit).sum(axis=1) & remaining
    done: BoolArray = remaining == 0
    return done


def _all_subsets(n: int, k: int) -> IntArray:
    return np.array(list(combinations(range(n), k)), dtype=np.int64)


def _sample(n: int, k: int, size: int, rng: np.random.Generator) -> IntArray:
    """Draw `size` different subsets, or take all if there are not more: (size, k), each ascending."""
    if comb(n, k) <= 2 * size:
        everything = _all_subsets(n, k)
        return everything[np.sort(rng.permutation(len(everything))[:size])]
    subsets: dict[tuple[int, ...], None] = {}

    while len(subsets) < size:
        drawn = np.sort(np.argsort(rng.random((size, n)), axis=1)[:, :k], axis=1)
        subsets |= dict.fromkeys(map(tuple, drawn.tolist()))
    return np.array(list(subsets)[:size], dtype=np.int64)
