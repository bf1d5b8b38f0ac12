"""Elo ratings, with one factor for all comparisons or one for each."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from analysis.errors import AnalysisError, ShapeError
from analysis.intervals.bootstrap import BLOCK_CELLS
from analysis.ranking.comparisons import check_comparisons
from analysis.types import FloatArray, IntArray, code_array

POINTS = 400 / math.log(10)  # of a rating, for one unit of log-odds
STEP_CELLS = 2**16  # of each array of steps that are taken one by one


def elo(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    score_a: npt.ArrayLike,
    *,
    n_systems: int,
    k: float = 4.0,
    initial: float = 1000.0,
    weights: npt.ArrayLike | None = None,
) -> FloatArray:
    """Elo ratings after all comparisons, in their order: R_A += K (S_A - E_A), and R_B the opposite.

    E_A = 1 / (1 + 10^((R_B - R_A) / 400)).

    a, b    : (n,) codes of the two systems, from 0 to n_systems - 1
    score_a : (n,) 1 (A won), 0.5 (a tie), 0 (B won); NaN is missing and left out
    k       : points that a comparison moves at most
    weights : (n,) factors of k, finite and not negative, as `sep_elo_weight` gives them for SEP-Elo
    returns : (n_systems,) ratings, whose mean stays `initial`; a system without a comparison stays there, which is no
              estimate of it (`components` names it)
    raises  : ShapeError if the columns are not 1-D and of one length; UnknownValue for a code out of range or not an
              integer, a system against itself, another score or a bad weight; AnalysisError for a bad k or initial
    source  : Ghosh et al. 2024, Compare without Despair, eq. 5; the base 10, the scale 400 and the start 1000 are those
              of Chiang et al. 2024, Chatbot Arena
    """
    _check_settings(k, initial)
    rows = check_comparisons(a, b, score_a, n_systems, weights)
    # In units of half log-odds E_A = (1 + tanh(R_A - R_B)) / 2, so that a step is few operations and cannot overflow.
    half = rows.weight * (k / POINTS / 4)
    gain = half * (2 * rows.score_a - 1)
    ratings = [0.0] * n_systems
    tanh = math.tanh
    for first, second, won, limit in zip(rows.a.tolist(), rows.b.tolist(), gain.tolist(), half.tolist(), strict=True):
        mine, theirs = ratings[first], ratings[second]
        change = won - limit * tanh(mine - theirs)
        ratings[first] = mine + change
        ratings[second] = theirs - change
    return initial + 2 * POINTS * np.array(ratings, dtype=np.float64)


def sampled_elo(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    score_a: npt.ArrayLike,
    matchup: npt.ArrayLike,
    *,
    n_systems: int,
    rng: np.random.Generator,
    rounds: int = 100,
    clusters: npt.ArrayLike | None = None,
    k: float = 4.0,
    initial: float = 1000.0,
    weights: npt.ArrayLike | None = None,
) -> FloatArray:
    """Elo ratings of rounds that each take one comparison of every matchup, in an order of their own.

    a, b, score_a, k, initial, weights : as for `elo`
    matchup  : (n,) integer codes; of comparisons with equal codes a round takes one at random
    clusters : (n,) integer codes of the instances, each with whole matchups: every round draws as many as there are, with
               replacement; when left out, every matchup is taken once. Draws depend on the order of the codes and, in a
               matchup, of the rows
    returns  : (rounds, n_systems)
    raises   : as `elo`; ShapeError for codes of another length; AnalysisError for fewer than one round
    source   : Ghosh et al. 2024, Compare without Despair, §4; the bootstrap as for `resampled_win_matrices`
    """
    rows = check_comparisons(a, b, score_a, n_systems, weights)
    codes = code_array("matchup", matchup)
    of_row = codes if clusters is None else code_array("clusters", clusters)
    if not codes.shape == of_row.shape == rows.known.shape:
        raise ShapeError(f"need a matchup and a cluster per comparison, got {codes.shape} and {of_row.shape}")
    defined = np.flatnonzero(rows.known)
    drawn = sampled_rows(codes[defined], rng=rng, rounds=rounds, clusters=None if clusters is None else of_row[defined])
    drawn = np.append(defined, len(codes))[drawn]
    ratings: FloatArray = elo_of_rows(
        a, b, score_a, drawn, n_systems=n_systems, k=k, initial=initial, weights=[weights]
    )[0]
    return ratings


def elo_of_rows(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    score_a: npt.ArrayLike,
    rows: IntArray | npt.NDArray[np.int32],
    *,
    n_systems: int,
    k: float = 4.0,
    initial: float = 1000.0,
    weights: Sequence[npt.ArrayLike | None] = (None,),
) -> FloatArray:
    """Elo ratings of many rounds, each over comparisons of its own, for each of several weights in one pass.

    a, b, score_a, k, initial : as for `elo`
    rows    : (rounds, steps) the row of each round's comparisons, in their order; n for a step without one
    weights : as for `elo`, each of which gives ratings of its own
    returns : (weights, rounds, n_systems)
    raises  : as `elo`
    """
    _check_settings(k, initial)
    checked = [check_comparisons(a, b, score_a, n_systems, first) for first in weights]
    defined = checked[0].known
    # A row has its systems and score as one code, and half of k for each weight. Rounds look up rows at random, so that both
    # are small. The row after the last changes nothing, nor does a missing score.
    code_of_row = np.zeros(len(defined) + 1, dtype=np.int32)
    code_of_row[:-1][defined] = (checked[0].a * n_systems + checked[0].b) * 3 + 2 * checked[0].score_a
    limit_of_row = np.zeros((len(defined) + 1, len(checked)))
    limit_of_row[:-1][defined] = np.stack([of.weight * (k / POINTS / 4) for of in checked], axis=1)
    either, score = np.divmod(np.arange(n_systems**2 * 3), 3)
    systems, sign = np.stack(np.divmod(either, n_systems)), score - 1.0
    # The ratings by all weights are one item, which NumPy writes in a tenth of the time of a row of numbers.
    item = np.dtype((np.void, 8 * len(checked)))
    ratings = np.zeros((len(rows) * n_systems, len(checked)))
    start = np.arange(len(rows)) * n_systems
    both, change = np.empty((2, len(rows), len(checked))), np.empty((len(rows), len(checked)))
    ahead, behind = both
    items, both_items = ratings.view(item)[:, 0], both.view(item)[..., 0]
    step = max(1, STEP_CELLS // max(1, change.size))
    for begin in range(0, rows.shape[1], step):
        block = rows[:, begin : begin + step].T.copy()
        codes, limits = code_of_row.take(block), limit_of_row.take(block, axis=0)
        places = systems[:, codes].swapaxes(0, 1) + start
        gains = limits * sign[codes][..., np.newaxis]
        for place, gain, limit in zip(places, gains, limits, strict=True):  # as in `elo`, one step of every round
            items.take(place, out=both_items, mode="clip")
            np.tanh(np.subtract(ahead, behind, out=change), out=change)
            np.subtract(gain, np.multiply(limit, change, out=change), out=change)
            ahead += change
            behind -= change
            items[place] = both_items
    return initial + 2 * POINTS * np.moveaxis(ratings.reshape(len(rows), n_systems, -1), -1, 0)


def sampled_rows(
    matchup: IntArray, *, rng: np.random.Generator, rounds: int, clusters: IntArray | None = None
) -> npt.NDArray[np.int32]:
    """Draw the comparisons of each round of `sampled_elo`.

    matchup, clusters : as for `sampled_elo`
    returns : (rounds, steps) a row of each matchup that the round takes, in random order; n for a step without one
    raises  : AnalysisError for fewer than one round
    """
    if rounds < 1:
        raise AnalysisError(f"need at least one round, got {rounds}")
    if not len(matchup):
        return np.empty((rounds, 0), dtype=np.int32)
    order = np.argsort(matchup, kind="stable")
    _, begin, count = np.unique(matchup[order], return_index=True, return_counts=True)
    table = _matchups_of_instances(None if clusters is None else clusters[order[begin]], len(begin))
    # One more matchup, whose only row is the one that changes nothing.
    order, begin, count = np.append(order, len(order)), np.append(begin, len(order)), np.append(count, 1)
    rows = np.empty((rounds, table.size), dtype=np.int32)
    step = max(1, BLOCK_CELLS // table.size)
    for start in range(0, rounds, step):
        block = rows[start : start + step]
        drawn = np.broadcast_to(np.arange(len(table)), (len(block), len(table)))
        if clusters is not None:
            drawn = rng.integers(len(table), size=drawn.shape)
        permuted = rng.permuted(table[drawn].reshape(block.shape), axis=1)
        block[:] = order[begin[permuted] + (rng.random(block.shape) * count[permuted]).astype(np.int64)]
    return rows


def _matchups_of_instances(own: IntArray | None, n_matchups: int) -> IntArray:
    """(instances, most matchups of one) codes of the matchups drawn together, filled up with `n_matchups`."""
    if own is None:
        return np.arange(n_matchups)[:, np.newaxis]
    instance = np.unique(own, return_inverse=True)[1]
    sizes = np.bincount(instance)
    table = np.full((len(sizes), sizes.max()), n_matchups)
    by_instance = np.argsort(instance, kind="stable")
    rank = np.arange(n_matchups) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    table[instance[by_instance], rank] = by_instance
    return table


def _check_settings(k: float, initial: float) -> None:
    if not (math.isfinite(k) and k >= 0 and math.isfinite(initial)):
        raise AnalysisError(f"need a finite k of at least 0 and a finite start, got {k} and {initial}")


def sep_elo_weight(
    delta: npt.ArrayLike, *, threshold: float = 0.4, alpha: float = 2.0, beta: float = 6.0
) -> FloatArray:
    """Factor of k by which SEP-Elo lets a comparison count: alpha / (1 + exp(-beta (delta - threshold))).

    delta   : separability of the comparison's instance, of any shape
    returns : the factors, in that shape, between 0 and alpha; NaN where delta is NaN
    raises  : AnalysisError for parameters that are not finite, or a negative alpha
    source  : Ghosh et al. 2024, Compare without Despair, eq. 6; by default it is 1 at the threshold
    """
    if not np.isfinite([threshold, alpha, beta]).all() or alpha < 0:
        raise AnalysisError(f"need finite parameters and alpha >= 0, got {threshold}, {alpha} and {beta}")
    # The logistic function through tanh, which does not overflow.
    factor: FloatArray = alpha / 2 * (1 + np.tanh(beta / 2 * (np.asarray(delta, dtype=np.float64) - threshold)))
    return factor
