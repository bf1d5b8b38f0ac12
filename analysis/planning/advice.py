"""Consistency as a function of separability: a logistic curve, its crossing of one half, and what a cut saves.

Rating sets are first summed per matchup (`aggregate_sets`): all sets of a matchup share its separability, so a fit
needs only their number and total consistency, and a bootstrap round only how often each instance is drawn.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from analysis.errors import NotEnough, ShapeError, UnknownValue
from analysis.grouping import summed
from analysis.intervals.bootstrap import Interval, check_resampling, drawn_blocks, interval_of, quotient, ratio
from analysis.intervals.logistic import ends, expit, newton, separation
from analysis.types import BoolArray, FloatArray, IntArray, check_columns, code_array, share_array


@dataclass(frozen=True, eq=False)
class Pilot:
    """Rating sets of one rater, summed per matchup.

    delta    : (n,) separability
    sets     : (n,) rating sets
    total    : (n,) sum of their consistencies
    consistent : (n,) those of consistency 1
    instance : (n,) code of the instance, the unit of the bootstrap
    excluded : rating sets without a consistency or whose matchup has no separability
    """

    delta: FloatArray
    sets: FloatArray
    total: FloatArray
    consistent: FloatArray
    instance: IntArray
    excluded: int

    def __len__(self) -> int:
        return len(self.delta)


def aggregate_sets(delta: npt.ArrayLike, consistency: npt.ArrayLike, instance: npt.ArrayLike) -> Pilot:
    """Sum rating sets per (instance, separability).

    delta       : (n_sets,) separability of each set's matchup; NaN where it is undefined
    consistency : (n_sets,) from 0 to 1; NaN where a set has no rating
    instance    : (n_sets,) integer codes
    raises      : ShapeError if the columns are not 1-D and of one length; UnknownValue for a consistency outside
                  [0, 1], an infinite separability or codes that are not integers
    """
    x, c = np.asarray(delta, dtype=np.float64), share_array("consistencies", consistency)
    codes = code_array("instance", instance)
    check_columns(x, c, codes)
    if np.isinf(x).any():
        raise UnknownValue("separability must be finite")
    defined = ~np.isnan(x) & ~np.isnan(c)
    x, c, codes = x[defined], c[defined], codes[defined]
    rows, index = np.unique(np.stack([codes.astype(np.float64), x], axis=1), axis=0, return_inverse=True)
    n = len(rows)
    return Pilot(
        delta=rows[:, 1],
        sets=summed(np.ones(len(c)), index, n),
        total=summed(c, index, n),
        consistent=summed(c == 1, index, n),
        instance=rows[:, 0].astype(np.int64),
        excluded=int((~defined).sum()),
    )


class Curves(NamedTuple):
    """Fits of logit(mean consistency) = intercept + slope · δ, one per row of weights.

    slope     : ±inf where the sets are separated: a step, at `step`; NaN where it is undefined: all sets alike, one
                separability only, or no convergence
    intercept : NaN where the slope is not finite
    level     : mean consistency of all sets
    """

    intercept: FloatArray
    slope: FloatArray
    step: FloatArray
    level: FloatArray
    iterations: int
    converged: BoolArray

    def at(self, delta: npt.ArrayLike) -> FloatArray:
        """(rounds, n) fitted mean consistency at each separability. NaN where there is no fit."""
        x = np.asarray(delta, dtype=np.float64)[np.newaxis, :]
        smooth = expit(
            self.intercept[:, np.newaxis] + np.where(np.isfinite(self.slope), self.slope, 0)[:, np.newaxis] * x
        )
        rise = np.sign(np.where(np.isinf(self.slope), self.slope, 0))[:, np.newaxis]
        stepped = np.where(rise == 0, np.nan, 0.5 + 0.5 * rise * np.sign(x - self.step[:, np.newaxis]))
        fitted: FloatArray = np.where(np.isfinite(self.slope)[:, np.newaxis], smooth, stepped)
        return fitted

    def crossing(self) -> FloatArray:
        """(rounds,) separability at which the mean consistency rises through a half. NaN where it doesn't rise."""
        crossings = np.where(self.slope == np.inf, self.step, np.nan)
        rising = np.isfinite(self.slope) & (self.slope > 0)
        crossings[rising] = 0.0 - self.intercept[rising] / self.slope[rising]
        return crossings


