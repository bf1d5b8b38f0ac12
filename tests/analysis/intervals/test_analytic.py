"""Intervals over instances: known values, images of one another, few and equal instances."""

import math
from dataclasses import astuple, replace
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from analysis.agreement.coefficients import alpha_from_coincidences, coincidences
from analysis.errors import AnalysisError, ShapeError
from analysis.intervals.analytic import (
    Spread,
    effective_units,
    mean_interval,
    ratio_spread,
    ratio_spreads,
    share_interval,
    sign_flip_p_value,
    statistic_error,
    statistic_interval,
    two_sided_p_value,
)
from analysis.intervals.bootstrap import cluster_sums, ratio
from analysis.intervals.jackknife import (
    beta_quantile,
    clopper_pearson,
    effective_clusters,
    student_quantile,
    two_way_variance,
)

columns = st.lists(
    st.tuples(st.sampled_from([-1.0, 0.0, 1.0]), st.integers(0, 7), st.integers(0, 6)), min_size=1, max_size=40
)


def rows_of(values):
    return np.stack([np.asarray(values, dtype=float), np.ones(len(values))], axis=1)


@pytest.mark.parametrize(
    ("count", "n", "low", "high"),
    [  # R: binom.test
        (0, 10, 0.0, 0.3084971),
        (1, 10, 0.002528579, 0.4450161),
        (5, 10, 0.1870860, 0.8129140),
        (10, 10, 0.6915029, 1.0),
        (3, 8, 0.08523341, 0.7551368),
        (50, 1000, 0.03733540, 0.06539049),
    ],
)
def test_clopper_and_pearsons_limits_as_printed(count, n, low, high):
    assert clopper_pearson(count, n) == pytest.approx((low, high), abs=1e-6)


@given(st.floats(0.01, 0.99), st.integers(1, 60), st.integers(1, 60))
def test_beta_quantile_is_where_the_binomial_tail_has_the_share(share, a, b):
    x, n = beta_quantile(share, a, b), a + b - 1
    tail = sum(math.comb(n, k) * x**k * (1 - x) ** (n - k) for k in range(a, n + 1))
    assert tail == pytest.approx(share, rel=1e-9)
    assert 1 - beta_quantile(1 - share, b, a) == pytest.approx(x, abs=1e-12)


@pytest.mark.parametrize("arguments", [(0, 1, 1), (1, 1, 1), (0.5, 0, 1), (0.5, 1, math.nan)])
def test_beta_quantile_of_nothing_is_refused(arguments):
    with pytest.raises(AnalysisError, match="above 0"):
        beta_quantile(*arguments)


def test_one_unit_an_instance_is_clopper_and_pearson():
    spread = ratio_spread(rows_of([1] * 5 + [0] * 5), np.arange(10))
    assert effective_units(spread) == pytest.approx(10)
    found = share_interval(spread)
    assert (found.low, found.high) == pytest.approx((0.1870860, 0.8129140), abs=1e-6)


def test_the_effective_number_by_hand():
    # Six instances of two units: 2, 2, 1, 1, 0, 0 of 2. p = 1/2; deviations of the means 1/2, 1/2, 0, 0, -1/2, -1/2.
    values, instance = [1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0], np.repeat(np.arange(6), 2)
    spread = ratio_spread(rows_of(values), instance)
    assert spread.error**2 == pytest.approx(1.0 / 5 / 6)  # sum of squares 1, over (6 - 1) 6
    n = 12 * (0.25 / 11) / (1 / 30) * (student_quantile(0.975, 11) / student_quantile(0.975, 5)) ** 2
    assert effective_units(spread) == pytest.approx(n)
    assert n == pytest.approx(8.1818 * (2.200985 / 2.570582) ** 2, rel=1e-4)
    found = share_interval(spread)
    assert (found.low, found.high) == pytest.approx(clopper_pearson(n / 2, n))
    # Nine instances have one of two, and one has none: their variance asks for more units than there are.
    assert effective_units(ratio_spread(rows_of([1, 0] * 9 + [0, 0]), np.repeat(np.arange(10), 2))) == 20


def test_instances_of_unequal_size_have_fewer_degrees_of_freedom():
    sizes = [1, 1, 1, 1, 6, 2]
    spread = ratio_spread(rows_of([0, 1, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0]), np.repeat(np.arange(6), sizes))
    assert spread.effective == effective_clusters(sizes) == 144 / 44
    n = (
        12
        * (7 / 12 * 5 / 12 / 11)
        / spread.error**2
        * (student_quantile(0.975, 11) / student_quantile(0.975, 100 / 44)) ** 2
    )
    assert effective_units(spread) == pytest.approx(n)
    by_raters = ratio_spread(rows_of([0, 1] * 6), np.arange(12), [0] * 6 + [1, 2, 3, 4, 5, 5])
    assert by_raters.effective == effective_clusters([6, 1, 1, 1, 1, 2])


