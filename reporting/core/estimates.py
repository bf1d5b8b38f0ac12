"""Estimates as JSON: a value with its interval, its n, its instances, its tie rule and the number of exclusions."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.grouping import count_groups
from analysis.intervals.analytic import (
    MIN_FOR_BOOTSTRAP,
    MIN_FOR_STATISTIC,
    Spread,
    mean_interval,
    ratio_spread,
    share_interval,
    sign_flip_p_value,
    statistic_error,
    statistic_interval,
)
from analysis.intervals.bootstrap import Interval, Statistic, cluster_sums, ratio
from analysis.intervals.jackknife import MIN_CLUSTERS, Bounds, mean_bounds
from analysis.intervals.multiple_testing import level_of_look, p_value_of_look
from analysis.types import FloatArray, IntArray, code_array
from annotation.core.reasons import Reason
from reporting.core.reasons import BEING_COMPUTED, NO_ROUNDS, NO_SPREAD, NOTHING_TO_MEASURE, TOO_FEW

Estimate = dict[str, Any]
UNEVEN = 0.5  # of the instances: where few have most of the units, fewer of equal size would tell as much


@dataclass(frozen=True)
class IntervalSettings:
    """Settings of intervals.

    level        : probability that an interval covers the true value
    two_way      : over instances and raters, where a measure knows its raters; else over instances
    seed, rounds : of the bootstrap, for what has no other interval
    made         : whether they are made at all: a first pass leaves them to a second one
    clusters     : (n_instances,) the cluster of each instance by its code; None where each instance is its own
    horizon      : planned clusters of batches that still collect votes: intervals and tests then hold at every look
    """

    level: float = 0.95
    two_way: bool = False
    seed: int = 0
    rounds: int = 1000
    made: bool = True
    clusters: IntArray | None = field(default=None, compare=False)
    horizon: int | None = None

    def level_of(self, n: int) -> float:
        """Return the level at which an interval over n clusters is made."""
        return self.level if self.horizon is None or n < 1 else level_of_look(n, level=self.level, horizon=self.horizon)

    def p_value_of(self, p_value: float, n: int) -> float:
        """Return the two-sided p-value of a test over n clusters."""
        return p_value if self.horizon is None or n < 1 else p_value_of_look(p_value, n, horizon=self.horizon)

    @property
    def unit(self) -> str:
        """Name what is sampled."""
        return "instances" if self.clusters is None else "clusters"

    def cluster(self, instance: npt.ArrayLike) -> IntArray:
        """Return the clusters over which intervals are, by the codes of the instances."""
        codes = code_array("instance", instance)
        return codes if self.clusters is None else self.clusters[codes]

    def rng(self) -> np.random.Generator:
        """Return the generator of the resamples: the same for every number, so that equal data have equal intervals."""
        return np.random.default_rng(self.seed)


@dataclass(frozen=True)
class Basis:
    """The denominator of an estimate.

    n, of    : how many units were counted, and of which kind
    tie_rule : how a tie is counted
    excluded : how many units were left out
    why      : reason to show when the value is undefined
    """

    n: int
    of: str
    tie_rule: str
    excluded: int = 0
    why: Reason = NOTHING_TO_MEASURE


def share_estimate(
    rows: npt.ArrayLike,
    instance: npt.ArrayLike,
    basis: Basis,
    settings: IntervalSettings,
    *,
    rater: npt.ArrayLike | None = None,
    exact: bool = False,
) -> Estimate:
    """Return a share of units that are 0 or 1, with the interval of `analysis.intervals.analytic.share_interval`.

    rows  : (n, 2) numerator and denominator per unit; instance : (n,) codes
    rater : (n,) codes, for an interval over instances and raters where the settings ask for it
    exact : whether one half is tested exactly
    """
    if not settings.made:
        return _ratio_alone(rows, instance, basis, settings)
    spread = ratio_spread(rows, settings.cluster(instance), rater if settings.two_way else None)
    if exact:
        spread = exactly_tested(spread, rows, settings.cluster(instance), 0.5)
    return share_of_spread(spread, basis, settings) | _instances(rows, instance, settings)


def share_of_spread(spread: Spread, basis: Basis, settings: IntervalSettings) -> Estimate:
    """Return `share_estimate` where the share has its standard error."""
    return _of_spread(spread, share_interval(spread, level=settings.level_of(spread.clusters)), basis, settings)


def mean_estimate(
    rows: npt.ArrayLike,
    instance: npt.ArrayLike,
    basis: Basis,
    settings: IntervalSettings,
    *,
    floor: float = 0.0,
    ceiling: float = 1.0,
    rater: npt.ArrayLike | None = None,
    exact: bool = False,
) -> Estimate:
    """Return a mean or a paired difference in a range, with the interval of `analysis.intervals.analytic.mean_interval`.

    rows  : (n, 2) sum and weight per unit; instance, rater : as `share_estimate`
    floor, ceiling : the range of the mean; may be infinite
    exact : whether the middle of the range is tested exactly: of wins and losses
    """
    if not settings.made:
        return _ratio_alone(rows, instance, basis, settings)
    spread = ratio_spread(rows, settings.cluster(instance), rater if settings.two_way else None)
    if exact:
        spread = exactly_tested(spread, rows, settings.cluster(instance), (floor + ceiling) / 2)
    bounds = mean_of_spread(spread, basis, settings, floor=floor, ceiling=ceiling)
    return bounds | _instances(rows, instance, settings)


def exactly_tested(spread: Spread, rows: npt.ArrayLike, cluster: IntArray, middle: float) -> Spread:
    """Add the exact test of a mean of wins and losses against the middle of its range."""
    sums = cluster_sums(rows, cluster)
    return replace(spread, exact=sign_flip_p_value((sums[:, 0] - middle * sums[:, 1]) * (2 if middle else 1)))


def mean_of_spread(
    spread: Spread, basis: Basis, settings: IntervalSettings, *, floor: float = 0.0, ceiling: float = 1.0
) -> Estimate:
    """Return `mean_estimate` where the mean has its standard error."""
    bounds = mean_interval(spread, floor=floor, ceiling=ceiling, level=settings.level_of(spread.clusters))
    return _of_spread(spread, bounds, basis, settings)


def bounded_estimate(
    sums: FloatArray,
    statistic: Statistic,
    basis: Basis,
    settings: IntervalSettings,
    *,
    floor: float = 0.0,
    ceiling: float = 1.0,
    clusters: int | None = None,
) -> Estimate:
    """Return a bounded mean or difference, other than a ratio of sums, with Student's t interval.

    sums     : (n_instances, ...) one row per instance that counts anything
    clusters : instances that the interval rests on, where that is not all of them: in a difference, those of the smaller side
    """
    value, n = _value(sums, statistic), len(sums) if clusters is None else clusters
    level, error = settings.level_of(n), statistic_error(sums, statistic)
    bounds = mean_bounds(value, error, n, floor=floor, ceiling=ceiling, level=level)
    return estimate_with_bounds(value, (bounds.low, bounds.high), basis, settings, n, minimum=MIN_CLUSTERS)


def statistic_estimate(
    sums: FloatArray,
    statistic: Statistic,
    basis: Basis,
    settings: IntervalSettings,
    *,
    instances: int | None = None,
    ceiling: float = math.inf,
) -> Estimate:
    """Return a statistic other than a mean (kappa, alpha) with the interval of `analysis.intervals.analytic.statistic_interval`.

    sums      : (n_clusters, ...) one row per cluster that counts anything
    instances : in these clusters; as many as clusters when left out
    """
    value, n = _value(sums, statistic), len(sums)
    if not settings.made:
        return value_estimate(value, basis, settings, n)
    error = statistic_error(sums, statistic) if n >= MIN_FOR_STATISTIC else math.nan
    bounds = statistic_interval(value, error, n, ceiling=ceiling, level=settings.level_of(n))
    estimate = estimate_with_bounds(value, (bounds.low, bounds.high), basis, settings, n, minimum=MIN_FOR_STATISTIC)
    return estimate if settings.clusters is None or instances is None else {**estimate, "n_instances": instances}


def value_estimate(value: float, basis: Basis, settings: IntervalSettings, instances: int) -> Estimate:
    """Return a value whose interval is left to a second pass."""
    why = basis.why if math.isnan(value) else BEING_COMPUTED
    return {**_estimate(value, basis, settings, instances), **why.as_json()}


def build_estimate(
    value: float,
    interval: Interval | None,
    basis: Basis,
    settings: IntervalSettings,
    instances: int,
    *,
    minimum: int = MIN_FOR_BOOTSTRAP,
) -> Estimate:
    """Return a value with a bootstrap interval as a JSON object. NaN becomes `null` with the reason.

    interval : None where there is no value; instances : number of those that are resampled; minimum : how many it needs
    """
    estimate = _estimate(value, basis, settings, instances)
    if math.isnan(value) or interval is None:
        return {**estimate, **basis.why.as_json()}
    if instances < minimum:
        return {**estimate, **TOO_FEW.with_values(of=settings.unit, least=minimum).as_json()}
    estimate |= {"low": number(interval.low), "high": number(interval.high)}
    if math.isnan(interval.low):
        estimate |= NO_ROUNDS.as_json()
    elif interval.undefined:
        estimate["undefined_rounds"] = interval.undefined
    return estimate


def estimate_with_bounds(
    value: float, limits: tuple[float, float], basis: Basis, settings: IntervalSettings, instances: int, *, minimum: int
) -> Estimate:
    """Return a value with a given interval as a JSON object. NaN becomes `null` with the reason.

    instances : number of those that the interval rests on; minimum : how many it needs
    """
    estimate = _estimate(value, basis, settings, instances)
    if math.isnan(value):
        return {**estimate, **basis.why.as_json()}
    low, high = map(number, limits)
    if low is None:
        why = TOO_FEW.with_values(of=settings.unit, least=minimum) if instances < minimum else NO_SPREAD
        return {**estimate, **why.as_json()}
    return {**estimate, "low": low, "high": high}


def number(value: float) -> float | None:
    """Convert NaN (undefined) to `null`, and -0.0 to 0.0."""
    return None if math.isnan(value) else float(value) + 0.0


def numbers(values: FloatArray) -> list[float | None]:
    """Convert an array as `number` does each value."""
    converted: list[float | None] = (values + 0.0).tolist()
    for index in np.flatnonzero(np.isnan(values)).tolist():
        converted[index] = None
    return converted


def distribution_keys(counts: dict[float, int]) -> dict[str, int]:
    """Convert the values of a distribution to JSON keys such as "0.333333", in full precision where six digits clash."""
    short = [str(round(value, 6) + 0.0) for value in counts]
    keys = short if len(set(short)) == len(counts) else [repr(value) for value in counts]
    return dict(zip(keys, counts.values(), strict=True))


def _ratio_alone(rows: npt.ArrayLike, instance: npt.ArrayLike, basis: Basis, settings: IntervalSettings) -> Estimate:
    table = np.asarray(rows, dtype=np.float64).reshape(-1, 2)
    codes, counts = code_array("instance", instance), table[:, 1] > 0
    instances = count_groups(codes if counts.all() else codes[counts])
    total = np.einsum("ij->j", table)  # adds row by row as `sum(axis=0)` does, in a quarter of its time
    return value_estimate(float(ratio(total)), basis, settings, instances)


def _instances(rows: npt.ArrayLike, instance: npt.ArrayLike, settings: IntervalSettings) -> Estimate:
    """Return the number of instances that a ratio rests on, where its interval is over clusters."""
    if settings.clusters is None:
        return {}
    counts = np.asarray(rows, dtype=np.float64).reshape(-1, 2)[:, 1] > 0
    return {"n_instances": count_groups(code_array("instance", instance)[counts])}


def _value(sums: FloatArray, statistic: Statistic) -> float:
    return float(statistic(sums.sum(axis=0)))


def _estimate(value: float, basis: Basis, settings: IntervalSettings, instances: int) -> Estimate:
    return {
        "value": number(value),
        "low": None,
        "high": None,
        "n": basis.n,
        "of": basis.of,
        "n_instances": instances if settings.clusters is None else None,
        **({} if settings.clusters is None else {"n_clusters": instances}),
        "level": settings.level,
        "tie_rule": basis.tie_rule,
        "excluded": basis.excluded,
        **({"over": ["instances"]} if settings.two_way else {}),
    }


def _of_spread(spread: Spread, bounds: Bounds, basis: Basis, settings: IntervalSettings) -> Estimate:
    limits = bounds.low, bounds.high
    estimate = estimate_with_bounds(spread.value, limits, basis, settings, spread.instances, minimum=MIN_CLUSTERS)
    if spread.raters is None:
        is_uneven = estimate["low"] is not None and spread.effective < UNEVEN * spread.instances
        return {**estimate, "effective_n": round(spread.effective, 1)} if is_uneven else estimate
    estimate |= {"over": ["instances", "raters"], "n_raters": spread.raters}
    if estimate["value"] is not None and spread.instances >= MIN_CLUSTERS > spread.raters:
        estimate |= TOO_FEW.with_values(of="raters", least=MIN_CLUSTERS).as_json()
    return estimate
