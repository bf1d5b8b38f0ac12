"""Bradley-Terry and Davidson strengths by maximum likelihood, from win matrices: many at a time, as for a bootstrap."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from analysis.errors import AnalysisError, ShapeError, UnknownValue
from analysis.ranking.comparisons import UNMET, WinMatrix, components, reachable, win_matrix
from analysis.ranking.elo import POINTS
from analysis.types import BoolArray, FloatArray, IntArray

Ties = Literal["half", "davidson"]
PRIOR = 1.0  # comparisons with a system of strength 0, tied, that a system without a finite strength is given
STEPS = 100  # Newton steps at most; about ten are usual
HALVINGS = 30  # of a Newton step that leads downhill
REGULAR = 1e-13  # share of all comparisons that is added to the diagonal of the second derivatives
ROUNDING = 1e-13  # of a likelihood, for each comparison
PRECISE = 1e-11  # largest last step of a converged fit, relative to the strengths


@dataclass(frozen=True, eq=False)
class Fits:
    """Strengths from stacked win matrices.

    strengths  : (..., n) log-odds with mean 0 in each component; NaN for a system without a comparison
    tie        : (...) Davidson's ν: 0 without ties, infinite where all are ties, NaN for ties="half"
    component  : (..., n) lowest code among the systems that comparisons connect with it; -1 without a comparison
    by_prior   : (..., n) whether the strength is finite only by the prior
    converged  : (...) whether the last Newton step was within rounding; iterations : Newton steps
    """

    strengths: FloatArray
    tie: FloatArray
    component: IntArray
    by_prior: BoolArray
    converged: BoolArray
    iterations: int


@dataclass(frozen=True, eq=False)
class BradleyTerry:
    """Strengths of systems: the columns of `Fits`, here of shape (n_systems,).

    connected : whether comparisons connect all systems, so that all strengths compare
    tie       : Davidson's ν, None for ties="half"
    """

    strengths: FloatArray
    tie: float | None
    component: IntArray
    by_prior: BoolArray
    connected: bool
    converged: bool
    iterations: int


def bradley_terry(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    score_a: npt.ArrayLike,
    *,
    n_systems: int,
    weights: npt.ArrayLike | None = None,
    ties: Ties = "half",
) -> BradleyTerry:
    """Maximum-likelihood strengths s, with P(A beats B) = 1 / (1 + exp(s_B - s_A)).

    a, b, score_a : as for `elo`; the order of comparisons plays no part, and a missing score is no comparison
    weights       : (n,) how often each comparison counts; ones when left out
    ties          : "half" counts a tie as half a win of both; "davidson" gives it the probability
                    ν / (e^(d/2) + e^(-d/2) + ν), where d = s_A - s_B, and a win e^(d/2) over the same
    returns       : `BradleyTerry`. Systems that no comparisons connect are ranked within their components, each with
                    mean 0. Where the likelihood has no finite maximum (of two groups of systems one never lost a point
                    to the other), the systems of that component are given one tie each with a system of strength 0,
                    and `by_prior` says so
    raises        : ShapeError, UnknownValue as for `elo`; UnknownValue for another way of ties
    source        : Bradley and Terry 1952, Rank analysis of incomplete block designs; Davidson 1970, On extending the
                    Bradley-Terry model to accommodate ties; Ford 1957 for when a finite maximum exists
    """
    fits = fit_win_matrices(win_matrix(a, b, score_a, n_systems=n_systems, weights=weights), ties=ties)
    return BradleyTerry(
        strengths=fits.strengths,
        tie=None if ties == "half" else float(fits.tie),
        component=fits.component,
        by_prior=fits.by_prior,
        connected=UNMET not in fits.component and len(np.unique(fits.component)) <= 1,
        converged=bool(fits.converged),
        iterations=fits.iterations,
    )


def rating(strengths: npt.ArrayLike) -> FloatArray:
    """Strengths on Elo's scale: 1000 + 400 / ln 10 for each unit of log-odds."""
    return 1000 + POINTS * np.asarray(strengths, dtype=np.float64)


