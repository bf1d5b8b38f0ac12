"""Widths of intervals, the instances that they take, and what these cost."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import NotEnough, UnknownValue
from analysis.planning.sample_sizes import Aim, Prices, cheapest, designs, expected_width, instances_needed, upper_limit
from analysis.planning.variance import Components

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
    # A proportion of one half to within 0.05 at 95 %, one verdict per instance: n = 1.96^2 / (4 * 0.05^2) = 384.1
    # (Cochran 1977, Sampling Techniques, §4.4, has this formula).
    assert instances_needed(Components(0.25, 0, 0, 0), pairs=1, raters=1, width=0.1) == 385


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


@given(COMPONENTS, SIZES, SIZES, st.floats(0.02, 0.9), st.integers(2, 500))
def test_as_many_instances_as_needed_are_enough_and_one_fewer_is_not(found, pairs, raters, width, population):
    design = {"pairs": pairs, "raters": raters}
    n = instances_needed(found, **design, width=width)
    assert expected_width(found, **design, instances=n) <= width * (1 + 1e-6)
    if n > 2:
        assert expected_width(found, **design, instances=n - 1) > width * (1 - 1e-6)
    of_all = instances_needed(found, **design, width=width, population=population)
    if of_all is None:
        assert expected_width(found, **design, instances=population, population=population) > width * (1 - 1e-6)
    else:
        assert of_all <= n


@given(COMPONENTS, SIZES, SIZES, st.floats(0.02, 0.4), st.floats(0.5, 0.98))
def test_instances_fall_with_width_pairs_and_raters_and_rise_with_level(found, pairs, raters, width, level):
    def needed(**changes):
        return instances_needed(found, **{"pairs": pairs, "raters": raters, "width": width, "level": level, **changes})

    assert needed(width=2 * width) <= needed()
    assert needed(pairs=pairs + 1) <= needed()
    assert needed(raters=raters + 1) <= needed()
    assert needed(level=level + 0.01) >= needed()


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
    read = designs({1: PARTS, 5: PARTS}, [1, 2], aim=Aim(0.1), rates=Prices(source_share=0.5))
    assert cheapest(read) == min(read, key=lambda one: one.work)  # as nothing has a price


def test_cautious_number_is_that_of_the_upper_limit_of_the_variance():
    [design] = designs({3: PARTS}, [2], aim=Aim(0.1, pilot_instances=10))
    # 122.93 * 9 / 5.3801 = 205.6, by the table of chi-square.
    assert design.cautious_instances == pytest.approx(205.6, rel=0.01)
    [large] = designs({3: PARTS}, [2], aim=Aim(0.1, pilot_instances=10_000))
    assert 123 < large.cautious_instances < 126
    nothing = Components(0, 0, 0, 0)
    [least] = designs({5: nothing}, [3], aim=Aim(0.1, available=50, pilot_instances=4))
    assert (least.instances, least.cautious_instances, least.width, least.enough) == (2, 2, 0.0, True)


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
    [too_small] = designs({3: PARTS}, [2], aim=Aim(0.1, available=40, finite=True), rates=PRICED)
    assert (too_small.instances, too_small.pay, too_small.enough) == (None, None, False)
    assert too_small.width_available == pytest.approx(0.15182, abs=1e-5)
    assert cheapest([too_small]) is None


def test_pay_is_rounded_up_to_cents():
    assert Prices(pairs_per_hit=3, pay_per_hit=1.0).pay(1) == 0.34
    assert Prices(pairs_per_hit=5, pay_per_hit=0.55).pay(1) == 0.11  # and not 0.12, by the rounding of floats
    assert Prices().pay(1) is None


@pytest.mark.parametrize("width", [0, -0.1, 1, 1.5, math.nan, math.inf])
def test_nonsense_widths_are_refused(width):
    with pytest.raises(UnknownValue):
        Aim(width)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        pytest.param(lambda: Aim(0.1, level=95), UnknownValue, id="level-in-percent"),
        pytest.param(lambda: Aim(0.1, finite=True), UnknownValue, id="finite-of-unknown-size"),
        pytest.param(lambda: Prices(pay_per_hit=-1), UnknownValue, id="pay"),
        pytest.param(lambda: Prices(cost_per_call=math.nan), UnknownValue, id="price"),
        pytest.param(lambda: Prices(source_share=1.1), UnknownValue, id="share"),
        pytest.param(lambda: Prices(pairs_per_hit=0), UnknownValue, id="pairs"),
        pytest.param(lambda: Prices(orders=3), UnknownValue, id="orders"),
        pytest.param(lambda: instances_needed(PARTS, pairs=1, raters=1, width=0), UnknownValue, id="width"),
        pytest.param(lambda: instances_needed(PARTS, pairs=0, raters=1, width=0.1), UnknownValue, id="no-pairs"),
        pytest.param(lambda: expected_width(PARTS, pairs=1, raters=1, instances=5, level=0), UnknownValue, id="level"),
        pytest.param(lambda: expected_width(PARTS, pairs=1, raters=1, instances=1), NotEnough, id="one-instance"),
        pytest.param(lambda: expected_width(PARTS, pairs=1, raters=1, instances=9, population=8), NotEnough, id="all"),
        pytest.param(lambda: upper_limit(1), NotEnough, id="pilot-of-one"),
    ],
)
def test_numbers_that_make_no_plan_are_refused(wrong, error):
    with pytest.raises(error):
        wrong()