@pytest.mark.slow
@given(columns)
@example([(1.0, instance, 0) for instance in range(8)] + [(-1.0, 8, 0)])  # near an end, where shares are skewed
def test_p_value_is_the_level_at_which_the_interval_reaches_0(columns):
    r, instance, _ = (np.array(column) for column in zip(*columns, strict=True))
    spread = ratio_spread(rows_of(r), instance.astype(int))
    p_value = two_sided_p_value(spread)
    if not np.isnan(p_value) and 1e-6 < p_value < 1 - 1e-6:
        touching = mean_interval(spread, floor=-1, level=1 - p_value)
        assert min(abs(touching.low), abs(touching.high)) < 1e-6
    # Six instances that differ by 0.5 each: 2 (1 + 0.5) ** -6 = 2 / 11.390625 = 0.17558.
    assert two_sided_p_value(Spread(0.5, 0.0, 6, 6, 6.0)) == pytest.approx(0.17558, abs=5e-6)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_none_and_all_have_width(value):
    spread = ratio_spread(rows_of([value] * 30), np.repeat(np.arange(10), 3))
    for found in (share_interval(spread), mean_interval(spread)):
        assert found.high - found.low == pytest.approx(0.3084971, abs=1e-6)  # by instances, not by units


def test_below_five_instances_there_is_none():
    few, enough = (ratio_spread(rows_of([1, 0] * n), np.repeat(np.arange(n), 2)) for n in (4, 5))
    for interval in (share_interval, mean_interval):
        assert np.isnan(interval(few).low)
        assert not np.isnan(interval(enough).low)


def test_equal_values_in_an_open_range_have_none():
    spread = ratio_spread(rows_of([3.0] * 6), np.arange(6))
    assert np.isnan(mean_interval(spread, ceiling=math.inf).low)
    apart = ratio_spread(rows_of([3.0] * 5 + [4.0]), np.arange(6))
    assert 0 <= mean_interval(apart, ceiling=math.inf).low < apart.value


@pytest.mark.slow
@given(columns)
def test_images_of_a_mean_or_share_have_images_of_its_interval(columns):
    r, instance, _ = (np.array(column) for column in zip(*columns, strict=True))
    codes = instance.astype(int)
    rate, strength = ratio_spread(rows_of((r + 1) / 2), codes), ratio_spread(rows_of(r), codes)
    mirrored = ratio_spread(rows_of((1 - r) / 2)[::-1], (10_000 - 37 * codes)[::-1])
    assert (mirrored.value, mirrored.error) == pytest.approx((1 - rate.value, rate.error), abs=1e-9, nan_ok=True)
    assert (mirrored.units, mirrored.instances) == (rate.units, rate.instances)
    ends, of_strength, of_mirrored = (
        np.array([found.low, found.high])
        for found in (mean_interval(rate), mean_interval(strength, floor=-1), mean_interval(mirrored))
    )
    assert of_strength == pytest.approx(2 * ends - 1, abs=1e-9, nan_ok=True)
    assert of_mirrored[::-1] == pytest.approx(1 - ends, abs=1e-9, nan_ok=True)
    share = ratio_spread(rows_of(r == 1), codes)
    one, other = share_interval(share), share_interval(ratio_spread(rows_of(r != 1), codes))
    assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low), abs=1e-9, nan_ok=True)
    assert np.isnan(one.low) or 0 <= one.low <= share.value + 1e-12 <= one.high + 2e-12 <= 1 + 3e-12
    assert np.isnan(one.low) or one.high - one.low > 0


@pytest.mark.slow
@given(columns)
def test_two_ways_are_no_narrower_than_one(columns):
    r, instance, rater = (np.array(column) for column in zip(*columns, strict=True))
    codes = instance.astype(int), rater.astype(int)
    one, both = ratio_spread(rows_of(r), codes[0]), ratio_spread(rows_of(r), *codes)
    if len(set(codes[1])) > 1:
        assert both.error == pytest.approx(two_way_variance(rows_of(r), *codes) ** 0.5, nan_ok=True)
        assert (both.instances, both.raters) == tuple(len(set(code)) for code in codes)
    narrow, wide = mean_interval(one, floor=-1), mean_interval(both, floor=-1)
    if not np.isnan(wide.low):
        assert wide.low <= narrow.low + 1e-9
        assert wide.high >= narrow.high - 1e-9
    shares = [share_interval(ratio_spread(rows_of(r == 1), *some)) for some in (codes[:1], codes)]
    if not np.isnan(shares[1].low):
        assert shares[1].low <= shares[0].low + 1e-9
        assert shares[1].high >= shares[0].high - 1e-9


