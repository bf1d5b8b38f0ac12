"""Estimates as JSON: a value with its interval, its n, its tie rule and the number of exclusions."""

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.bootstrap import Interval, Statistic, cluster_interval, cluster_intervals, ratio
from analysis.types import FloatArray

Estimate = dict[str, Any]
NOTHING_TO_MEASURE = "nothing to measure yet"
TOO_FEW_INSTANCES = "no interval: it resamples instances, and there are fewer than two"
NO_SPREAD = "no interval: no resample of the instances has a value"


@dataclass(frozen=True)
class Resampler:
    """Settings of the bootstrap over instances: seed, rounds and level."""

    seed: int
    rounds: int
    level: float = 0.95

    def rng(self, *labels: str) -> np.random.Generator:
        """Return the generator for one estimate; it depends on its labels only, not on the other raters or measures."""
        return np.random.default_rng([self.seed, *(zlib.crc32(label.encode()) for label in labels)])


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
    why: str = NOTHING_TO_MEASURE


def estimate(
    sums: FloatArray, statistic: Statistic, basis: Basis, *, resampler: Resampler, labels: tuple[str, ...]
) -> Estimate:
    """Return the statistic of all clusters with its bootstrap interval, as a JSON object.

    sums : (n_clusters, ...) one row per instance, as `analysis.bootstrap.cluster_sums` makes them
    """
    value = float(statistic(sums.sum(axis=0)))
    if math.isnan(value):
        return build_estimate(value, None, basis, resampler, len(sums))
    interval = cluster_interval(
        sums, statistic, rng=resampler.rng(*labels), rounds=resampler.rounds, level=resampler.level
    )
    return build_estimate(value, interval, basis, resampler, len(sums))


def estimates_of_ratios(
    sums: FloatArray, bases: Sequence[Basis], *, resampler: Resampler, labels: tuple[str, ...]
) -> list[Estimate]:
    """Return several ratios of sums, each as `estimate` would, with intervals from the same resamples.

    sums : (n_clusters, n_measures, 2) one row per instance: numerator and denominator of each measure
    """
    values = ratio(sums.sum(axis=0))
    intervals = cluster_intervals(
        sums, ratio, len(bases), rng=resampler.rng(*labels), rounds=resampler.rounds, level=resampler.level
    )
    return [
        build_estimate(float(value), interval, basis, resampler, len(sums))
        for value, interval, basis in zip(values, intervals, bases, strict=True)
    ]


def build_estimate(
    value: float, interval: Interval | None, basis: Basis, resampler: Resampler, clusters: int
) -> Estimate:
    """Return a value with its interval as a JSON object; NaN as `null` with the reason.

    interval : None where there is no value; clusters : number of instances that are resampled
    """
    found: Estimate = {
        "value": number(value),
        "low": None,
        "high": None,
        "n": basis.n,
        "of": basis.of,
        "level": resampler.level,
        "tie_rule": basis.tie_rule,
        "excluded": basis.excluded,
    }
    if math.isnan(value) or interval is None:
        return {**found, "why": basis.why}
    found |= {"low": number(interval.low), "high": number(interval.high)}
    if math.isnan(interval.low):
        found["why"] = TOO_FEW_INSTANCES if clusters < 2 else NO_SPREAD
    elif interval.undefined:
        found["undefined_rounds"] = interval.undefined
    return found


def number(value: float) -> float | None:
    """Convert NaN (undefined) to `null`, and -0.0 to 0.0."""
    return None if math.isnan(value) else float(value) + 0.0


def distribution_keys(counts: dict[float, int]) -> dict[str, int]:
    """Convert the values of a distribution to JSON keys such as "0.333333"; in full precision where six digits clash."""
    short = [str(round(value, 6) + 0.0) for value in counts]
    keys = short if len(set(short)) == len(counts) else [repr(value) for value in counts]
    return dict(zip(keys, counts.values(), strict=True))
