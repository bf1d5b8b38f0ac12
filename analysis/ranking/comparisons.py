"""Comparisons as checked columns, their sums (who won how often against whom), and what they connect."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.errors import AnalysisError, ShapeError, UnknownValue
from analysis.intervals.bootstrap import drawn_blocks
from analysis.types import BoolArray, FloatArray, IntArray, check_columns, code_array

SCORES = (0.0, 0.5, 1.0)  # of A: a loss, a tie, a win


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


UNMET = -1  # component of a system without a comparison


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
