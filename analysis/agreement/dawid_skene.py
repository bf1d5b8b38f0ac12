"""One verdict per unit from many raters' by Dawid and Skene's model: each rater has a confusion matrix of their own."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.agreement.coefficients import VALUES
from analysis.agreement.leave_one_out import Votes, votes_of
from analysis.errors import NotEnough, ShapeError, UnknownValue
from analysis.intervals.bootstrap import quotient
from analysis.types import FloatArray, IntArray, code_array

SMOOTHING = 1e-10  # keeps logarithms finite and moves no posterior that anyone reads
SHARED = 1e-9  # posteriors that differ by less share the first place


@dataclass(frozen=True, eq=False)
class DawidSkene:
    """Result of `dawid_skene`. Axes of length 3 are the classes -1 (A), 0 (tie) and +1 (B).

    verdict    : (n_units,) the likeliest class; NaN without a vote, or where the first place is shared
    posterior  : (n_units, 3) probabilities of the classes; NaN without a vote
    confusion  : (n_raters, 3, 3) probability that a rater gives the column's verdict where the row's is true; NaN for a
                 rater without votes; even where no unit that they rated has the row's class
    prevalence : (3,) of the classes; (n_groups, 3) where units have groups, NaN for one without a vote
    iterations : rounds of expectation and maximisation made
    converged  : whether no posterior moved by `tolerance` or more in the last one
    """

    verdict: FloatArray
    posterior: FloatArray
    confusion: FloatArray
    prevalence: FloatArray
    iterations: int
    converged: bool


def dawid_skene(
    ratings: npt.ArrayLike | Votes,
    *,
    group: npt.ArrayLike | None = None,
    smoothing: float = SMOOTHING,
    max_iterations: int = 1000,
    tolerance: float = 1e-9,
) -> DawidSkene:
    """Estimate true verdicts, and each rater's confusion matrix, by maximum likelihood (EM from the shares of the votes).

        p(c) = mean over units of T(u, c),   π_r(c, v) = (s + Σ_u T(u, c) [r gave v on u]) / (the same summed over v)
        T(u, c) ∝ p(c) Π_r π_r(c, vote of r on u)

    with T the posterior of class c on unit u, p the prevalence, π_r the confusion matrix of rater r, and s the smoothing.

    ratings        : (n_units, n_raters) of -1, 0, +1, NaN for missing; or `Votes`, as many raters have few each
    group          : (n_units,) codes from 0 of groups with a prevalence of their own; confusion matrices hold in all of them
    smoothing      : added to each count of a confusion matrix before its rows are divided by their sums: a Dirichlet prior
                     of 1 + smoothing; the default is as good as none. The prevalence has no prior
    max_iterations : rounds at most
    tolerance      : largest change of a posterior at which it counts as converged
    returns        : `DawidSkene`. From three raters a unit on it can tell raters apart; from fewer it repeats the votes
    raises         : NotEnough without any rating; ShapeError, UnknownValue
    source         : Dawid and Skene 1979, Maximum likelihood estimation of observer error-rates using the EM algorithm,
                     eqs. 2.3 to 2.5, started as in §4 there
    """
    cast = votes_of(ratings)
    if not (np.isfinite(smoothing) and smoothing > 0 and max_iterations >= 1 and tolerance > 0):
        raise UnknownValue(
            f"smoothing, tolerance and rounds are above 0, got {smoothing}, {tolerance} and {max_iterations}"
        )
    groups = np.zeros(cast.n_units, dtype=np.int64) if group is None else code_array("group", group)
    if groups.shape != (cast.n_units,):
        raise ShapeError(f"need one group for each of {cast.n_units} units, got shape {groups.shape}")
    votes = _Votes(cast, groups)
    posterior = votes.shares()
    moved, iterations = np.inf, 0
    while moved >= tolerance and iterations < max_iterations:
        before = posterior
        posterior = votes.expect(*votes.maximise(posterior, smoothing))
        moved, iterations = float(np.abs(posterior - before).max()), iterations + 1
    prevalence, confusion = votes.maximise(posterior, smoothing)
    confusion[np.bincount(cast.person, minlength=votes.n_raters) == 0] = np.nan
    everywhere = np.full((cast.n_units, 3), np.nan)
    everywhere[votes.rated] = posterior.T
    return DawidSkene(
        verdict=_likeliest(everywhere),
        posterior=everywhere,
        confusion=confusion,
        prevalence=prevalence[0] if group is None else prevalence,
        iterations=iterations,
        converged=moved < tolerance,
    )


class _Votes:
    """Votes in the orders in which each round adds them up. Units with a vote are renumbered, those with most votes first.

    Arrays have classes first: sums, maxima and look-ups of a class then run along memory.

    rated : (n_units,) places of the units among all
    turns : cells (rater and verdict) of the first vote on each unit, then of the second on those that have one, and so on
    """

    def __init__(self, votes: Votes, group: IntArray) -> None:
        if not len(votes.unit):
            raise NotEnough("no rater rated a unit")
        cell = votes.person * 3 + np.searchsorted(VALUES, votes.verdict)
        sizes = np.bincount(votes.unit, minlength=votes.n_units)
        by_size = np.argsort(-sizes, kind="stable")
        unit = np.argsort(by_size)[votes.unit]
        self.rated: IntArray = by_size[: np.count_nonzero(sizes)]
        sizes = sizes[self.rated]
        by_unit, first = cell[np.argsort(unit, kind="stable")], np.cumsum(sizes) - sizes
        self.turns = [by_unit[first[sizes > turn] + turn] for turn in range(sizes[0])]
        order = np.argsort(cell, kind="stable")
        self.unit_of_vote: IntArray = unit[order]
        self.cells, self.first_of_cell = np.unique(cell[order], return_index=True)
        self.group: IntArray = group[self.rated]
        self.n_raters = votes.n_people
        self.group_sizes = np.bincount(self.group, minlength=int(group.max()) + 1)[:, np.newaxis]

    def shares(self) -> FloatArray:
        """Return the share of each class among the votes on each unit. Classes come first."""
        counts = np.zeros((3, len(self.rated)))
        for cells in self.turns:
            counts[cells % 3, np.arange(len(cells))] += 1
        shares: FloatArray = counts / counts.sum(axis=0)
        return shares

    def maximise(self, posterior: FloatArray, smoothing: float) -> tuple[FloatArray, FloatArray]:
        """Prevalence and confusion matrices, from the votes and how likely each class is."""
        counts = np.zeros((3, 3 * self.n_raters))
        counts[:, self.cells] = np.add.reduceat(posterior.take(self.unit_of_vote, axis=1), self.first_of_cell, axis=1)
        confusion = counts.reshape(3, -1, 3).swapaxes(0, 1) + smoothing
        sums = np.stack([np.bincount(self.group, of, minlength=len(self.group_sizes)) for of in posterior], axis=1)
        return quotient(sums, self.group_sizes), confusion / confusion.sum(axis=2, keepdims=True)

    def expect(self, prevalence: FloatArray, confusion: FloatArray) -> FloatArray:
        """Return the probability of each class on each unit, by logarithms: products of many raters underflow."""
        with np.errstate(divide="ignore"):  # a class that no unit has stays impossible
            logs = np.log(prevalence).T.take(self.group, axis=1)
        chances = np.log(confusion).swapaxes(0, 1).reshape(3, -1)
        for cells in self.turns:
            logs[:, : len(cells)] += chances.take(cells, axis=1)
        weight = np.exp(logs - logs.max(axis=0))
        posterior: FloatArray = weight / weight.sum(axis=0)
        return posterior


def _likeliest(posterior: FloatArray) -> FloatArray:
    ordered = np.sort(posterior, axis=1)
    alone = ordered[:, 2] - ordered[:, 1] > SHARED  # False for NaN
    likeliest = np.argmax(np.where(np.isnan(posterior), 0, posterior), axis=1)
    return np.where(alone, VALUES[likeliest], np.nan)