def fit(pilot: Pilot, times: npt.ArrayLike | None = None) -> Curves:
    """Fit the fractional logit by damped Newton steps, for the pilot itself or for resamples of it.

    times   : (rounds, n) how often each row of the pilot is drawn; once each when left out
    returns : `Curves`. Where the sets are separated (every set below some separability is inconsistent and every one
              above it fully consistent, or the reverse) the likelihood has no maximum: the fit is a step, halfway
              between the two sides
    raises  : NotEnough for an empty pilot; ShapeError if times do not fit
    source  : Papke and Wooldridge 1996, Econometric methods for fractional response variables; Albert and Anderson
              1984, On the existence of maximum likelihood estimates in logistic regression models, for separation
    """
    if not len(pilot):
        raise NotEnough("no rating set with a consistency and a separability")
    drawn = np.ones((1, len(pilot))) if times is None else np.asarray(times, dtype=np.float64)
    if drawn.ndim != 2 or drawn.shape[1] != len(pilot):
        raise ShapeError(f"need times of shape (rounds, {len(pilot)}), got {drawn.shape}")
    won, sets = drawn * pilot.total, drawn * pilot.sets
    lost = drawn * (pilot.sets - pilot.total)
    level = quotient(won.sum(axis=1), sets.sum(axis=1))
    slope, step = separation(pilot.delta, won, lost)
    intercept = np.full(len(drawn), np.nan)
    converged = np.isinf(slope)
    lowest, highest = ends(pilot.delta, sets > 0)
    undetermined = ~converged & (lowest < highest) & (level > 0) & (level < 1)
    center, scale = float(pilot.delta.mean()), float(pilot.delta.std()) or 1.0
    p = level[undetermined]
    start = np.stack([np.log(p) - np.log1p(-p), np.zeros(len(p))], axis=1)
    coefficients, done, iterations = newton(
        (pilot.delta - center) / scale, won[undetermined], sets[undetermined], start
    )
    coefficients[~done] = np.nan
    slope[undetermined] = coefficients[:, 1] / scale
    intercept[undetermined] = coefficients[:, 0] - coefficients[:, 1] * center / scale
    converged[undetermined] = done
    return Curves(intercept, slope, step, level, iterations, converged)


class NoCrossing(StrEnum):
    """Reasons why a curve does not rise through a half."""

    ONE_VALUE = "one value"
    ALL_INCONSISTENT = "all inconsistent"
    ALL_CONSISTENT = "all consistent"
    NOT_RISING = "not rising"
    BELOW_SUPPORT = "below support"
    ABOVE_SUPPORT = "above support"


@dataclass(frozen=True, eq=False)
class Relation:
    """The relation of separability and consistency in a pilot.

    slope       : log-odds of consistency per unit of separability; infinite for a step, NaN where undefined
    crossing    : separability at which the fitted mean consistency rises through a half; NaN for the reason in `why`
    outside_support : rounds whose crossing lies outside the support; they count as its nearer end
    band        : (2, n_grid) interval of the curve at `grid`
    """

    slope: float
    slope_interval: Interval
    crossing: float
    crossing_interval: Interval
    outside_support: int
    why: NoCrossing | None
    separated: bool
    iterations: int
    support: tuple[float, float]
    grid: FloatArray
    curve: FloatArray
    band: FloatArray


GRID = 41


def fit_relation(pilot: Pilot, *, rng: np.random.Generator, rounds: int = 1000, level: float = 0.95) -> Relation:
    """Fit the curve and find its crossing, with intervals from a cluster bootstrap over instances.

    returns : `Relation`. A crossing outside the support of the pilot's separability is none: there the curve is a
              guess. In the interval, rounds that cross outside it count as the nearer end, and rounds in which
              consistency does not rise are undefined and counted
    raises  : NotEnough for an empty pilot; AnalysisError for a bad level or number of rounds
    """
    check_resampling(level, rounds)
    curves = fit(pilot)
    low, high = float(pilot.delta.min()), float(pilot.delta.max())
    grid = np.linspace(low, high, GRID)
    slopes, crossings, fitted = _resampled(pilot, grid, rng, rounds)
    outside = int(((crossings < low) | (crossings > high)).sum())
    with np.errstate(invalid="ignore"):
        ends = [_quantile(column, level) for column in fitted.T]
    slope, crossing = float(curves.slope[0]), float(curves.crossing()[0])
    why = _why(pilot, slope, float(curves.level[0]), crossing)
    return Relation(
        slope=slope,
        slope_interval=_interval_with_infinite(slopes, level),
        crossing=float("nan") if why else crossing,
        crossing_interval=interval_of(np.clip(crossings, low, high), level),
        outside_support=outside,
        why=why,
        separated=bool(np.isinf(slope)),
        iterations=curves.iterations,
        support=(low, high),
        grid=grid,
        curve=curves.at(grid)[0],
        band=np.array(ends).T,
    )


