"""Shares as the judges' pages show them: a value, its n, its interval over instances, and what was left out."""

import math
import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.bootstrap import Statistic, cluster_interval, cluster_sums, ratio

ROUNDS, FEWEST_ROUNDS, LEVEL = 1000, 100, 0.95
MOST_DRAWN = 4_000_000  # draws of an instance for one interval: a page does not wait longer than a moment


@dataclass(frozen=True)
class Share:
    """An estimate; `None` where it is undefined.

    n        : how many verdicts, pairs or answers it is a share of
    left_out : those that were there and are in neither part of it
    rounds   : resamples of the instances behind the interval; 0 where there is none
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    left_out: int
    rounds: int

    @property
    def percent(self) -> float | None:
        """The share in percent, for meters."""
        return None if self.value is None else 100 * self.value


def share(sums: npt.ArrayLike, instance: npt.ArrayLike, label: str, *, left_out: int = 0) -> Share:
    """Return the ratio of two columns of per-unit sums, with its interval over instances.

    sums  : (n_units, 2); instance : (n_units,) codes; label : names the number, for the seed of its interval
    """
    table = np.asarray(sums, dtype=np.float64).reshape(-1, 2)
    return statistic_of(table, instance, ratio, label, n=int(table[:, 1].sum()), left_out=left_out)


def statistic_of(
    sums: npt.ArrayLike, instance: npt.ArrayLike, statistic: Statistic, label: str, *, n: int, left_out: int = 0
) -> Share:
    """Return any statistic of per-unit sums, with its interval over instances; the same label draws the same."""
    clusters = cluster_sums(sums, instance)
    value = float(statistic(clusters.sum(axis=0)))
    if math.isnan(value):
        return Share(None, None, None, n, left_out, 0)
    rounds = max(FEWEST_ROUNDS, min(ROUNDS, MOST_DRAWN // max(len(clusters), 1)))
    rng = np.random.default_rng([0, zlib.crc32(label.encode())])
    interval = cluster_interval(clusters, statistic, rng=rng, rounds=rounds, level=LEVEL)
    if math.isnan(interval.low):
        return Share(value + 0.0, None, None, n, left_out, 0)
    return Share(value + 0.0, interval.low, interval.high, n, left_out, rounds)
