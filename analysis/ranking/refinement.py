"""REPAIR: a ranking from noisy preferences, and every preference that it implies, without a conflict.

Items are codes from 0 to n_items - 1; items of several instances are one list, since nothing connects them. Liu et al. 2024,
Aligning with Logic, §4.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from analysis.errors import ShapeError, UnknownValue
from analysis.ranking.bradley_terry import fit_win_matrices
from analysis.ranking.comparisons import WinMatrix
from analysis.ranking.elo import elo
from analysis.types import BoolArray, FloatArray, IntArray, code_array

Method = Literal["win_loss", "elo", "bradley_terry"]
EQUAL = 1e-12  # scores that differ by no more are equal: rounding of win-loss rates
EQUAL_RATINGS = {"win_loss": EQUAL, "elo": 1.0, "bradley_terry": 1e-6}  # Elo points; log-odds
ELO_SHUFFLES = 100


@dataclass(frozen=True, eq=False)
class Repaired:
    """Result of `repair`.

    scores    : (n_items,) NaN for an item without a comparison
    component : (n_items,) the lowest item that preferences connect with it
    pairs     : (m, 2) of winner, loser: every preference that the ranking implies
    outcome   : (n,) of each preference given: -1 reversed, 0 dropped (the ranking has the two equal), 1 kept
    added     : (m,) whether no preference or tie of the two items was given
    tolerance : scores that differ by no more are equal
    """

    scores: FloatArray
    component: IntArray
    pairs: IntArray
    outcome: IntArray
    added: BoolArray
    tolerance: float


def win_loss_rate(
    winners: npt.ArrayLike, losers: npt.ArrayLike, *, n_items: int, ties: npt.ArrayLike | None = None
) -> FloatArray:
    """Wins less losses over comparisons, of each item.

    winners, losers : (n,) codes; the same pair may occur several times, and the other way round
    ties            : (t, 2) pairs that were called equal; they count as comparisons and as nothing else
    returns         : (n_items,) in [-1, 1]; NaN for an item without a comparison
    raises          : ShapeError, UnknownValue for an unknown item or one compared with itself
    source          : Liu et al. 2024, Aligning with Logic, §4.1
    """
    won, lost = _preferences(winners, losers, n_items)
    equal = _preferences(*_columns(ties), n_items)
    wins, losses = (np.bincount(column, minlength=n_items) for column in (won, lost))
    played = wins + losses + np.bincount(np.concatenate(equal), minlength=n_items)
    return np.where(played > 0, (wins - losses) / np.maximum(played, 1), np.nan)


def ranking_levels(scores: npt.ArrayLike, *, tolerance: float = EQUAL) -> list[list[int]]:
    """Levels of items by score, the best first. Items within `tolerance` of the best of a level share it.

    scores  : (n_items,); an item whose score is NaN is in no level
    returns : levels of ascending item codes
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1:
        raise ShapeError(f"need one score for each item, got shape {values.shape}")
    ranked = np.flatnonzero(~np.isnan(values))
    level_of = _levels(values[ranked], np.zeros_like(ranked), tolerance)
    return [ranked[level_of == level].tolist() for level in range(level_of.max(initial=-1) + 1)]


