"""Widths of intervals, the instances that they take, and what these cost."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import NotEnough, UnknownValue
from analysis.intervals.bootstrap import cluster_interval, mean_sums, ratio
from analysis.planning.sample_sizes import Aim, Prices, cheapest, designs, expected_width, instances_needed, upper_limit
from analysis.planning.variance import Components, crossed_components

PARTS = Components(instance=0.02, pair=0.03, rater=0.06, residual=0.12)
SIZES = st.integers(1, 8)
SHARES = st.floats(0, 0.25).map(lambda value: round(value, 4))
COMPONENTS = st.builds(Components, SHARES, SHARES, SHARES, SHARES)


def test_instances_by_hand():
    # N = 3, R = 2: 0.02 + 0.03 / 3 + 0.06 / 2 + 0.12 / 6 = 0.08. With z = 1.959964 a width of 0.1 takes
    # (2 * 1.959964 / 0.1)^2 * 0.08 = 1536.58 * 0.08 = 122.93, so 123 instances.
    assert PARTS.of_instance_mean(3, 2) == pytest.approx(0.08)
    assert instances_needed(PARTS, pairs=3, raters=2, width=0.1) == 123
    # 2 * 1.959964 * sqrt(0.08 / 123) = 0.09997; with one instance fewer it is above 0.1.
    assert expected_width(PARTS, pairs=3, raters=2, instances=123) == pytest.approx(0.09997, abs=5e-6)
    assert expected_width(PARTS, pairs=3, raters=2, instances=122) > 0.1
    # At level 0.9, z = 1.644854: (2 * 1.644854 / 0.1)^2 * 0.08 = 86.58.
    assert instances_needed(PARTS, pairs=3, raters=2, width=0.1, level=0.9) == 87


def test_instances_of_a_textbook_example():
    # A proportion of one half to within 0.05 at 95 %, one verdict per instance: n = 1.96^2 / (4 * 0.05^2) = 384.1
    # (Cochran 1977, Sampling Techniques, §4.4, has this formula).
    even = Components(instance=0.25, pair=0, rater=0, residual=0)
    assert instances_needed(even, pairs=1, raters=1, width=0.1) == 385


def test_finite_population_by_hand():
    # The instances' own 0.02 counts less the more of the 200 are rated: 0.08 / (1 / 1536.58 + 0.02 / 200) = 106.55.
    assert instances_needed(PARTS, pairs=3, raters=2, width=0.1, population=200) == 107
    # Of 40 all are too few: 2 * 1.959964 * sqrt((0.08 - 0.02) / 40) = 0.1518.
    assert instances_needed(PARTS, pairs=3, raters=2, width=0.1, population=40) is None
    assert expected_width(PARTS, pairs=3, raters=2, instances=40, population=40) == pytest.approx(0.15182, abs=1e-5)
    assert instances_needed(PARTS, pairs=3, raters=2, width=0.1, population=1) is None
    # Without any other variance nothing is left to be uncertain of once all are rated.
    only = Components(instance=0.25, pair=0, rater=0, residual=0)
    assert expected_width(only, pairs=1, raters=1, instances=9, population=9) == 0.0


@pytest.mark.parametrize(("pilot", "quantile"), [(5, 1.6488), (10, 5.3801), (20, 13.7158), (51, 41.4492)])
def test_upper_limit_meets_the_table_of_chi_square(pilot, quantile):
    # The 0.2 quantiles of chi-square with 4, 9, 19 and 50 degrees of freedom.
    assert upper_limit(pilot) == pytest.approx((pilot - 1) / quantile, rel=0.01)


@given(COMPONENTS, SIZES, SIZES, st.floats(0.02, 0.9))
def test_as_many_instances_as_needed_are_enough_and_one_fewer_is_not(found, pairs, raters, width):
    n = instances_needed(found, pairs=pairs, raters=raters, width=width)
    assert expected_width(found, pairs=pairs, raters=raters, instances=n) <= width * (1 + 1e-6)
    if n > 2:
        assert expected_width(found, pairs=pairs, raters=raters, instances=n - 1) > width * (1 - 1e-6)


@given(COMPONENTS, SIZES, SIZES, st.floats(0.02, 0.9), st.integers(2, 500))
def test_a_finite_population_never_takes_more_instances(found, pairs, raters, width, population):
    wanted = {"pairs": pairs, "raters": raters, "width": width}
    n = instances_needed(found, **wanted, population=population)
    if n is None:
        whole = expected_width(found, pairs=pairs, raters=raters, instances=population, population=population)
        assert whole > width * (1 - 1e-6)
    else:
        assert n <= instances_needed(found, **wanted)


@given(COMPONENTS, SIZES, SIZES, st.floats(0.02, 0.4), st.floats(0.5, 0.98))
def test_instances_fall_with_width_pairs_and_raters_and_rise_with_level(found, pairs, raters, width, level):
    def needed(**changes):
        return instances_needed(found, **{"pairs": pairs, "raters": raters, "width": width, "level": level, **changes})

    assert needed(width=2 * width) <= needed()
    assert needed(pairs=pairs + 1) <= needed()
    assert needed(raters=raters + 1) <= needed()
    assert needed(level=level + 0.01) >= needed()


@given(COMPONENTS, SIZES, SIZES, st.integers(2, 1000))
def test_width_falls_with_the_root_of_the_instances_and_rises_with_that_of_the_variance(found, pairs, raters, n):
    width = expected_width(found, pairs=pairs, raters=raters, instances=n)
    assert expected_width(found, pairs=pairs, raters=raters, instances=4 * n) == pytest.approx(width / 2)
    fourfold = Components(4 * found.instance, 4 * found.pair, 4 * found.rater, 4 * found.residual)
    assert expected_width(fourfold, pairs=pairs, raters=raters, instances=n) == pytest.approx(2 * width)


def normal_scores(rng, n, pairs, raters):
    """Scores with the components of PARTS, at (instances, pairs, raters)."""
    return (
        math.sqrt(PARTS.instance) * rng.normal(size=(n, 1, 1))
        + math.sqrt(PARTS.pair) * rng.normal(size=(n, pairs, 1))
        + math.sqrt(PARTS.rater) * rng.normal(size=(n, 1, raters))
        + math.sqrt(PARTS.residual) * rng.normal(size=(n, pairs, raters))
    )


def verdict_scores(rng, n, pairs, raters):
    """Wins and losses; each instance has its own win rate, from Beta(2, 2)."""
    return (rng.random((n, pairs, raters)) < rng.beta(2, 2, size=(n, 1, 1))).astype(float)


@pytest.mark.parametrize(
    ("draw", "components"),
    [
        pytest.param(normal_scores, PARTS, id="all-four-components"),
        # Beta(2, 2) has variance 1/20; a verdict has 1/4 in all, and the rest is chance.
        pytest.param(verdict_scores, Components(0.05, 0, 0, 0.2), id="verdicts"),
    ],
)
def test_bootstrap_of_a_study_as_planned_is_about_as_wide_as_wanted(draw, components, rng):
    # One width has a relative standard error of about 0.1 (the variance of 100 instances: 0.07; 500 rounds: 0.07), so
    # the mean of 60 has 0.013; the percentile interval is narrower by the root of (n - 1) / n, 0.5 %. Within 4 %.
    n = instances_needed(components, pairs=3, raters=2, width=0.11)
    assert 90 < n < 120
    widths = []
    for _ in range(60):
        scores = draw(rng, n, 3, 2)
        found = cluster_interval(mean_sums(scores.ravel(), np.repeat(range(n), 6)), ratio, rng=rng, rounds=500)
        widths.append(found.high - found.low)
    assert np.mean(widths) == pytest.approx(0.11, rel=0.04)


def test_plan_from_a_pilot_of_another_design_is_about_right(rng):
    # From 400 instances of 4 pairs and 3 raters to 1 pair and 5 raters: the number is off by its standard error, 5 %.
    scores = normal_scores(rng, 400, 4, 3)
    codes = [place.ravel() for place in np.indices(scores.shape)]
    planned = instances_needed(crossed_components(scores.ravel(), *codes), pairs=1, raters=5, width=0.1)
    assert planned == pytest.approx(instances_needed(PARTS, pairs=1, raters=5, width=0.1), rel=0.15)


# Designs and their costs

PRICED = Prices(
    pairs_per_hit=5, pay_per_hit=1.0, minutes_per_hit=10, source_share=0.3, judges=2, orders=2, cost_per_call=0.001
)


def test_design_by_hand():
    # 123 instances with 2 raters: 246 assignments of 3 pairs, 738 ratings. A HIT of 3 pairs is 0.3 + 0.7 * 3 / 5 = 0.72
    # of one of 5: 0.72 in pay and 7.2 minutes. 246 * 0.72 = 177.12; 246 * 7.2 / 60 = 29.52 hours. Two judges, both
    # orders: 123 * 3 * 2 * 2 = 1476 calls for 1.48.
    [design] = designs({3: PARTS}, [2], aim=Aim(0.1, available=100), rates=PRICED)
    assert (design.instances, design.assignments, design.ratings) == (123, 246, 738)
    assert (design.pay_per_hit, design.pay) == (0.72, 177.12)
    assert (design.work, design.hours) == (pytest.approx(177.12), pytest.approx(29.52))
    assert (design.judge_calls, design.judge_cost, design.cost) == (1476, 1.48, 178.6)
    assert design.enough is False
    assert design.width_available == pytest.approx(0.11087, abs=1e-5)  # 2 * 1.959964 * sqrt(0.08 / 100)
    assert design.cautious_instances is None


def test_defaults_know_no_prices_and_no_limits():
    found = designs({1: PARTS, 5: PARTS}, [1, 3], aim=Aim(0.1))
    assert [(one.pairs, one.raters) for one in found] == [(1, 1), (1, 3), (5, 1), (5, 3)]
    assert {(one.pay, one.hours, one.cost, one.enough, one.width_available) for one in found} == {(None,) * 5}
    assert {(one.judge_calls, one.judge_cost) for one in found} == {(0, 0.0)}
    # Without a source text to read, the work of 5 pairs is that of a whole HIT and one pair a fifth of it.
    assert found[0].work == pytest.approx(found[0].instances / 5)
    assert found[2].work == found[2].instances


def test_cautious_number_is_that_of_the_upper_limit_of_the_variance():
    [design] = designs({3: PARTS}, [2], aim=Aim(0.1, pilot_instances=10))
    # 122.93 * 9 / 5.3801 = 205.6, by the table of chi-square.
    assert design.cautious_instances == pytest.approx(205.6, rel=0.01)
    [large] = designs({3: PARTS}, [2], aim=Aim(0.1, pilot_instances=10_000))
    assert 123 < large.cautious_instances < 126


def test_cheapest_is_by_cost_and_reading_the_source_makes_pairs_worth_it():
    free = designs({1: PARTS, 3: PARTS, 5: PARTS}, [1, 2, 3], aim=Aim(0.1), rates=Prices(pay_per_hit=1.0))
    assert (cheapest(free).pairs, cheapest(free).raters) == (1, 1)  # nothing but single verdicts is ever better
    dear = Prices(pay_per_hit=1.0, source_share=0.8)
    found = designs({1: PARTS, 3: PARTS, 5: PARTS}, [1, 2, 3], aim=Aim(0.1), rates=dear)
    assert cheapest(found) == min(found, key=lambda one: one.cost)
    assert cheapest(found).pairs > 1


def test_cheapest_here_needs_no_more_instances_than_there_are():
    found = designs({1: PARTS, 3: PARTS}, [1, 2, 5], aim=Aim(0.1, available=125), rates=Prices(pay_per_hit=1.0))
    here = cheapest(found, here=True)
    assert here.instances <= 125 < cheapest(found).instances
    assert here.cost == min(one.cost for one in found if one.instances <= 125)
    assert cheapest([]) is None
    few = designs({1: PARTS}, [1], aim=Aim(0.1, available=5))
    assert cheapest(few, here=True) is None


def test_cheapest_of_unpriced_designs_is_by_work():
    found = designs({1: PARTS, 5: PARTS}, [1, 2], aim=Aim(0.1), rates=Prices(source_share=0.5))
    assert cheapest(found) == min(found, key=lambda one: one.work)


def test_no_variance_takes_two_instances():
    nothing = Components(0, 0, 0, 0)
    [design] = designs({5: nothing}, [3], aim=Aim(0.1, available=50, pilot_instances=4))
    assert (design.instances, design.cautious_instances, design.width, design.enough) == (2, 2, 0.0, True)


def test_design_of_a_finite_population_too_small_has_no_number():
    [design] = designs({3: PARTS}, [2], aim=Aim(0.1, available=40, finite=True), rates=PRICED)
    assert (design.instances, design.pay, design.enough) == (None, None, False)
    assert design.width_available == pytest.approx(0.15182, abs=1e-5)
    assert cheapest([design]) is None


def test_pay_is_rounded_up_to_cents():
    assert Prices(pairs_per_hit=3, pay_per_hit=1.0).pay(1) == 0.34
    assert Prices(pairs_per_hit=5, pay_per_hit=0.55).pay(1) == 0.11  # and not 0.12, by the rounding of floats
    assert Prices().pay(1) is None


@pytest.mark.parametrize("width", [0, -0.1, 1, 1.5, math.nan, math.inf])
def test_nonsense_widths_are_refused(width):
    with pytest.raises(UnknownValue):
        Aim(width)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda: Aim(0.1, level=95), id="level-in-percent"),
        pytest.param(lambda: Aim(0.1, finite=True), id="finite-of-unknown-size"),
        pytest.param(lambda: Prices(pay_per_hit=-1), id="pay"),
        pytest.param(lambda: Prices(cost_per_call=math.nan), id="price"),
        pytest.param(lambda: Prices(source_share=1.1), id="share"),
        pytest.param(lambda: Prices(pairs_per_hit=0), id="pairs"),
        pytest.param(lambda: Prices(orders=3), id="orders"),
        pytest.param(lambda: instances_needed(PARTS, pairs=1, raters=1, width=0), id="width"),
        pytest.param(lambda: instances_needed(PARTS, pairs=0, raters=1, width=0.1), id="no-pairs"),
        pytest.param(lambda: expected_width(PARTS, pairs=1, raters=1, instances=5, level=0), id="level"),
    ],
)
def test_numbers_that_make_no_plan_are_refused(wrong):
    with pytest.raises(UnknownValue):
        wrong()


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda: expected_width(PARTS, pairs=1, raters=1, instances=1), id="one-instance"),
        pytest.param(lambda: expected_width(PARTS, pairs=1, raters=1, instances=9, population=8), id="more-than-all"),
        pytest.param(lambda: upper_limit(1), id="pilot-of-one"),
    ],
)
def test_too_few_instances_are_refused(wrong):
    with pytest.raises(NotEnough):
        wrong()
