"""Comparisons as checked columns, their sums and what they connect, and rates of wins.

Sums are who won how often against whom.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.errors import AnalysisError, ShapeError, UnknownValue
from analysis.grouping import groups
from analysis.intervals.bootstrap import drawn_blocks, quotient
from analysis.types import BoolArray, FloatArray, IntArray, Outcomes, check_columns, code_array

SCORES = (0.0, 0.5, 1.0)  # of A: a loss, a tie, a win
UNMET = -1  # component of a system without a comparison


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Checked columns of the comparisons with a score. `known` marks these among all."""

    a: IntArray
    b: IntArray
    score_a: FloatArray
    weight: FloatArray
    known: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class WinMatrix:
    """Weighted wins and ties of each system against each other one. Leading axes may be rounds.

    won  : (..., n, n) wins of the row's system over the column's
    tied : (..., n, n) ties of the two, symmetric
    """

    won: FloatArray
    tied: FloatArray

    @property
    def points(self) -> FloatArray:
        """Wins with a tie as half of one: (..., n, n)."""
        return self.won + self.tied / 2

    @property
    def played(self) -> FloatArray:
        """Comparisons of the two systems, symmetric: (..., n, n)."""
        return self.won + np.swapaxes(self.won, -1, -2) + self.tied


def check_comparisons(
    a: npt.ArrayLike, b: npt.ArrayLike, score_a: npt.ArrayLike, n_systems: int, weights: npt.ArrayLike | None
) -> Comparisons:
    """Check the columns and leave out comparisons without a score.

    a, b    : (n,) codes of the two systems, from 0 to n_systems - 1
    score_a : (n,) 1 (A won), 0.5 (a tie), 0 (B won), NaN for missing
    weights : (n,) finite and not negative; ones when left out
    raises  : ShapeError if the columns are not 1-D and of one length; UnknownValue for a code out of range or not an
              integer, a system against itself, another score or a bad weight
    """
    first, second, score = code_array("a", a), code_array("b", b), np.asarray(score_a, dtype=np.float64)
    weight = np.ones(score.shape) if weights is None else np.asarray(weights, dtype=np.float64)
    check_columns(first, second, score, weight)
    for codes in (first, second):
        if codes.size and (codes.min() < 0 or codes.max() >= n_systems):
            raise UnknownValue(
                f"codes of {n_systems} systems are 0 to {n_systems - 1}, got {codes.min()}, {codes.max()}"
            )
    if (first == second).any():
        raise UnknownValue(f"system {first[first == second][0]} is set against itself")
    defined = ~np.isnan(score)
    if (strange := defined & (score != 0) & (score != 0.5) & (score != 1)).any():
        raise UnknownValue(f"scores are {SCORES} or NaN, got {np.unique(score[strange])[:5].tolist()}")
    if not (np.isfinite(weight) & (weight >= 0)).all():
        raise UnknownValue("weights must be finite and not negative; leave out comparisons that have none")
    if defined.all():
        return Comparisons(first, second, score, weight, defined)
    return Comparisons(first[defined], second[defined], score[defined], weight[defined], defined)


def win_matrix(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    score_a: npt.ArrayLike,
    *,
    n_systems: int,
    weights: npt.ArrayLike | None = None,
) -> WinMatrix:
    """Sum comparisons over each ordered pair of systems.

    a, b, score_a, weights : as for `elo`; a missing score is no comparison
    returns                : `WinMatrix` of shape (n_systems, n_systems), in units of the weights
    raises                 : ShapeError, UnknownValue as for `elo`
    source                 : David 1988, The Method of Paired Comparisons, §1.3
    """
    rows = check_comparisons(a, b, score_a, n_systems, weights)
    sums = np.bincount(_cells(rows, n_systems), weights=rows.weight, minlength=2 * n_systems**2)
    return _matrices(sums.astype(np.float64, copy=False), n_systems)