def test_statistic_error_of_a_ratio_is_the_jackknifes():
    rng = np.random.default_rng(1)
    rows, instance = rows_of(rng.random(40)), np.repeat(np.arange(20), 2)
    assert statistic_error(cluster_sums(rows, instance), ratio) == pytest.approx(ratio_spread(rows, instance).error)
    # Sums 1 of 2 and 3 of 4: without the one 3/4, without the other 1/2; half of the squared gap: (0.25 / 2)² · 2 · 1/2.
    assert statistic_error([[1, 2], [3, 4]], ratio) == pytest.approx(0.125)


def test_alpha_has_an_interval_from_twenty_instances():
    votes = np.random.default_rng(2).choice([-1.0, 0.0, 1.0], size=(40, 3))
    for n, there in ((19, False), (20, True)):
        sums = cluster_sums(coincidences(votes[: 2 * n]), np.repeat(np.arange(n), 2))
        value = float(alpha_from_coincidences(sums.sum(axis=0)))
        found = statistic_interval(value, statistic_error(sums, alpha_from_coincidences), n, ceiling=1.0)
        assert bool(found.low < value < found.high <= 1) is there


def test_a_statistic_of_equal_instances_or_that_hangs_on_one_has_no_interval():
    votes = np.full((25, 2), 1.0)
    votes[3] = [1.0, -1.0]  # without it all votes are alike
    sums = cluster_sums(coincidences(votes), np.arange(25))
    assert np.isnan(statistic_error(sums, alpha_from_coincidences))
    assert np.isnan(statistic_interval(0.0, math.nan, 25).low)
    alike = cluster_sums(coincidences([[1.0, 1.0], [-1.0, -1.0]] * 25), np.repeat(np.arange(25), 2))
    assert statistic_error(alike, alpha_from_coincidences) == 0
    assert np.isnan(statistic_interval(1.0, 0.0, 25).low)


def test_bad_arguments_are_refused():
    spread = ratio_spread(rows_of([1, 0, 1, 0, 1]), np.arange(5))
    for interval in (share_interval, mean_interval):
        with pytest.raises(AnalysisError, match="level"):
            interval(spread, level=1)
    with pytest.raises(AnalysisError, match="level"):
        statistic_interval(0.5, 0.1, 30, level=0)
    with pytest.raises(AnalysisError, match="count"):
        clopper_pearson(3, 2)
    with pytest.raises(ShapeError):
        statistic_error(np.ones((3, 2)), lambda sums: sums.sum())


def test_spreads_of_groups_are_those_of_their_rows(rng: np.random.Generator) -> None:
    rows = rows_of(rng.random(60)) * rng.integers(0, 2, (60, 1))
    instance, group = rng.integers(0, 9, 60), rng.choice([0, 2, 3], 60)
    spreads = ratio_spreads(rows, instance, group, 5)
    for number in (0, 2, 3):
        expected = ratio_spread(rows[group == number], instance[group == number])
        assert astuple(spreads[number])[:5] == pytest.approx(astuple(expected)[:5], rel=1e-12)
    assert [spreads[n].instances for n in (1, 4)] == [0, 0]


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8))
def test_the_exact_test_counts_all_changes_of_signs(sums: list[int]) -> None:
    signed = [abs(np.dot(signs, sums)) for signs in product((-1, 1), repeat=len(sums))]
    expected = sum(total >= abs(sum(sums)) for total in signed) / len(signed)
    assert sign_flip_p_value(sums) == pytest.approx(expected)
    assert sign_flip_p_value(np.array(sums) * -7.0) == pytest.approx(expected)
    assert sign_flip_p_value([1] * 150 + [-1] * 50) == 0.0  # many instances have no exact test


def test_an_interval_keeps_the_middle_that_the_exact_test_does_not_reject() -> None:
    rows = rows_of([1.0] * 32 + [0.0] * 18)  # Student's t rejects one half with p = .047
    spread = ratio_spread(rows, np.arange(50))
    tested = replace(spread, exact=sign_flip_p_value([1] * 32 + [-1] * 18))
    assert tested.exact == pytest.approx(0.0649, abs=1e-4)
    assert mean_interval(spread).low > 0.5 == mean_interval(tested).low
    assert mean_interval(tested).high == mean_interval(spread).high
    assert mean_interval(tested, level=0.9).low > 0.5
    assert two_sided_p_value(replace(tested, value=2 * tested.value - 1, error=2 * tested.error)) == tested.exact
