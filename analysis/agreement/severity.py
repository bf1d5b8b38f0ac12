"""Raters' deviations from the others on the same pairs, shrunk by empirical Bayes, and the spread of raters.

An approximation to a mixed model, in closed form: a mixed ordinal model would need an optimiser or a package of models.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.grouping import groups, groups_of_rows, summed
from analysis.intervals.jackknife import MIN_CLUSTERS, ROUNDING, effective_clusters, f_tail, student_quantile
from analysis.types import FloatArray, IntArray, check_columns, code_array

MOST_RATERS = 100  # with the most values, by whom the spread of all is estimated
PRIOR_CLUSTERS = 4  # that the variance of all raters counts as, beside a rater's own
GRID = np.linspace(0, 1, 101) ** 2  # of standard deviations, in units of the range of values


@dataclass(frozen=True, eq=False)
class Severity:
    """Raters' deviations from the others on the same units, in the unit of the values.

    deviation : (n_raters,) NaN without another rater beside them
    shrunk, low, high : (n_raters,) posterior mean and interval; NaN for raters in fewer than five clusters
    compared, clusters : (n_raters,) values beside those of others, and clusters that hold them
    spread, spread_low, spread_high : standard deviation between raters, with its interval
    p_value   : of the hypothesis that no rater deviates; with the spread NaN for fewer than two raters
    """

    deviation: FloatArray
    shrunk: FloatArray
    low: FloatArray
    high: FloatArray
    compared: IntArray
    clusters: IntArray
    spread: float = math.nan
    spread_low: float = math.nan
    spread_high: float = math.nan
    p_value: float = math.nan


def severity(
    values: npt.ArrayLike,
    unit: npt.ArrayLike,
    rater: npt.ArrayLike,
    cluster: npt.ArrayLike,
    *,
    sign: npt.ArrayLike | None = None,
    n_raters: int,
    level: float = 0.95,
) -> Severity:
    """Return each rater's mean deviation from the other raters of the same units, and the spread of raters.

    With m values on a unit, a value's deviation from the mean of the others has weight (m - 1) / m, the inverse of its
    variance, so that the weighted sum of a rater is r = Σ sign (x - mean of the unit). Errors are over clusters.

    Test: Q = Σ r² / weight, over its expectation tr V when none deviates, as F with tr(V)² / tr(V²) degrees of freedom; V is the
    covariance of r / √weight over clusters. The variance between raters is (Q - tr V) / tr D, with D what deviations of
    variance 1 add to V. Its interval holds the variances that the test does not reject.

    Shrunk values are posterior means with normal deviations of raters, over a flat prior of their variance. Their likelihood
    counts as tr(V)² / tr(V²) raters, since deviations from one another are not independent.

    values : (n,) such as 1 for a tie, else 0; NaN is left out
    unit, rater, cluster : (n,) integer codes; a rater has one value on a unit
    sign   : (n,) 1 or -1: the direction in which a rater was shown the unit, 1 when left out; NaN is left out
    raises : ShapeError for columns that don't fit
    source : Brunner, Dette and Munk 1997, JASA 92, for the test; Viechtbauer 2007, Statistics in Medicine 26, for an interval
             by inverted tests; Gelman et al. 2013, Bayesian Data Analysis, §5.4; Smyth 2004, SAGMB 3, for moderated variances
    """
    x, codes = np.asarray(values, dtype=np.float64), [code_array("codes", column) for column in (unit, rater, cluster)]
    direction = np.ones(len(x)) if sign is None else np.asarray(sign, dtype=np.float64)
    check_columns(x, *codes, direction)
    size = np.bincount(codes[0][~np.isnan(x + direction)], minlength=1 + int(codes[0].max(initial=0)))
    is_counted = ~np.isnan(x + direction) & (size[codes[0]] > 1)
    x, direction = x[is_counted], direction[is_counted]
    units, raters, clusters = (column[is_counted] for column in codes)
    mean = summed(x, units, len(size)) / np.maximum(size, 1)
    (of_rater, of_cluster), cell = groups_of_rows(raters, clusters)
    columns = (direction * (x - mean[units]), 1 - 1 / size[units])
    sums, weights = (summed(column, cell, len(of_rater)) for column in columns)
    weight, n_clusters = summed(weights, of_rater, n_raters), np.bincount(of_rater, minlength=n_raters)
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation = summed(sums, of_rater, n_raters) / weight
        gap = sums - deviation[of_rater] * weights
        gap[np.abs(gap) < ROUNDING] = 0.0
        share = 1 - summed(weights**2, of_rater, n_raters) / weight**2  # of the variance, less the mean's
        scaled = gap / np.sqrt((share * weight)[of_rater])
    enough = np.flatnonzero(n_clusters >= MIN_CLUSTERS)
    tested = np.sort(enough[np.argsort(-weight[enough], kind="stable")[:MOST_RATERS]])
    position = np.full(n_raters, -1)
    position[tested] = np.arange(len(tested))
    row, part = position[raters] >= 0, position[of_rater] >= 0
    shrunk, low, high = np.full((3, n_raters), np.nan)
    counts = np.bincount(raters, minlength=n_raters), n_clusters
    if len(tested) < 2 or not scaled[part].any():
        return Severity(deviation, shrunk, low, high, *counts)
    of_mean = _table(units[row], position[raters[row]], direction[row] / np.sqrt(size[units[row]]))
    of_cells = _table(of_cluster[part], position[of_rater[part]], scaled[part])
    own_less_mean = np.diag(np.bincount(position[raters[row]])) - of_mean.T @ of_mean
    of_raters = own_less_mean @ own_less_mean / np.sqrt(np.outer(weight[tested], weight[tested]))
    error_degrees = max(1.0, effective_clusters((of_cells**2).sum(axis=1)) - 1)
    test = _Test(of_cells.T @ of_cells, of_raters, float((deviation[tested] ** 2) @ weight[tested]), error_degrees)
    grid = GRID * np.ptp(x)
    tails = [test.tail(spread**2) for spread in grid.tolist()]
    at_one = weight.copy()
    at_one[tested] = np.diagonal(of_raters)
    variance = summed(scaled**2, of_rater, n_raters)[enough] / weight[enough]
    posterior = _posterior(
        deviation[enough],
        variance,
        weight[enough],
        n_clusters[enough],
        grid[1:, np.newaxis] ** 2 * at_one[enough] / weight[enough],
        test.degrees(0.0) / len(tested),
        level,
    )
    shrunk[enough], low[enough], high[enough] = np.clip(posterior, -grid[-1], grid[-1])
    ends = np.interp([(1 - level) / 2, (1 + level) / 2], tails, grid)
    return Severity(deviation, shrunk, low, high, *counts, test.spread, float(ends[0]), float(ends[1]), tails[0])


@dataclass(frozen=True, eq=False)
class _Test:
    """The test that a variance between raters explains a sum of squares.

    of_chance, of_raters : (n, n) covariances by chance, and by raters of variance 1; error_degrees : degrees of freedom of chance
    """

    of_chance: FloatArray
    of_raters: FloatArray
    observed: float
    error_degrees: float

    @property
    def spread(self) -> float:
        """Standard deviation between raters."""
        excess = self.observed - float(np.trace(self.of_chance))
        return math.sqrt(max(0.0, excess / float(np.trace(self.of_raters))))

    def degrees(self, variance: float) -> float:
        """Degrees of freedom of the sum of squares."""
        together = self.of_chance + variance * self.of_raters
        return float(np.trace(together) ** 2 / (together**2).sum())

    def tail(self, variance: float) -> float:
        """Probability of a larger sum of squares with this variance between raters."""
        expected = float(np.trace(self.of_chance) + variance * np.trace(self.of_raters))
        return f_tail(self.observed / expected, self.degrees(variance), self.error_degrees)


def _posterior(
    deviation: FloatArray,
    variance: FloatArray,
    weight: FloatArray,
    clusters: IntArray,
    between: FloatArray,
    trust: float,
    level: float,
) -> FloatArray:
    """(3, n) means and limits of raters' deviations.

    between : (n_grid, n) variances between raters, summed over; trust : in the likelihood, see `severity`
    """
    pooled = (variance * weight).mean() / weight
    degrees = clusters - 1 + PRIOR_CLUSTERS
    moderated = ((clusters - 1) * variance + PRIOR_CLUSTERS * pooled) / degrees
    z = student_quantile((1 + level) / 2, 1e6)
    error = moderated * np.array([student_quantile((1 + level) / 2, df) / z for df in degrees.tolist()]) ** 2
    together = between + error
    likelihood = -trust / 2 * (np.log(together) + deviation**2 / together).sum(axis=1, keepdims=True)
    # Flat in the variance: with even steps of t and a standard deviation of t², it grows by 4 t³.
    shares = GRID[1:, np.newaxis] ** 1.5 * np.exp(likelihood - likelihood.max())
    shares = shares / shares.sum()
    part = between / together
    mean = (shares * part).sum(axis=0) * deviation
    half = z * np.sqrt((shares * (part * error + (part * deviation - mean) ** 2)).sum(axis=0))
    return np.stack([mean, mean - half, mean + half])


def _table(group: IntArray, column: IntArray, value: FloatArray) -> FloatArray:
    """Return a table of values, (n_groups, n_columns), with 0 where a group has none in the column."""
    row = groups(group)[1]
    table = np.zeros((int(row.max()) + 1, int(column.max()) + 1))
    table[row, column] = value
    return table
