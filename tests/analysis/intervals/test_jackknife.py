"""Student's t, bounded means, and the variance of ratios over clusters of one or two kinds."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from analysis.errors import AnalysisError, ShapeError
from analysis.intervals.bootstrap import ratio
from analysis.intervals.jackknife import (
    clopper_pearson,
    effective_clusters,
    jackknife_variance,
    mean_bounds,
    student_quantile,
    student_tail,
    two_way_variance,
)

sums = st.lists(st.tuples(st.floats(-3, 3), st.integers(1, 4)), min_size=2, max_size=12)


def plain_tail(t, df):
    """The density, integrated by Simpson's rule from 0 to t."""
    x = np.linspace(0, t, 20_001)
    log_scale = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - math.log(df * math.pi) / 2
    density = np.exp(log_scale - (df + 1) / 2 * np.log1p(x**2 / df))
    weights = np.tile([2.0, 4.0], 10_001)[:20_001]
    weights[[0, -1]] = 1
    return 0.5 - (density * weights).sum() * (x[1] - x[0]) / 3


@pytest.mark.parametrize(
    ("df", "quantile"),
    [(1, 12.7062047362), (4, 2.7764451052), (10, 2.2281388520), (29, 2.0452296421), (120, 1.9799304051)],
)
def test_quantile_of_the_printed_table(df, quantile):
    assert student_quantile(0.975, df) == pytest.approx(quantile, abs=1e-9)
    assert student_quantile(0.025, df) == pytest.approx(-quantile, abs=1e-9)


@given(st.floats(-8, 8), st.integers(1, 400))
@example(1e-6, 70)
def test_tail_is_the_integral_of_the_density(t, df):
    assert student_tail(t, df) == pytest.approx(plain_tail(t, df), abs=1e-9)


def test_tail_of_two_degrees_has_a_closed_form():
    for t in (-30.0, -1.0, 0.0, 0.3, 5.0, 400.0):
        assert student_tail(t, 2) == pytest.approx(0.5 - t / (2 * math.sqrt(2 + t * t)), abs=1e-12)
    assert (student_tail(math.inf, 2), student_tail(-math.inf, 2)) == (0, 1)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        *((student_tail, arguments) for arguments in ((math.nan, 3), (1, 0), (1, math.nan))),
        *((student_quantile, (share, 3)) for share in (0, 1, -0.1, math.nan)),
    ],
)
def test_what_has_no_tail_or_quantile_is_refused(function, arguments):
    with pytest.raises(AnalysisError, match=r"above 0|strictly"):
        function(*arguments)


def test_bounds_by_hand():
    # t(4) at 97.5 % is 2.7764: 0.5 ± 0.2776; 0.6 + 0.5553 is cut at 1: 5 · 0.24 = 1.2 are not below 25 · 0.04 = 1.
    bounds = mean_bounds(0.5, 0.1, 5, floor=0, ceiling=1)
    assert (bounds.low, bounds.high) == pytest.approx((0.5 - 0.27764451, 0.5 + 0.27764451))
    assert mean_bounds(0.6, 0.2, 5, floor=0, ceiling=1).high == 1
    assert mean_bounds(0.4, 0.2, 5, floor=0, ceiling=1).low == 0


def test_bounds_near_an_end_are_those_of_a_share_by_hand():
    # 5 · 0.09 = 0.45 are below 25 · 0.64: n* = 0.09 / 0.01 · (1.95996 / 2.77645)² = 4.4850, of which 0.9 is 4.0365.
    low, high = clopper_pearson(0.9 * 4.4850, 4.4850)
    bounds = mean_bounds(0.9, 0.1, 5, floor=0, ceiling=1)
    assert (bounds.low, bounds.high) == pytest.approx((low, high), abs=1e-4)
    moved = mean_bounds(0.8, 0.2, 5, floor=-1, ceiling=1)  # the same, twice as wide around 0
    assert (moved.low, moved.high) == pytest.approx((2 * bounds.low - 1, 2 * bounds.high - 1))
    open_ended = mean_bounds(0.9, 0.1, 5, floor=0, ceiling=math.inf)
    assert open_ended.high == pytest.approx(0.9 + 0.27764451)


def test_unequal_clusters_count_for_fewer_by_hand():
    # (1 + 1 + 1 + 1 + 6)² / (1 + 1 + 1 + 1 + 36) = 100 / 40; a cluster of size 0 is none.
    assert effective_clusters([1, 1, 1, 1, 6, 0]) == 2.5
    assert effective_clusters([3] * 7) == 7
    assert effective_clusters([]) == 0
    bounds = mean_bounds(0.5, 0.1, 5, floor=0, ceiling=1, effective=3.0)
    assert bounds.high == pytest.approx(0.5 + 0.1 * student_quantile(0.975, 2))
    assert bounds.clusters == 5


