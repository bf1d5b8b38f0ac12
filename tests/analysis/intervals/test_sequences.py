"""Confidence sequences: intervals and p-values that hold at every look."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import UnknownValue
from analysis.intervals.multiple_testing import level_of_look, p_value_of_look

NUMBERS = st.integers(1, 100_000)


@pytest.mark.parametrize(("n", "k"), [(5, 4.56395), (20, 3.31572), (100, 3.03545), (1000, 3.25536)])
def test_levels_are_those_of_the_published_boundary(n: int, k: float) -> None:
    """The boundary of eq. 1, computed by hand for a horizon of 100."""
    rho = math.sqrt((-2 * math.log(0.05) + math.log(-2 * math.log(0.05)) + 1) / 100)
    t = n * rho**2
    boundary = math.sqrt(2 * (t + 1) / (n**2 * rho**2) * math.log(math.sqrt(t + 1) / 0.05)) * math.sqrt(n)
    assert boundary == pytest.approx(k, abs=1e-4)
    level = level_of_look(n, horizon=100)
    assert math.erfc(k / math.sqrt(2)) == pytest.approx(1 - level, rel=1e-3)


@given(NUMBERS, NUMBERS, st.floats(0.5, 0.999))
def test_an_interval_leaves_out_what_its_test_rejects(n: int, horizon: int, level: float) -> None:
    of_look = level_of_look(n, level=level, horizon=horizon)
    assert of_look >= level
    assert p_value_of_look(level, n, horizon=horizon) >= level - 1e-12
    if 1 - of_look > 1e-10:
        assert p_value_of_look(1 - of_look, n, horizon=horizon) == pytest.approx(1 - level, rel=1e-4)


def test_what_cannot_be_told_stays_so() -> None:
    assert math.isnan(p_value_of_look(math.nan, 10, horizon=100))
    assert p_value_of_look(0.0, 10, horizon=100) == 0
    assert p_value_of_look(1.0, 10, horizon=100) == 1
    for n, horizon in ((0, 10), (10, 0)):
        with pytest.raises(UnknownValue):
            level_of_look(n, horizon=horizon)


def test_a_hundred_looks_rarely_leave_out_the_truth() -> None:
    rng = np.random.default_rng(1)
    values = rng.choice([-1.0, 0.0, 1.0], size=(2000, 100))
    n = np.arange(1, 101)
    means = values.cumsum(axis=1) / n
    errors = np.sqrt((values**2).cumsum(axis=1) / n - means**2 + 1e-12) / np.sqrt(n)
    ks = np.array([-NormalDist().inv_cdf((1 - level_of_look(int(i), horizon=100)) / 2) for i in n])
    outside = (np.abs(means) > ks * errors)[:, 19:].any(axis=1).mean()
    fixed = (np.abs(means) > 1.96 * errors)[:, 19:].any(axis=1).mean()
    assert outside < 0.05
    assert fixed > 0.2
