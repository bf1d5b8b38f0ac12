"""Sums per cluster and bootstrap intervals over clusters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from analysis.errors import AnalysisError, ShapeError, UnknownValue
from analysis.intervals import bootstrap
from analysis.intervals.bootstrap import (
    Interval,
    cluster_interval,
    cluster_intervals,
    cluster_sums,
    counted_rows,
    mean_sums,
    quotient,
    ratio,
)

NAN = np.nan


def plain_interval(sums, statistic, rng, rounds, level):
    """Round by round: draw clusters, add them up, apply the statistic; then percentiles by interpolation."""
    values = []
    for _ in range(rounds):
        total = sum(sums[rng.integers(len(sums))] for _ in sums)
        values.append(float(statistic(total[np.newaxis])[0]))
    values = sorted(v for v in values if v == v)
    ends = []
    for share in ((1 - level) / 2, (1 + level) / 2):
        at = share * (len(values) - 1)
        below = int(at)
        ends.append(values[below] + (at - below) * (values[min(below + 1, len(values) - 1)] - values[below]))
    return ends


@pytest.mark.slow
@given(
    hnp.arrays(float, (6, 2, 3), elements=st.integers(-9, 9).map(float)), hnp.arrays(int, 6, elements=st.integers(0, 3))
)
def test_cluster_sums_equal_the_plain_version(rows, codes):
    expected = [sum(row for row, code in zip(rows, codes, strict=True) if code == one) for one in sorted(set(codes))]
    np.testing.assert_array_equal(cluster_sums(rows, codes), expected)
    assert cluster_sums([1, 2, 4], [7, 3, 7]).tolist() == [2, 5]  # ascending codes: 3, then 7
    assert cluster_sums(np.empty((0, 3, 3)), []).shape == (0, 3, 3)


@pytest.mark.parametrize(
    ("rows", "codes", "error"),
    [
        pytest.param([1, 2], [0], ShapeError, id="lengths-differ"),
        pytest.param(1.0, 0, ShapeError, id="no-rows"),
        pytest.param([1, NAN], [0, 0], UnknownValue, id="missing-value"),
        pytest.param([1, 2], [0.5, 1.0], UnknownValue, id="codes-not-integer"),
    ],
)
def test_cluster_sums_refuse(rows, codes, error):
    with pytest.raises(error):
        cluster_sums(rows, codes)


def test_mean_sums_leave_missing_values_out():
    # Cluster 0 holds 1 and a missing one, cluster 1 holds 4 with weight 3: mean (1 + 12) / (1 + 3).
    sums = mean_sums([1, NAN, 4], [0, 0, 1], weight=[1, 5, 3])
    assert sums.tolist() == [[1, 1], [12, 3]]
    assert ratio(sums.sum(axis=0)) == 13 / 4
    assert ratio(mean_sums([1, NAN, 4], [0, 0, 1]).sum(axis=0)) == 5 / 2
    with pytest.raises(ShapeError):
        mean_sums([1, 2], [0, 0], weight=[1])


def test_ratio_without_a_denominator_is_undefined():
    np.testing.assert_array_equal(ratio(np.array([[1.0, 2.0], [0.0, 0.0], [3.0, 0.0]])), [0.5, NAN, NAN])
    with pytest.raises(ShapeError):
        ratio(np.zeros((2, 3)))
    np.testing.assert_array_equal(quotient([[1, 2], [3, 4]], [[2], [0]]), [[0.5, 1], [NAN, NAN]])
    # What is not counted is in neither part.
    rows = counted_rows([True, True, NAN, 0.5], [True, False, False, True])
    assert rows.tolist() == [[1, 1], [0, 0], [0, 0], [0.5, 1]]


def test_interval_by_hand_for_two_clusters(rng):
    # Clusters 0/1 and 1/1: a resample holds both first (mean 0), one of each (1/2) or both second (1), with chances
    # 1/4, 1/2, 1/4; the middle 40 % of many rounds are all 1/2, the middle 60 % reach both ends.
    sums = np.array([[0.0, 1.0], [1.0, 1.0]])
    middle = cluster_interval(sums, ratio, rng=rng, rounds=4000, level=0.4)
    assert (middle.low, middle.high) == (0.5, 0.5)
    wide = cluster_interval(sums, ratio, rng=rng, rounds=4000, level=0.6)
    assert (wide.low, wide.high) == (0.0, 1.0)


def test_default_arguments_equal_the_plain_version(rng):
    sums = mean_sums(rng.normal(size=40), rng.integers(0, 12, size=40))
    found = cluster_interval(sums, ratio, rng=np.random.default_rng(1))
    assert (found.rounds, found.level, found.undefined) == (1000, 0.95, 0)
    # The same draws in the same order, so this is equality and not only likeness.
    np.testing.assert_allclose(
        [found.low, found.high], plain_interval(sums, ratio, np.random.default_rng(1), 1000, 0.95), atol=1e-9
    )


@given(st.integers(0, 2**32), st.floats(0.1, 0.99))
def test_interval_is_repeatable_ordered_and_inside_the_clusters(seed, level):
    sums = np.array([[0.2, 1], [0.9, 1], [1.5, 3], [0.3, 1]])
    first, second = (
        cluster_interval(sums, ratio, rng=np.random.default_rng(seed), rounds=50, level=level) for _ in "ab"
    )
    assert first == second
    assert 0.2 - 1e-12 <= first.low <= first.high <= 0.9 + 1e-12


def test_interval_in_blocks_equals_one_block(monkeypatch):
    sums = mean_sums(np.arange(9.0), np.arange(9))
    whole = cluster_interval(sums, ratio, rng=np.random.default_rng(5))
    monkeypatch.setattr(bootstrap, "BLOCK_CELLS", 30)
    parts = cluster_interval(sums, ratio, rng=np.random.default_rng(5))
    np.testing.assert_allclose([parts.low, parts.high], [whole.low, whole.high])


def test_rounds_without_a_value_are_left_out_and_counted(rng):
    # One of two clusters is empty: a quarter of the rounds draw it twice and have no mean, the others have 0.75.
    found = cluster_interval([[0.0, 0.0], [3.0, 4.0]], ratio, rng=rng, rounds=2000)
    assert (found.low, found.high) == (0.75, 0.75)
    assert 400 < found.undefined < 600


@pytest.mark.parametrize("sums", [np.ones((1, 2)), np.empty((0, 2))])
def test_interval_of_fewer_than_two_clusters_is_missing(sums, rng):
    found = cluster_interval(sums, ratio, rng=rng)
    assert isinstance(found, Interval)
    assert np.isnan([found.low, found.high]).all()
    assert found.undefined == found.rounds == 1000


@pytest.mark.parametrize(
    ("sums", "settings"),
    [
        pytest.param(np.ones((3, 2)), {"level": 1.0}, id="level-one"),
        pytest.param(np.ones((3, 2)), {"level": 95}, id="level-in-percent"),
        pytest.param(np.ones((3, 2)), {"rounds": 0}, id="no-rounds"),
        pytest.param([[1, NAN], [1, 1]], {}, id="missing-sum"),
        pytest.param(1.0, {}, id="no-clusters-axis"),
    ],
)
def test_interval_refuses(sums, settings, rng):
    with pytest.raises(AnalysisError):
        cluster_interval(sums, ratio, rng=rng, **settings)


def test_statistic_of_another_shape_is_refused(rng):
    with pytest.raises(ShapeError):
        cluster_interval(np.ones((3, 2)), lambda sums: sums.sum(), rng=rng)
    with pytest.raises(ShapeError):
        cluster_intervals(np.ones((3, 2, 2)), ratio, 3, rng=rng, rounds=5)


def test_intervals_of_several_measures_are_those_of_each_alone():
    sums = np.random.default_rng(5).integers(0, 9, size=(12, 3, 2)).astype(float)
    sums[:, 2] = 0  # no value in any round
    together = cluster_intervals(sums, ratio, 3, rng=np.random.default_rng(3), rounds=50)
    alone = [cluster_interval(sums[:, one], ratio, rng=np.random.default_rng(3), rounds=50) for one in range(2)]
    assert list(together[:2]) == alone
    assert together[0] != together[1]
    assert (together[0].undefined, together[2].undefined) == (0, 50)
    assert np.isnan([together[2].low, together[2].high]).all()
    assert [one.undefined for one in cluster_intervals(sums[:1], ratio, 3, rng=np.random.default_rng(0))] == [1000] * 3
    one, column = (
        cluster_intervals(values, lambda totals: totals.reshape(-1, 1), 1, rng=np.random.default_rng(0), rounds=50)
        for values in (np.arange(6.0), np.arange(6.0)[:, np.newaxis])
    )
    assert one == column