def test_equal_clusters_have_the_bound_of_clopper_and_pearson():
    # 10 of 10: the lower limit is 0.025^(1/10); none of 10 is its mirror image.
    limit = 0.025**0.1
    assert mean_bounds(1, 0, 10, floor=0, ceiling=1).low == pytest.approx(limit)
    assert mean_bounds(1, 0, 10, floor=0, ceiling=1).high == 1
    assert mean_bounds(0, 0, 10, floor=0, ceiling=1).high == pytest.approx(1 - limit)
    both = mean_bounds(0, 0, 10, floor=-1, ceiling=1)
    assert (both.low, both.high) == pytest.approx((limit - 1, 1 - limit))


def test_four_clusters_have_no_bounds_and_five_have():
    assert np.isnan(mean_bounds(0.5, 0.1, 4, floor=0, ceiling=1).low)
    assert not np.isnan(mean_bounds(0.5, 0.1, 5, floor=0, ceiling=1).low)
    assert np.isnan(mean_bounds(np.nan, 0.1, 9, floor=0, ceiling=1).high)
    with pytest.raises(AnalysisError, match="level"):
        mean_bounds(0.5, 0.1, 9, floor=0, ceiling=1, level=1)


@pytest.mark.slow
@given(sums)
def test_jackknife_equals_leaving_out_one_cluster_at_a_time(rows):
    table = np.array(rows, dtype=np.float64)
    left = np.array([float(ratio(np.delete(table, k, axis=0).sum(axis=0))) for k in range(len(table))])
    expected = (len(table) - 1) / len(table) * ((left - left.mean()) ** 2).sum()
    assert jackknife_variance(table) == pytest.approx(expected, abs=1e-9)


def test_variance_by_hand_and_clusters_without_denominator_play_no_part():
    # Values 0, 1, 1, 0, 1 with denominators of 1: s² / n = 0.3 / 5, as that of a plain mean.
    assert jackknife_variance([[0, 1], [1, 1], [1, 1], [0, 1], [1, 1]]) == pytest.approx(0.06)
    assert jackknife_variance([[0.1 * n, n] for n in (1, 3, 7)]) == 0
    rows = [[0, 1], [1, 1], [1, 2]]
    assert jackknife_variance([*rows, [0, 0]]) == jackknife_variance(rows)
    assert np.isnan(jackknife_variance([[1, 1], [0, 0]]))
    assert np.isnan(jackknife_variance(np.empty((0, 2))))
    with pytest.raises(ShapeError):
        jackknife_variance([1.0, 2.0])


def test_two_way_variance_by_hand():
    # Instances 0 and 1, raters 0 and 1: values 1 1 / 1 0. Means without one: instances 1/2 and 1, raters the same:
    # 1/2 · 2 · (1/4)² = 1/16 each. Cells: variance 1/4, by 4: 1/16. 1/16 + 1/16 - 1/16.
    rows = [[1, 1], [1, 1], [1, 1], [0, 1]]
    assert two_way_variance(rows, [0, 0, 1, 1], [0, 1, 0, 1]) == pytest.approx(1 / 16)
    # Both effects alike and no other: values 2 1 / 1 0: instances and raters 1/4 each, cells (2/3) / 4 = 1/6.
    rows = [[2, 1], [1, 1], [1, 1], [0, 1]]
    assert two_way_variance(rows, [0, 0, 1, 1], [0, 1, 0, 1]) == pytest.approx(1 / 4 + 1 / 4 - 1 / 6)
    # One rater says 1 throughout, the other 0. Leaving out a rater gives 0 or 1: 1/2 · (1/4 + 1/4). Instances are alike: 0.
    # Cells: six values of variance 0.3, by 6. The sum, 0.25 + 0 - 0.05, is below the raters' 0.25.
    assert two_way_variance([[1, 1], [0, 1]] * 3, [0, 0, 1, 1, 2, 2], [0, 1] * 3) == pytest.approx(0.25)


@pytest.mark.slow
@given(sums, st.randoms())
def test_two_way_variance_is_at_least_that_of_either_way(rows, random):
    one, other = ([random.randrange(3) for _ in rows] for _ in range(2))
    table = np.array(rows, dtype=np.float64)
    found = two_way_variance(table, one, other)
    assert found == pytest.approx(two_way_variance(table, other, one), nan_ok=True)
    for codes in (one, other):
        by = jackknife_variance([table[np.array(codes) == c].sum(axis=0) for c in set(codes)])
        assert np.isnan(found) or found >= by - 1e-12
