"""Win rates and win-loss rates of systems over all their comparisons."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.errors import UnknownValue
from analysis.grouping import groups
from analysis.intervals.bootstrap import quotient
from analysis.ranking.comparisons import WinMatrix, win_matrix
from analysis.types import FloatArray, IntArray, Outcomes, code_array


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
