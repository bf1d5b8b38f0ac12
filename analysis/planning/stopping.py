"""Number of instances of a batch that stops once its preference is decided."""

from dataclasses import dataclass
from math import ceil
from statistics import NormalDist

import numpy as np

from analysis.errors import UnknownValue
from analysis.intervals.jackknife import MIN_CLUSTERS
from analysis.intervals.multiple_testing import level_of_look
from analysis.types import FloatArray

STUDIES, FEWEST_STUDIES = 2_000, 200
VALUES = 1_000_000  # of all simulated studies: large ones are fewer
NORMAL = NormalDist()


@dataclass(frozen=True)
class StoppedDesign:
    """Result of `stopped_design`.

    power     : share of simulated studies that are decided within the planned instances
    instances : mean number of instances on which they stop
    fixed     : instances of a design without looks of the same power; infinite where power is 1
    equal     : mean number of instances where the true value is 1/2
    errors    : share of those studies that are decided
    """

    power: float
    instances: float
    fixed: float
    equal: float
    errors: float


def stopped_design(spread: float, planned: int, *, rate: float = 0.6, level: float = 0.95) -> StoppedDesign:
    """Simulate batches that stop as soon as the confidence sequence of the win rate leaves out one half, with seed 0.

    Instances come in one by one, each with a normal mean; the sequence is narrowest at half of the planned instances.

    spread  : standard deviation of the mean of one instance's verdicts
    planned : instances of the batch
    rate    : true win rate, other than 1/2
    raises  : UnknownValue for a spread that is not positive, fewer than five instances, or a rate of 1/2
    source  : `sequences.level_of_look`; Julious 2004, Sample sizes for clinical trials with normal data, for the fixed design
    """
    if not spread > 0 or planned < MIN_CLUSTERS or rate == 0.5:
        raise UnknownValue(
            f"need a spread above 0, five instances and a rate other than 1/2: {spread}, {planned}, {rate}"
        )
    noise = np.random.default_rng(0).normal(
        0, spread, size=(max(FEWEST_STUDIES, min(STUDIES, VALUES // planned)), planned)
    )
    n = np.arange(MIN_CLUSTERS, planned + 1)
    levels = (level_of_look(int(number), level=level, horizon=ceil(planned / 2)) for number in n)
    reach = np.array([-NORMAL.inv_cdf((1 - own) / 2) for own in levels]) * spread / np.sqrt(n)
    power, instances = _stops(noise + rate - 0.5, reach)
    errors, equal = _stops(noise, reach)
    quantiles = NORMAL.inv_cdf((1 + level) / 2) + (NORMAL.inv_cdf(power) if 0 < power < 1 else np.inf * (power or -1))
    fixed = (max(quantiles, 0.0) * spread / abs(rate - 0.5)) ** 2
    return StoppedDesign(power, instances, fixed, equal, errors)


def _stops(values: FloatArray, reach: FloatArray) -> tuple[float, float]:
    """Return the share of studies that are decided, and the mean number of instances of all."""
    n = np.arange(1, values.shape[1] + 1)
    away = np.abs(values.cumsum(axis=1) / n)[:, MIN_CLUSTERS - 1 :] > reach
    decided = away.any(axis=1)
    instances = np.where(decided, away.argmax(axis=1) + MIN_CLUSTERS, values.shape[1])
    return float(decided.mean()), float(instances.mean())
