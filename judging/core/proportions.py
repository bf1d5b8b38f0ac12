"""Proportions as the judges' pages show them: value, n, bootstrap interval over instances, and exclusions."""

import math
import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.bootstrap import Statistic, cluster_interval, cluster_sums, ratio

RESAMPLES, MIN_RESAMPLES, LEVEL = 1000, 100, 0.95
MAX_DRAWS = 4_000_000  # resampled instances per interval, so that a page stays fast


@dataclass(frozen=True)
class Proportion:
    """An estimate; `None` where it is undefined.

    n        : verdicts, pairs or answers in the denominator
    left_out : those excluded from it
    rounds   : bootstrap resamples behind the interval; 0 without one
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    left_out: int
    rounds: int

    @property
    def percent(self) -> float | None:
        """The proportion in percent, for meters."""
        return None if self.value is None else 100 * self.value


def proportion(sums: npt.ArrayLike, instance: npt.ArrayLike, label: str, *, left_out: int = 0) -> Proportion:
    """Return the ratio of two columns of per-unit sums, with its interval over instances.

    sums  : (n_units, 2); instance : (n_units,) codes; label : seeds the interval
    """
    table = np.asarray(sums, dtype=np.float64).reshape(-1, 2)
    return statistic_of(table, instance, ratio, label, n=int(table[:, 1].sum()), left_out=left_out)


def statistic_of(
    sums: npt.ArrayLike, instance: npt.ArrayLike, statistic: Statistic, label: str, *, n: int, left_out: int = 0
) -> Proportion:
    """Return a statistic of per-unit sums, with its interval over instances; the label seeds the resampling."""
    clusters = cluster_sums(sums, instance)
    value = float(statistic(clusters.sum(axis=0)))
    if math.isnan(value):
        return Proportion(None, None, None, n, left_out, 0)
    rounds = max(MIN_RESAMPLES, min(RESAMPLES, MAX_DRAWS // max(len(clusters), 1)))
    rng = np.random.default_rng([0, zlib.crc32(label.encode())])
    interval = cluster_interval(clusters, statistic, rng=rng, rounds=rounds, level=LEVEL)
    if math.isnan(interval.low):
        return Proportion(value + 0.0, None, None, n, left_out, 0)
    return Proportion(value + 0.0, interval.low, interval.high, n, left_out, rounds)
