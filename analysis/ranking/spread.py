"""Uncertainty of a ranking: differences of scores by a jackknife over instances, and ranges of ranks."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.intervals.bootstrap import ratio
from analysis.intervals.jackknife import student_quantile, student_tail
from analysis.intervals.multiple_testing import holm, level_of_look, p_value_of_look
from analysis.ranking.bradley_terry import Fits, Ties, fit_win_matrices
from analysis.ranking.comparisons import UNMET, WinMatrix, grouped_win_matrices
from analysis.types import BoolArray, FloatArray, IntArray, code_array

GROUPS = 400  # fits that leave out instances, at most; with more instances, each leaves out several
ROUNDING = 1e-9  # relative to the scores: a smaller standard error is none


@dataclass(frozen=True, eq=False)
class LeftOut:
    """A fit, and the same without one or some instances.

    moved    : (fits, n) how far each strength moves, relative to the mean of the systems of its code in `together`
    together : (n,) lowest code among the systems that are in one component whatever instance is left out: the others'
               movements don't compare, nor does the strength itself unless all of its component are together
    """

    fit: Fits
    moved: FloatArray
    together: IntArray

    @property
    def held(self) -> BoolArray:
        """(n,) whether no instance alone connects a system's component."""
        component = self.fit.component
        separated = component[self.together != np.where(component == UNMET, self.together, component)]
        met: BoolArray = (component != UNMET) & ~np.isin(component, separated)
        return met


@dataclass(frozen=True, eq=False)
class Differences:
    """Tests of the difference of every two systems that compare, one row per pair with the lower code first.

    error     : standard error; df : degrees of freedom
    horizon   : as of `differences`
    p_value   : two-sided, by Student's t; NaN where a pair was not tested
    adjusted  : by Holm's method over all pairs tested
    """

    first: IntArray
    second: IntArray
    value: FloatArray
    error: FloatArray
    df: IntArray
    p_value: FloatArray
    adjusted: FloatArray
    horizon: int | None = None

    @property
    def tested(self) -> int:
        """Number of tested pairs: the family of Holm's method."""
        return int((~np.isnan(self.p_value)).sum())

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Limits of each difference by Student's t, not adjusted. NaN for a pair without a test."""
        reach = np.full(len(self.value), np.nan)
        for row in np.flatnonzero(~np.isnan(self.p_value)):
            df = int(self.df[row])
            own = level if self.horizon is None else level_of_look(df + 1, level=level, horizon=self.horizon)
            reach[row] = student_quantile((1 + own) / 2, df) * self.error[row]
        return self.value - reach, self.value + reach

    def better(self, n_systems: int, level: float) -> BoolArray:
        """(n, n) whether the row's system is surely better than the column's: adjusted p-value below 1 - level."""
        table = np.zeros((n_systems, n_systems), dtype=bool)
        sure = self.adjusted < 1 - level  # NaN is not
        up, down = sure & (self.value > 0), sure & (self.value < 0)
        table[self.first[up], self.second[up]] = True
        table[self.second[down], self.first[down]] = True
        return table


def left_out_strengths(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    score_a: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    n_systems: int,
    weights: npt.ArrayLike | None = None,
    ties: Ties = "half",
) -> LeftOut:
    """The Bradley-Terry fit of all comparisons, and how far each strength moves when an instance is left out.

    Each of up to 400 fits leaves out one cluster; with more clusters, every 400th by the order of their codes (a
    delete-a-group jackknife).

    a, b, score_a, weights, ties : as for `bradley_terry`
    clusters : (n,) integer codes of the instances
    returns  : `LeftOut`
    raises   : as `bradley_terry`, and for clusters that don't fit the comparisons
    source   : Efron and Tibshirani 1993, An Introduction to the Bootstrap, §11.5; Kott 2001, The delete-a-group
               jackknife
    """
    codes = code_array("clusters", clusters)
    groups: IntArray = np.unique(codes, return_inverse=True)[1] % GROUPS
    parts = grouped_win_matrices(a, b, score_a, groups, n_systems=n_systems, weights=weights)
    all_matrix = WinMatrix(parts.won.sum(axis=0), parts.tied.sum(axis=0))
    left_out_matrix = WinMatrix(_rest(all_matrix.won, parts.won), _rest(all_matrix.tied, parts.tied))
    fit, left_out_fits = fit_win_matrices(all_matrix, ties=ties), fit_win_matrices(left_out_matrix, ties=ties)
    together = _always_together(np.vstack([fit.component, left_out_fits.component]))
    same = (together[:, np.newaxis] == together) & (fit.component != UNMET)
    strengths = np.vstack([fit.strengths, left_out_fits.strengths])
    strengths[np.isnan(strengths)] = 0  # without comparisons, and so alone in `together`
    centred = strengths - strengths @ same / np.maximum(same.sum(axis=0), 1)
    return LeftOut(fit, centred[1:] - centred[0], together)


