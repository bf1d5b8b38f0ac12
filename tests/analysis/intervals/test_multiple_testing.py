"""Holm's and Benjamini and Yekutieli's adjusted p-values; intervals and p-values that hold at every look."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import ShapeError, UnknownValue
from analysis.intervals.multiple_testing import benjamini_yekutieli, holm, level_of_look, p_value_of_look

NAN = np.nan
families = st.lists(st.floats(0, 1), max_size=12)
METHODS = pytest.mark.parametrize("method", [holm, benjamini_yekutieli])


def plain_holm(p, level):
    """Which are rejected: from the smallest, until one is above level / (number not yet looked at)."""
    rejected = [False] * len(p)
    for step, k in enumerate(sorted(range(len(p)), key=lambda k: p[k])):
        if p[k] * (len(p) - step) > level:
            break
        rejected[k] = True
    return rejected


def plain_yekutieli(p, level):
    """Which are rejected: the r smallest for the largest r whose p-value is at most r / m · level / harmonic number."""
    m, harmonic = len(p), sum(1 / k for k in range(1, len(p) + 1))
    order = sorted(range(m), key=lambda k: p[k])
    last = max((r for r in range(1, m + 1) if p[order[r - 1]] * m / r * harmonic <= level), default=0)
    return [k in order[:last] for k in range(m)]


def test_holm_by_hand():
    # In order 0.005·4 = 0.02, 0.01·3 = 0.03, 0.03·2 = 0.06, and 0.04·1, which is raised to 0.06.
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])


def test_yekutieli_by_hand():
    # m = 3, 1 + 1/2 + 1/3 = 11/6: 0.01·3·11/6 = 0.055, 0.03·3/2·11/6 = 0.0825, lowered to 0.04·11/6 = 0.22/3.
    np.testing.assert_allclose(benjamini_yekutieli([0.01, 0.04, 0.03]), [0.055, 0.22 / 3, 0.22 / 3])


@pytest.mark.parametrize(("method", "plain"), [(holm, plain_holm), (benjamini_yekutieli, plain_yekutieli)])
@given(p=families, level=st.floats(0.001, 0.999))
def test_rejections_are_those_of_the_step_procedure(method, plain, p, level):
    assert (method(p) <= level).tolist() == plain(p, level)


@METHODS
@given(p=families, random=st.randoms())
def test_adjusted_values_are_no_smaller_keep_the_order_and_know_no_positions(method, p, random):
    adjusted = method(p)
    assert ((adjusted >= np.array(p) * (1 - 1e-12)) & (adjusted <= 1)).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()
    order = list(range(len(p)))
    random.shuffle(order)
    np.testing.assert_array_equal(method([p[k] for k in order]), [adjusted[k] for k in order])


@METHODS
def test_untested_ones_are_not_counted(method):
    first, second = method([0.02, 0.03])
    np.testing.assert_array_equal(method([NAN, 0.02, NAN, 0.03]), [NAN, first, NAN, second])
    assert method([0.03]).tolist() == [0.03]
    assert method([]).tolist() == []


@METHODS
def test_what_is_no_p_value_is_refused(method):
    with pytest.raises(UnknownValue, match=r"1\.5"):
        method([0.5, 1.5])
    with pytest.raises(UnknownValue, match=r"-0\.1"):
        method([-0.1])
    with pytest.raises(ShapeError):
        method([[0.1]])


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