def fit_win_matrices(matrix: WinMatrix, *, ties: Ties = "half") -> Fits:
    """Fit all rounds of a stack of win matrices together, as `bradley_terry` fits one.

    matrix  : of shape (..., n, n); about ten times its memory is taken
    returns : `Fits`
    raises  : ShapeError if the matrices are not square or differ in shape; UnknownValue for another way of ties;
              AnalysisError for sums that are negative or not finite, or a system against itself
    source  : as for `bradley_terry`; damped Newton steps
    """
    if ties not in ("half", "davidson"):
        raise UnknownValue(f'ties are "half" or "davidson", got {ties!r}')
    _check(matrix)
    *rounds, n, _ = matrix.won.shape
    one_axis = (int(np.prod(rounds)), n, n)
    stack = WinMatrix(matrix.won.reshape(one_axis), matrix.tied.reshape(one_axis))
    component = components(stack)
    if ties == "half":
        by_prior = _separated(stack, component)
        theta, _, converged, iterations = _maximise(stack, np.full(len(stack.won), -np.inf), by_prior, component)
        tie = np.full(len(stack.won), np.nan)
    else:
        by_prior = _separated(stack, component) | (_graded(stack)[:, np.newaxis] & (component != UNMET))
        theta, log_tie, converged, iterations = _maximise(stack, _start_of_ties(stack), by_prior, component)
        tie = np.where(_only_ties(stack), np.inf, np.exp(log_tie))
    return Fits(
        strengths=_centred(theta, component).reshape(*rounds, n),
        tie=tie.reshape(rounds),
        component=component.reshape(*rounds, n),
        by_prior=by_prior.reshape(*rounds, n),
        converged=converged.reshape(rounds),
        iterations=iterations,
    )


def _check(matrix: WinMatrix) -> None:
    shape = matrix.won.shape
    if len(shape) < 2 or shape[-1] != shape[-2] or matrix.tied.shape != shape:
        raise ShapeError(f"need two (..., n, n) arrays of wins and ties, got {shape} and {matrix.tied.shape}")
    for sums in (matrix.won, matrix.tied):
        if not (np.isfinite(sums) & (sums >= 0)).all() or np.trace(sums, axis1=-2, axis2=-1).any():
            raise AnalysisError("wins and ties must be finite, not negative, and of two systems")


def _separated(stack: WinMatrix, component: IntArray) -> BoolArray:
    """Return the components in which wins do not lead from each system to each other one."""
    same = component[:, :, np.newaxis] == component[:, np.newaxis, :]
    met = component != UNMET
    alone = (~reachable(stack.points > 0) & same).any(axis=2)
    # One system that is not reached spoils its whole component.
    spoilt: BoolArray = (same & alone[:, np.newaxis, :]).any(axis=2) & met
    return spoilt


def _graded(stack: WinMatrix) -> BoolArray:
    """(rounds,) whether strengths and ν can grow together without end, although ties occur.

    They can where systems have grades with every win over a lower grade by 2 or more and every tie within 2: then a
    large ν with strengths as large fits ever better. Found by shortest paths (Bellman and Ford): no negative cycle.
    """
    bound = np.where(stack.tied > 0, 1.0, np.inf)
    bound[stack.won > 0] = -1.0
    n = bound.shape[-1]
    before = grade = np.zeros(bound.shape[:2])
    for _ in range(n):
        before = grade
        grade = np.minimum(before, (before[:, :, np.newaxis] + bound).min(axis=1, initial=np.inf))
    graded: BoolArray = np.all(grade == before, axis=1) & np.any(stack.tied > 0, axis=(1, 2))
    return graded


def _only_ties(stack: WinMatrix) -> BoolArray:
    only: BoolArray = (stack.tied.sum(axis=(1, 2)) > 0) & (stack.won.sum(axis=(1, 2)) == 0)
    return only


def _start_of_ties(stack: WinMatrix) -> FloatArray:
    """(rounds,) ln ν at equal strengths. Minus infinity without ties, and 0 with ties alone."""
    tied, won = stack.tied.sum(axis=(1, 2)) / 2, stack.won.sum(axis=(1, 2))
    start = np.where(tied > 0, 0.0, -np.inf)
    both = (tied > 0) & (won > 0)
    start[both] = np.log(2 * tied[both] / won[both])
    return start


def _centred(theta: FloatArray, component: IntArray) -> FloatArray:
    same = component[:, :, np.newaxis] == component[:, np.newaxis, :]
    mean = (same * theta[:, np.newaxis, :]).sum(axis=2) / np.maximum(same.sum(axis=2), 1)
    return np.where(component == UNMET, np.nan, theta - mean)


def _maximise(
    stack: WinMatrix, log_tie: FloatArray, by_prior: BoolArray, component: IntArray
) -> tuple[FloatArray, FloatArray, BoolArray, int]:
    """Newton's method for strengths and ln ν of all rounds at once, halving steps that lead downhill.

    returns : strengths (rounds, n), ln ν (rounds,), converged (rounds,), steps
    """
    model = _Model(stack, by_prior, component, free=np.isfinite(log_tie) & ~_only_ties(stack))
    theta, eta = np.zeros(by_prior.shape), log_tie
    value = model.likelihood(theta, eta)
    moving = np.ones(len(theta), dtype=bool)
    steps = 0
    while moving.any() and steps < STEPS:
        steps += 1
        step, step_eta = model.newton(theta, eta)
        size = np.ones(len(theta))
        for _ in range(HALVINGS):
            reached = model.likelihood(theta + size[:, np.newaxis] * step, eta + size * step_eta)
            worse = reached < value - ROUNDING * model.scale
            if not worse.any():
                break
            size[worse] /= 2
        theta, eta, value = theta + size[:, np.newaxis] * step, eta + size * step_eta, reached
        largest = np.maximum(np.abs(step).max(axis=1, initial=0), np.abs(step_eta))
        moving = largest > PRECISE * (1 + np.abs(theta).max(axis=1, initial=0))
    return theta, eta, ~moving, steps