def cut_sums(pilot: Pilot, threshold: float) -> FloatArray:
    """Sums per matchup of what a cut at a separability keeps and leaves out.

    returns : (n, 4, 2) numerators and denominators of the mean consistency of all sets, of those at or above the
              threshold, of those below it, and of the share of fully consistent sets among those below
    """
    included = (pilot.delta >= threshold).astype(np.float64)
    excluded = 1 - included
    pairs = [
        (pilot.total, pilot.sets),
        (pilot.total * included, pilot.sets * included),
        (pilot.total * excluded, pilot.sets * excluded),
        (pilot.consistent * excluded, pilot.sets * excluded),
    ]
    return np.stack([np.stack(pair, axis=-1) for pair in pairs], axis=1)


def cut_statistic(totals: FloatArray) -> FloatArray:
    """Mean consistency of all, of the kept and of those left out, the kept less all, consistent share of those left out.

    totals  : (..., 4, 2) as `cut_sums` adds up to
    returns : (..., 5), NaN where a denominator is 0
    """
    shares = ratio(totals)
    gain = shares[..., 1] - shares[..., 0]
    return np.stack([shares[..., 0], shares[..., 1], shares[..., 2], gain, shares[..., 3]], axis=-1)


class Savings(NamedTuple):
    """Planned ratings that a cut saves. Matchups without a separability are rated either way."""

    below: int
    known: int
    missing: int
    saved: int
    planned: int


def savings(delta: npt.ArrayLike, threshold: float, ratings_per_matchup: int) -> Savings:
    """Count the ratings of matchups below a threshold, out of all that are planned.

    delta               : (n_matchups,) separability of all that could be rated; NaN where undefined
    ratings_per_matchup : pairs times raters
    """
    values = np.asarray(delta, dtype=np.float64)
    defined = ~np.isnan(values)
    n_below = int((values[defined] < threshold).sum())
    return Savings(
        n_below,
        int(defined.sum()),
        int((~defined).sum()),
        n_below * ratings_per_matchup,
        values.size * ratings_per_matchup,
    )


def _resampled(
    pilot: Pilot, grid: FloatArray, rng: np.random.Generator, rounds: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    instances, index = np.unique(pilot.instance, return_inverse=True)
    slopes, crossings, fitted = np.full(rounds, np.nan), np.full(rounds, np.nan), np.full((rounds, len(grid)), np.nan)
    if len(instances) < 2:
        return slopes, crossings, fitted
    for block, times in drawn_blocks(len(instances), rounds, rng, width=len(pilot)):
        curves = fit(pilot, times[:, index])
        slopes[block], crossings[block], fitted[block] = curves.slope, curves.crossing(), curves.at(grid)
    return slopes, crossings, fitted


def _why(pilot: Pilot, slope: float, level: float, crossing: float) -> NoCrossing | None:
    if level in (0, 1):
        return NoCrossing.ALL_CONSISTENT if level else NoCrossing.ALL_INCONSISTENT
    if pilot.delta.min() == pilot.delta.max():
        return NoCrossing.ONE_VALUE
    if not slope > 0:
        return NoCrossing.NOT_RISING
    if crossing < pilot.delta.min():
        return NoCrossing.BELOW_SUPPORT
    return NoCrossing.ABOVE_SUPPORT if crossing > pilot.delta.max() else None


def _interval_with_infinite(values: FloatArray, level: float) -> Interval:
    """As `interval_of`, but an infinite slope is a slope: a bound may be infinite."""
    defined = np.sort(values[~np.isnan(values)])
    if not defined.size:
        return Interval(np.nan, np.nan, level, len(values), undefined=len(values))
    low, high = _quantile(defined, level)
    return Interval(low, high, level, len(values), undefined=len(values) - defined.size)


def _quantile(values: FloatArray, level: float) -> tuple[float, float]:
    """Quantiles that are values of the sample, since those between a number and infinity are none."""
    defined = values[~np.isnan(values)]
    if not defined.size:
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2], method="closest_observation")
    return float(low), float(high)
