"""Intervals hold the true value as often as they say: the cases of `bench.coverage` that were worst by Student's t alone."""

import numpy as np
import pytest

from bench import _coverage_populations as populations
from bench.coverage import LEAST, simulated

pytestmark = pytest.mark.slow

BY_NAME = {one.name: one for one in [*populations.means(), *populations.paired(), *populations.shares()]}
NOISE = 0.02  # two standard errors of a coverage of .95 in 400 studies


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("win rate 0.1, ICC 0.3, 1 to 20", 13),
        ("win rate 0.9, ICC 0.3, 1 to 3 or 15", 20),
        ("consistency 0.1, mostly 0, ICC 0.3, 1 to 20", 8),
        ("consistency 0.9, mostly 1, ICC 0.3, 1 to 20", 13),
        ("paired difference 0.80, ICC 0.3, 5 units", 8),
        ("share 0.1, ICC 0.3, 1 to 20", 5),
    ],
)
def test_interval_covers_as_often_as_it_should(name, n):
    found = simulated(BY_NAME[name], n, 400)
    assert found.margin > -NOISE
    assert n < 13 or found.width < 1.5


def test_coverage_counts_what_lies_on_either_side():
    def simulate(rng, n, studies):
        value = np.array([1.0, 2.0, 3.0, 4.0])
        return value, np.array([2.0, 1.0, np.nan, 3.5]), np.array([3.0, 3.0, np.nan, 4.0])

    found = simulated(populations.Population("told", 2.5, simulate), 20, 4)
    assert (found.covered, found.above, found.below, found.without) == pytest.approx((2 / 3, 1 / 3, 0, 1 / 4))
    assert found.misses
    assert found.margin == pytest.approx(2 / 3 - LEAST[20])