class _Model:
    """Davidson's likelihood of a stack. With ln ν of minus infinity it is Bradley and Terry's.

    Both are concave in the strengths θ and η = ln ν.
    """

    def __init__(self, stack: WinMatrix, by_prior: BoolArray, component: IntArray, *, free: BoolArray) -> None:
        self.played = stack.played
        self.balance = (stack.won - np.swapaxes(stack.won, 1, 2)).sum(axis=2) / 2
        self.tied = np.where(free, stack.tied.sum(axis=(1, 2)) / 2, 0)
        self.prior = PRIOR * by_prior
        self.free = free  # rounds whose ν is estimated
        # Strengths of a component are free up to a constant: the pin keeps their sum where it is.
        same = component[:, :, np.newaxis] == component[:, np.newaxis, :]
        unmet = (component == UNMET)[:, :, np.newaxis] & ~np.eye(component.shape[1], dtype=bool)
        loose = same & ~unmet & ~by_prior[:, :, np.newaxis]
        self.scale = scale = self.played.sum(axis=(1, 2))
        scale = np.where(scale > 0, scale, 1)[:, np.newaxis, np.newaxis]
        # The trace of a diagonal keeps the matrix regular where chances are rounded to 0 and 1.
        self.pin = scale * (loose + REGULAR * np.eye(component.shape[1]))

    def likelihood(self, theta: FloatArray, eta: FloatArray) -> FloatArray:
        """(rounds,) log-likelihood with the prior."""
        gap = theta[:, :, np.newaxis] - theta[:, np.newaxis, :]
        total = self._total(gap, eta)
        ties = self.tied * np.where(self.free, eta, 0)
        prior = (self.prior * _log_two_cosh(theta)).sum(axis=1)
        # Every pair of systems stands twice in the matrix.
        value: FloatArray = (
            (self.balance * theta).sum(axis=1) + ties - (self.played * total).sum(axis=(1, 2)) / 2 - prior
        )
        return value

    def newton(self, theta: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The steps of θ (rounds, n) and η (rounds,) that the second-order expansion asks for."""
        n = theta.shape[1]
        gap = theta[:, :, np.newaxis] - theta[:, np.newaxis, :]
        no_ties = np.isneginf(eta).all()
        tie = np.zeros_like(gap) if no_ties else np.exp(eta[:, np.newaxis, np.newaxis] - self._total(gap, eta))
        lead = np.tanh(gap / 2) * (1 - tie)  # chance of a win less that of a loss
        slope = np.zeros((len(theta), n + 1))
        bend = np.zeros((len(theta), n + 1, n + 1))
        own = np.tanh(theta / 2)
        slope[:, :n] = self.balance - (self.played * lead).sum(axis=2) / 2 - self.prior * own / 2
        between = self.played * (1 - tie - lead**2) / 4
        bend[:, :n, :n] = self.pin - between
        diagonal = np.arange(n)
        bend[:, diagonal, diagonal] += between.sum(axis=2) + self.prior * (1 - own**2) / 4
        slope[:, n] = np.where(self.free, self.tied - (self.played * tie).sum(axis=(1, 2)) / 2, 0)
        bend[:, n, n] = np.where(self.free, (self.played * tie * (1 - tie)).sum(axis=(1, 2)) / 2, 1)
        mixed = np.where(self.free[:, np.newaxis], -(self.played * tie * lead).sum(axis=2) / 2, 0)
        bend[:, :n, n] = bend[:, n, :n] = mixed
        step = np.linalg.solve(bend, slope[:, :, np.newaxis])[:, :, 0]
        return step[:, :n], step[:, n]

    def _total(self, gap: FloatArray, eta: FloatArray) -> FloatArray:
        """ln of the sum that chances of a win, a loss and a tie have as denominator."""
        decided = _log_two_cosh(gap)
        return decided if np.isneginf(eta).all() else np.logaddexp(decided, eta[:, np.newaxis, np.newaxis])


def _log_two_cosh(x: FloatArray) -> FloatArray:
    """ln(e^(x/2) + e^(-x/2)) without overflow."""
    size = np.abs(x)
    value: FloatArray = size / 2 + np.log1p(np.exp(-size))
    return value