def grouped_win_matrices(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    score_a: npt.ArrayLike,
    groups: npt.ArrayLike,
    *,
    n_systems: int,
    weights: npt.ArrayLike | None = None,
) -> WinMatrix:
    """A win matrix for each group of comparisons, which add up to that of all.

    a, b, score_a, weights : as for `elo`
    groups   : (n,) integer codes from 0; a group without a comparison has zeros
    returns  : `WinMatrix` of shape (highest code + 1, n_systems, n_systems)
    raises   : ShapeError, UnknownValue as for `elo`, and for groups
    """
    rows, codes = check_comparisons(a, b, score_a, n_systems, weights), code_array("groups", groups)
    if codes.shape != rows.known.shape:
        raise ShapeError(f"need one group code per comparison, got {codes.shape} for {rows.known.shape}")
    if codes.min(initial=0) < 0:
        raise UnknownValue(f"codes of groups start at 0, got {codes.min()}")
    size, n_groups = 2 * n_systems**2, int(codes.max(initial=-1)) + 1
    cells = codes[rows.known] * size + _cells(rows, n_systems)
    sums = np.bincount(cells, weights=rows.weight, minlength=n_groups * size).astype(np.float64, copy=False)
    return _matrices(sums.reshape(n_groups, size), n_systems)


def resampled_win_matrices(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    score_a: npt.ArrayLike,
    *,
    n_systems: int,
    rng: np.random.Generator,
    clusters: npt.ArrayLike | None = None,
    rounds: int = 100,
    weights: npt.ArrayLike | None = None,
) -> WinMatrix:
    """Win matrices of bootstrap rounds, for `fit_win_matrices`.

    a, b, score_a, weights : as for `elo`
    clusters : (n,) integer codes of the instances, which are drawn whole, those without a score too; when left out,
               every comparison with a score is drawn alone
    returns  : `WinMatrix` of shape (rounds, n_systems, n_systems)
    raises   : ShapeError, UnknownValue as for `elo`, and for clusters; AnalysisError for fewer than one round
    source   : Efron and Tibshirani 1993, An Introduction to the Bootstrap, §13.3, with clusters as units
    """
    if rounds < 1:
        raise AnalysisError(f"need at least one round, got {rounds}")
    rows = check_comparisons(a, b, score_a, n_systems, weights)
    cells = _cells(rows, n_systems)
    if clusters is None and weights is None:
        # Alike comparisons are interchangeable: draw how many there are of each kind, not which.
        counts = np.bincount(cells, minlength=2 * n_systems**2)
        shares = counts / max(1, len(cells))
        drawn = rng.multinomial(len(cells), shares, size=rounds) if len(cells) else np.zeros((rounds, len(counts)))
        return _matrices(drawn.astype(np.float64), n_systems)
    codes = np.arange(len(rows.known)) if clusters is None else code_array("clusters", clusters)
    if codes.shape != rows.known.shape:
        raise ShapeError(f"need one cluster code per comparison, got {codes.shape} for {rows.known.shape}")
    of_known = codes[rows.known] if clusters is None else codes
    units, index = np.unique(of_known, return_inverse=True)
    of_row = index if clusters is None else index[rows.known]
    return _matrices(_drawn_sums(cells, of_row, rows.weight, len(units), 2 * n_systems**2, rounds, rng), n_systems)


def _drawn_sums(
    cells: IntArray,
    clusters: IntArray,
    weight: FloatArray,
    n_clusters: int,
    n_cells: int,
    rounds: int,
    rng: np.random.Generator,
) -> FloatArray:
    """(rounds, n_cells) weights summed over the clusters that each round draws."""
    sums = np.zeros((rounds, n_cells))
    if not len(cells):
        return sums
    # Rows of one cluster and cell always come together, so that a round only sees their sum; cell by cell in order.
    keys, of_row = np.unique(cells * n_clusters + clusters, return_inverse=True)
    of_cell, of_cluster = np.divmod(keys, n_clusters)
    value = np.bincount(of_row, weights=weight)
    filled, begin = np.unique(of_cell, return_index=True)
    drawn = np.empty(len(keys))
    for block, counts in drawn_blocks(n_clusters, rounds, rng):
        for number, times in enumerate(counts, block.start):
            np.take(times.astype(np.float64), of_cluster, out=drawn, mode="clip")
            sums[number, filled] = np.add.reduceat(np.multiply(drawn, value, out=drawn), begin)
    return sums