def augment(levels: Sequence[Sequence[int]], *, component: npt.ArrayLike | None = None) -> IntArray:
    """Every preference between items of different levels, the better item's first.

    levels    : items, the best level first, as of `ranking_levels`
    component : (n_items,) codes of connected items, as of `connected_items`; items of different ones get no preference.
                One component when left out
    returns   : (m, 2) of winner, loser, by level, in the order of the items
    raises    : UnknownValue for an item in two levels
    """
    items = [item for level in levels for item in level]
    if len(set(items)) < len(items):
        raise UnknownValue("an item is in more than one level")
    codes = None if component is None else code_array("component", component)
    pairs = [
        (better, worse)
        for index, level in enumerate(levels)
        for better in level
        for lower in levels[index + 1 :]
        for worse in lower
        if codes is None or codes[better] == codes[worse]
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def connected_items(winners: npt.ArrayLike, losers: npt.ArrayLike, *, n_items: int) -> IntArray:
    """Return for each item the lowest item that preferences connect it with, directly or through others."""
    won, lost = _preferences(winners, losers, n_items)
    lowest = np.arange(n_items)
    while True:
        lower_end = np.minimum(lowest[won], lowest[lost])
        after = lowest.copy()
        for column in (won, lost):
            np.minimum.at(after, column, lower_end)
        after = after[after]
        if (after == lowest).all():
            return lowest
        lowest = after


def repair(
    winners: npt.ArrayLike,
    losers: npt.ArrayLike,
    *,
    n_items: int,
    ties: npt.ArrayLike | None = None,
    method: Method = "win_loss",
    rng: np.random.Generator | None = None,
) -> Repaired:
    """Rank connected items by their preferences, and return every preference that this ranking implies.

    winners, losers, ties : as for `win_loss_rate`
    method                : "win_loss", "bradley_terry", or "elo": the mean over 100 orders of the preferences
    rng                   : draws these orders; a generator with seed 0 when left out
    returns               : `Repaired`. Its preferences have no cycle, and each pair of items occurs once
    raises                : as `win_loss_rate`; UnknownValue for another method
    source                : Liu et al. 2024, Aligning with Logic, §4.1, §4.2 and appendix N
    """
    won, lost = _preferences(winners, losers, n_items)
    equal = np.stack(_preferences(*_columns(ties), n_items), axis=1)
    if method not in EQUAL_RATINGS:
        raise UnknownValue(f"a ranking is by {', '.join(EQUAL_RATINGS)}; got {method!r}")
    component = connected_items(won, lost, n_items=n_items)
    if method == "win_loss":
        scores = win_loss_rate(won, lost, n_items=n_items, ties=equal)
    elif method == "elo":
        scores = _elo(won, lost, equal, n_items, np.random.default_rng(0) if rng is None else rng)
    else:
        scores = _bradley_terry(won, lost, equal, component)
    levels = _levels(scores, component, EQUAL_RATINGS[method])
    pairs = _implied(levels, component)
    stated = np.concatenate([np.stack([won, lost], axis=1), equal])
    return Repaired(
        scores=scores,
        component=component,
        pairs=pairs,
        outcome=np.sign(levels[lost] - levels[won]),
        added=~np.isin(_keys(pairs, n_items), _keys(stated, n_items)),
        tolerance=EQUAL_RATINGS[method],
    )


def _preferences(winners: npt.ArrayLike, losers: npt.ArrayLike, n_items: int) -> tuple[IntArray, IntArray]:
    won, lost = code_array("winners", winners), code_array("losers", losers)
    if won.shape != lost.shape:
        raise ShapeError(f"need a loser for each winner, got {len(lost)} for {len(won)}")
    both = np.concatenate([won, lost])
    if both.size and not 0 <= both.min() <= both.max() < n_items:
        raise UnknownValue(f"items are 0 to {n_items - 1}, got {both.min()} to {both.max()}")
    if (won == lost).any():
        raise UnknownValue(f"item {won[won == lost][0]} is compared with itself")
    return won, lost


def _columns(ties: npt.ArrayLike | None) -> tuple[IntArray, IntArray]:
    pairs = np.zeros((0, 2), dtype=np.int64) if ties is None else np.asarray(ties)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ShapeError(f"need (t, 2) ties, got shape {pairs.shape}")
    return pairs[:, 0], pairs[:, 1]


def _keys(pairs: IntArray, n_items: int) -> IntArray:
    keys: IntArray = pairs.min(axis=1) * n_items + pairs.max(axis=1)
    return keys


def _levels(scores: FloatArray, component: IntArray, tolerance: float) -> IntArray:
    """(n_items,) level of each item within its component, 0 the best, as `ranking_levels` finds them."""
    order = np.lexsort((-scores, component))
    levels: IntArray = np.zeros(len(scores), dtype=np.int64)
    lower_end, level, best = -1, 0, np.inf
    for item, group, score in zip(order.tolist(), component[order].tolist(), scores[order].tolist(), strict=True):
        if group != lower_end:
            lower_end, level, best = group, 0, score
        elif best - score > tolerance:
            level, best = level + 1, score
        levels[item] = level
    return levels


def _implied(levels: IntArray, component: IntArray) -> IntArray:
    """(m, 2) of winner, loser: all pairs of a component whose levels differ, components of one size at a time."""
    order = np.lexsort((levels, component))
    sizes = np.unique(component, return_counts=True)[1]
    starts = np.cumsum(sizes) - sizes
    pairs_by_size = [np.zeros((0, 2), dtype=np.int64)]
    for size in np.unique(sizes[sizes > 1]).tolist():
        items = order[starts[sizes == size][:, np.newaxis] + np.arange(size)]
        first, second = np.triu_indices(size, 1)
        better, worse = items[:, first], items[:, second]
        strict = levels[better] < levels[worse]
        pairs_by_size.append(np.stack([better[strict], worse[strict]], axis=1))
    return np.concatenate(pairs_by_size)


def _elo(won: IntArray, lost: IntArray, equal: IntArray, n_items: int, rng: np.random.Generator) -> FloatArray:
    first, second = np.concatenate([won, equal[:, 0]]), np.concatenate([lost, equal[:, 1]])
    scores = np.concatenate([np.ones(len(won)), np.full(len(equal), 0.5)])
    total = np.zeros(n_items)
    for _ in range(ELO_SHUFFLES):
        order = rng.permutation(len(first))
        total += elo(first[order], second[order], scores[order], n_systems=n_items)
    met = np.bincount(np.concatenate([first, second]), minlength=n_items) > 0
    return np.where(met, total / ELO_SHUFFLES, np.nan)


def _bradley_terry(won: IntArray, lost: IntArray, equal: IntArray, component: IntArray) -> FloatArray:
    """(n_items,) log-odds within each component. Components of one size are fitted together."""
    order = np.argsort(component, kind="stable")
    sizes = np.unique(component, return_counts=True)[1]
    starts = np.cumsum(sizes) - sizes
    size_of, index = np.zeros_like(component), np.zeros_like(component)
    size_of[order] = np.repeat(sizes, sizes)
    index[order] = np.arange(len(order)) - np.repeat(starts, sizes)
    row = np.searchsorted(np.unique(component), component)
    inside = equal[component[equal[:, 0]] == component[equal[:, 1]]]  # a tie alone connects nothing
    scores = np.full(len(component), np.nan)
    for size in np.unique(sizes[sizes > 1]).tolist():
        rows = np.cumsum(sizes == size) - 1
        wins, ties = np.zeros((2, int((sizes == size).sum()), size, size))
        lower_end = size_of[won] == size
        np.add.at(wins, (rows[row[won[lower_end]]], index[won[lower_end]], index[lost[lower_end]]), 1)
        first, second = inside[size_of[inside[:, 0]] == size].T
        np.add.at(ties, (rows[row[first]], index[first], index[second]), 1)
        fitted = fit_win_matrices(WinMatrix(wins, ties + np.swapaxes(ties, -1, -2))).strengths
        items = size_of == size
        scores[items] = fitted[rows[row[items]], index[items]]
    return scores