def _rest(total: FloatArray, part: FloatArray) -> FloatArray:
    """The number of comparisons without a part of them. A rest from rounding is 0."""
    difference = total - part
    remaining: FloatArray = np.where(difference > ROUNDING * total, difference, 0.0)
    return remaining


def _always_together(component: IntArray) -> IntArray:
    """(n,) the lowest code among the systems that are in one component in every row of (fits, n)."""
    n = component.shape[1]
    alone = np.where(component == UNMET, -1 - np.arange(n), component)
    together: IntArray = np.array(
        [np.flatnonzero((alone == column[:, np.newaxis]).all(axis=0))[0] for column in alone.T]
    )
    return together.astype(np.int64)


def left_out_ratios(sums: npt.ArrayLike) -> FloatArray:
    """Change of each system's rate when an instance is left out.

    sums    : (n_clusters, n_systems, 2) of numerator and denominator
    returns : (n_clusters, n_systems); NaN for a system whose rate rests on one cluster, or none
    """
    rows = np.asarray(sums, dtype=np.float64)
    total = rows.sum(axis=0)
    moved: FloatArray = ratio(total - rows) - ratio(total)
    return moved


def jackknife_covariance(moved: npt.ArrayLike) -> FloatArray:
    """Covariance of scores from how far they move without one of n instances each.

    moved   : (n, n_systems)
    returns : (n_systems, n_systems); NaN in row and column of a score that is NaN without some instance
    source  : Efron and Tibshirani 1993, An Introduction to the Bootstrap, eq. 11.5
    """
    rows = np.asarray(moved, dtype=np.float64)
    if len(rows) < 2:
        return np.full((rows.shape[1], rows.shape[1]), np.nan)
    gap = rows - rows.mean(axis=0)
    variance: FloatArray = (len(rows) - 1) / len(rows) * (gap.T @ gap)
    return variance


def differences(
    value: npt.ArrayLike,
    covariance: npt.ArrayLike,
    clusters: npt.ArrayLike,
    component: npt.ArrayLike,
    *,
    least: int,
    horizon: int | None = None,
) -> Differences:
    """Test whether every two systems of one component differ.

    value, covariance : (n,) and (n, n) scores and their covariance over instances
    clusters  : (n,) instances that each score rests on; a pair has the lower one, less one, as degrees of freedom
    component : (n,) systems of unlike codes don't compare
    least     : instances below which a pair is not tested
    horizon   : planned instances where votes still come in: tests and intervals then hold at every look
    returns   : `Differences`. A pair whose difference does not vary is not tested, unless the difference is 0: p is 1
    """
    score, spread = np.asarray(value, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    n, group = code_array("clusters", clusters), code_array("component", component)
    first, second = np.triu_indices(len(score), 1)
    comparable = (group[first] == group[second]) & ~np.isnan(score[first] - score[second])
    first, second = first[comparable], second[comparable]
    gap = score[first] - score[second]
    variance = np.maximum(spread[first, first] + spread[second, second] - 2 * spread[first, second], 0)
    scale = ROUNDING * (1 + np.abs(score[first]) + np.abs(score[second]))
    error = np.where(np.sqrt(variance) > scale, np.sqrt(variance), np.where(np.isnan(variance), np.nan, 0.0))
    df: IntArray = np.minimum(n[first], n[second]) - 1
    p_value = np.full(len(gap), np.nan)
    for row in np.flatnonzero((df + 1 >= least) & ~np.isnan(error)):
        if error[row] > 0:
            p_value[row] = min(1.0, 2 * student_tail(abs(gap[row]) / error[row], int(df[row])))
            if horizon is not None:
                p_value[row] = p_value_of_look(p_value[row], int(df[row]) + 1, horizon=horizon)
        elif abs(gap[row]) <= scale[row]:
            p_value[row] = 1.0
    return Differences(first, second, gap, error, df, p_value, holm(p_value), horizon)


def ranks(value: npt.ArrayLike, better: BoolArray, component: npt.ArrayLike) -> tuple[IntArray, IntArray, IntArray]:
    """Rank of each system within its component, and the range [1 + surely better, n - surely worse].

    value   : (n,), the greatest first; NaN has no rank: 0
    better  : (n, n) whether the row's system is surely better than the column's
    returns : rank, lowest and highest number of the range; equal values share the better rank
    """
    score, group = np.asarray(value, dtype=np.float64), code_array("component", component)
    defined = ~np.isnan(score)
    same = (group[:, np.newaxis] == group) & defined & defined[:, np.newaxis]
    ahead = same & (score > score[:, np.newaxis] + ROUNDING * (1 + np.abs(score)))
    rank = np.where(defined, 1 + ahead.sum(axis=1), 0)
    low = np.where(defined, 1 + (better & same).sum(axis=0), 0)
    high = np.where(defined, same.sum(axis=1) - (better & same).sum(axis=1), 0)
    return rank, low, high