def _cells(rows: Comparisons, n_systems: int) -> IntArray:
    """Place of each comparison in n² cells of winner and loser, followed by n² cells of ties."""
    row, column = np.indices((n_systems, n_systems))
    won, lost = row * n_systems + column, column * n_systems + row
    of_kind = np.stack([lost, n_systems**2 + np.where(row < column, won, lost), won])
    kind = (2 * rows.score_a).astype(np.int64)
    cells: IntArray = of_kind.ravel()[(kind * n_systems + rows.a) * n_systems + rows.b]
    return cells


def _matrices(sums: FloatArray, n_systems: int) -> WinMatrix:
    both = sums.reshape(*sums.shape[:-1], 2, n_systems, n_systems)
    tied = both[..., 1, :, :]
    return WinMatrix(won=both[..., 0, :, :], tied=tied + np.swapaxes(tied, -1, -2))


def components(matrix: WinMatrix) -> IntArray:
    """The lowest code of the systems that comparisons connect with each one, directly or through others.

    returns : (..., n); -1 for a system without a comparison. Scores of systems with unlike numbers don't compare
    """
    played = matrix.played > 0
    n = played.shape[-1]
    lowest: IntArray = np.where(reachable(played), np.arange(n), n).min(axis=-1, initial=n)
    return np.where(played.any(axis=-1), lowest, UNMET)


def preference_cycles(matrix: WinMatrix) -> tuple[tuple[int, ...], ...]:
    """Sets of systems that no order by majority fits: each beats every other of its set, directly or through others.

    One system beats another if it has more than half of the points of their comparisons; an even score is no edge.

    matrix  : that of one round, (n, n)
    returns : the sets in ascending order, each ascending; none where the majorities form no cycle
    source  : Kendall and Babington Smith 1940, On the method of paired comparisons; the sets are the strong components
              of the majority graph (Moon 1968, Topics on Tournaments, §2)
    """
    beats = matrix.won > matrix.won.T  # ties give both sides half, and decide nothing
    path = reachable(beats)
    together = path & path.T
    sets = {tuple(np.flatnonzero(row).tolist()) for row in together}
    return tuple(sorted(component for component in sets if len(component) > 1))


def reachable(edges: BoolArray) -> BoolArray:
    """(..., n, n) whether a path leads from the row's node to the column's. Every node reaches itself."""
    n = edges.shape[-1]
    path: BoolArray = edges | np.eye(n, dtype=bool)
    for _ in range(n.bit_length()):  # paths of twice the length each time
        steps = path.astype(np.float32)
        path = steps @ steps > 0
    return path


@dataclass(frozen=True, eq=False)
class Rates:
    """One score per system by code, from `n` comparisons. NaN for a system without any."""

    system: IntArray
    value: FloatArray
    n: IntArray


def win_rate(outcomes: Outcomes, systems: npt.ArrayLike | None = None) -> Rates:
    """Share of its comparisons that a system wins. A tie is half a win, and missing verdicts do not count.

    systems : codes to report, those in the outcomes when left out; a code without a comparison gets NaN
    returns : `Rates` with values in [0, 1], each comparison counted with its weight in `value`, as one in `n`
    raises  : UnknownValue if a system of the outcomes is not among the codes given
    source  : David 1988, The Method of Paired Comparisons, with ties as half-wins
    """
    return _rates(outcomes, systems, _half_for_tie)


def win_rates(a: npt.ArrayLike, b: npt.ArrayLike, score_a: npt.ArrayLike, *, n_systems: int) -> FloatArray:
    """Share of its comparisons that each system wins, a tie as half of one: `win_rate` for codes from 0.

    a, b, score_a : as for `elo`; a missing score is no comparison
    returns       : (n_systems,) in [0, 1]; NaN for a system without a comparison
    raises        : ShapeError, UnknownValue as for `elo`
    source        : David 1988, The Method of Paired Comparisons, with ties as half-wins
    """
    return matrix_win_rates(win_matrix(a, b, score_a, n_systems=n_systems))


def matrix_win_rates(matrix: WinMatrix) -> FloatArray:
    """`win_rates` of comparisons that are summed: (n_systems,)."""
    return quotient(matrix.points.sum(axis=1), matrix.played.sum(axis=1))


def matrix_win_loss_rates(matrix: WinMatrix) -> FloatArray:
    """`win_loss_rate` of comparisons that are summed: (n_systems,), NaN for a system without a comparison."""
    won, lost = matrix.won.sum(axis=1), matrix.won.sum(axis=0)
    return quotient(won - lost, matrix.played.sum(axis=1))


def win_loss_rate(outcomes: Outcomes, systems: npt.ArrayLike | None = None) -> Rates:
    """(wins - losses) / comparisons of each system. A tie is a comparison and neither of the two.

    systems : as for `win_rate`
    returns : `Rates` with values in [-1, 1]
    raises  : UnknownValue as for `win_rate`
    source  : Liu et al. 2024, Aligning with Logic, §4.1
    """
    return _rates(outcomes, systems, _as_it_is)


def win_sums(outcomes: Outcomes, system: int) -> FloatArray:
    """Each row's part of one system's win rate, for `cluster_sums` and `ratio`.

    returns : (n_rows, 2) of weighted wins (a tie is half of one) and weight; 0 and 0 where it plays no part
    """
    return _sums(outcomes, system, _half_for_tie)


def win_loss_sums(outcomes: Outcomes, system: int) -> FloatArray:
    """Each row's part of one system's win-loss rate, for `cluster_sums` and `ratio`.

    returns : (n_rows, 2) of weighted wins minus losses and weight; 0 and 0 where it plays no part
    """
    return _sums(outcomes, system, _as_it_is)


def _half_for_tie(result: FloatArray) -> FloatArray:
    return (1 + result) / 2


def _as_it_is(result: FloatArray) -> FloatArray:
    return result


def _rates(outcomes: Outcomes, systems: npt.ArrayLike | None, points: Callable[[FloatArray], FloatArray]) -> Rates:
    met, side = groups(np.concatenate([outcomes.a, outcomes.b]))
    codes = met if systems is None else np.unique(code_array("systems", systems))
    if strangers := np.setdiff1d(met, codes).tolist():
        raise UnknownValue(f"systems {strangers} of the outcomes are not among {codes.tolist()}")
    decided = ~np.isnan(outcomes.verdict)
    # Every verdict is one result for each side: +1 is a win of B and, with the sign turned, a loss of A.
    side = np.searchsorted(codes, met)[side[np.tile(decided, 2)]]
    result = np.concatenate([-outcomes.verdict[decided], outcomes.verdict[decided]])
    weight = np.tile(outcomes.weight[decided], 2)
    won = np.bincount(side, weights=weight * points(result), minlength=len(codes))
    played = np.bincount(side, weights=weight, minlength=len(codes))
    return Rates(codes, quotient(won, played), np.bincount(side, minlength=len(codes)))


def _sums(outcomes: Outcomes, system: int, points: Callable[[FloatArray], FloatArray]) -> FloatArray:
    takes_part = ((outcomes.a == system) | (outcomes.b == system)) & ~np.isnan(outcomes.verdict)
    result = np.where(outcomes.b == system, outcomes.verdict, -outcomes.verdict)[takes_part]
    weight = outcomes.weight[takes_part]
    sums = np.zeros((len(outcomes), 2))
    sums[takes_part] = np.stack([weight * points(result), weight], axis=1)
    return sums
