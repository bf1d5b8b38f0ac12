"""Fits without single instances, tests of differences and ranges of ranks."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import ShapeError, UnknownValue
from analysis.intervals.jackknife import jackknife_variance, student_quantile, student_tail
from analysis.intervals.multiple_testing import holm
from analysis.ranking.bradley_terry import bradley_terry
from analysis.ranking.comparisons import grouped_win_matrices, win_matrix
from analysis.ranking.spread import (
    GROUPS,
    differences,
    jackknife_covariance,
    left_out_ratios,
    left_out_strengths,
    ranks,
)

NAN = math.nan


def drawn(n, seed=0, systems=4):
    """Comparisons of chance, three on each instance."""
    rng = np.random.default_rng(seed)
    a = rng.integers(systems, size=3 * n)
    b = (a + rng.integers(1, systems, size=3 * n)) % systems
    return a, b, rng.choice([0.0, 0.5, 1.0], size=3 * n, p=[0.3, 0.2, 0.5]), np.repeat(np.arange(n), 3)


@pytest.mark.slow
@pytest.mark.parametrize("ties", ["half", "davidson"])
@pytest.mark.parametrize("weighted", [False, True])
def test_left_out_strengths_are_fits_of_the_others(ties, weighted):
    a, b, score, clusters = drawn(30)
    weights = np.random.default_rng(1).uniform(0.1, 2, size=len(a)) if weighted else np.ones(len(a))
    found = left_out_strengths(a, b, score, clusters, n_systems=4, weights=weights if weighted else None, ties=ties)
    whole = bradley_terry(a, b, score, n_systems=4, weights=weights, ties=ties)
    np.testing.assert_allclose(found.fit.strengths, whole.strengths, atol=1e-9)
    assert found.held.all()
    for one in range(30):
        rest = clusters != one
        other = bradley_terry(a[rest], b[rest], score[rest], n_systems=4, weights=weights[rest], ties=ties)
        np.testing.assert_allclose(found.moved[one], other.strengths - whole.strengths, atol=1e-8)


@pytest.mark.slow
def test_many_instances_are_left_out_in_groups_with_about_the_same_spread():
    a, b, score, clusters = drawn(3 * GROUPS)
    found = left_out_strengths(a, b, score, clusters, n_systems=4)
    assert found.moved.shape == (GROUPS, 4)
    # The sandwich of scores and information, which the jackknife nears as instances grow many.
    gap = found.fit.strengths[a] - found.fit.strengths[b]
    chance = 1 / (1 + np.exp(-gap))
    scores, information = np.zeros((3 * GROUPS, 4)), np.ones((4, 4))  # the ones hold the mean
    for row, (one, other) in enumerate(zip(a, b, strict=True)):
        scores[clusters[row], [one, other]] += (score[row] - chance[row]) * np.array([1, -1])
        bend = chance[row] * (1 - chance[row])
        information[np.ix_([one, other], [one, other])] += bend * np.array([[1, -1], [-1, 1]])
    influence = np.linalg.solve(information, scores.T)
    error = np.sqrt(np.diag(jackknife_covariance(found.moved)))
    np.testing.assert_allclose(error, np.sqrt((influence**2).sum(axis=1)), rtol=0.12)


def test_instance_that_alone_connects_is_not_held():
    # 0 and 1 meet on three instances, 2 joins them on one.
    found = left_out_strengths([0, 0, 1, 1, 1], [1, 1, 0, 2, 2], [1, 0.5, 1, 1, 0], [0, 1, 2, 3, 3], n_systems=4)
    assert found.together.tolist() == [0, 0, 2, 3]
    assert found.held.tolist() == [False] * 4
    assert found.fit.component.tolist() == [0, 0, 0, -1]
    # Movements are relative to those who stay together, so that the fourth instance moves nothing.
    np.testing.assert_allclose(found.moved[3], 0, atol=1e-9)
    assert found.moved[0, 0] == pytest.approx(-found.moved[0, 1])
    weights = [0.1, 0.2, 0.3, 0.1]  # what rounding leaves of their sum is no comparison
    found = left_out_strengths([0, 0, 0, 1], [1, 1, 1, 2], [1, 0, 0.5, 1], [0, 1, 2, 3], n_systems=3, weights=weights)
    assert found.together.tolist() == [0, 0, 2]
    nothing = left_out_strengths([], [], [], [], n_systems=3)
    assert nothing.moved.shape == (0, 3)
    assert not nothing.held.any()
    assert np.isnan(jackknife_covariance(nothing.moved)).all()


@given(st.integers(0, 50), st.integers(1, 6))
def test_matrices_of_groups_add_up(seed, groups):
    a, b, score, clusters = drawn(10, seed)
    weights = np.random.default_rng(seed).integers(1, 5, size=len(a))
    parts = grouped_win_matrices(a, b, score, clusters % groups, n_systems=4, weights=weights)
    whole = win_matrix(a, b, score, n_systems=4, weights=weights)
    np.testing.assert_allclose(parts.won.sum(axis=0), whole.won)
    np.testing.assert_allclose(parts.tied.sum(axis=0), whole.tied)
    np.testing.assert_array_equal(parts.tied, np.swapaxes(parts.tied, 1, 2))


def test_wrong_groups_are_refused():
    with pytest.raises(ShapeError):
        grouped_win_matrices([0], [1], [1], [0, 1], n_systems=2)
    with pytest.raises(UnknownValue):
        grouped_win_matrices([0], [1], [1], [-1], n_systems=2)


def test_rates_move_as_the_jackknife_of_ratios_says():
    sums = np.random.default_rng(3).integers(1, 9, size=(12, 2, 2)).astype(float)
    spread = jackknife_covariance(left_out_ratios(sums))
    assert spread[0, 0] == pytest.approx(jackknife_variance(sums[:, 0]))
    assert spread[1, 1] == pytest.approx(jackknife_variance(sums[:, 1]))


def test_differences_by_hand():
    # Independent scores with variance 1: a difference of 3 has the standard error sqrt(2).
    value, clusters, component = [4.0, 1.0, 0.0, 9.0], [30, 20, 25, 40], [0, 0, 0, 3]
    found = differences(value, np.eye(4), clusters, component, least=20)
    assert list(zip(found.first, found.second, strict=True)) == [(0, 1), (0, 2), (1, 2)]
    assert found.df.tolist() == [19, 24, 19]
    raw = [2 * student_tail(gap / math.sqrt(2), df) for gap, df in ((3, 19), (4, 24), (1, 19))]
    np.testing.assert_allclose(found.p_value, raw)
    np.testing.assert_allclose(found.adjusted, holm(raw))
    low, high = found.interval(0.95)
    assert high[0] - low[0] == pytest.approx(2 * math.sqrt(2) * student_quantile(0.975, 19))
    better = found.better(4, 0.95)
    assert np.argwhere(better).tolist() == [[0, 2]]  # 0 and 1: p is 0.047, and 0.09 adjusted
    rank, least, most = ranks(value, better, np.array(component))
    assert (rank.tolist(), least.tolist(), most.tolist()) == ([1, 2, 3, 1], [1, 1, 2, 1], [2, 3, 3, 1])


def test_untested_pairs_are_left_out_of_the_family():
    spread = np.eye(3)
    spread[2, 2] = NAN
    found = differences([5.0, 0.0, 1.0], spread, [9, 9, 9], [0, 0, 0], least=9)
    assert np.isnan(found.p_value).tolist() == [False, True, True]
    assert found.tested == 1
    assert found.adjusted[0] == found.p_value[0]
    assert np.isnan(found.interval(0.95)[0]).tolist() == [False, True, True]
    assert differences([5.0, 0.0, 1.0], spread, [9, 9, 8], [0, 0, 0], least=10).tested == 0
    together = np.ones((2, 2))  # two that move together have no spread, and are tested only where they do not differ
    assert differences([1.0, 1.0], together, [9, 9], [0, 0], least=2).p_value.tolist() == [1.0]
    assert np.isnan(differences([1.0, 2.0], together, [9, 9], [0, 0], least=2).p_value).all()


def test_equal_scores_share_the_better_rank_and_missing_ones_have_none():
    rank, low, high = ranks([1.0, NAN, 1.0, 0.5], np.zeros((4, 4), dtype=bool), [0, -1, 0, 0])
    assert (rank.tolist(), low.tolist(), high.tolist()) == ([1, 0, 1, 3], [1, 0, 1, 1], [3, 0, 3, 3])


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=6), st.floats(-100, 100), st.integers(0, 20))
def test_rank_ranges_hold_the_rank_and_a_constant_changes_nothing(values, constant, seed):
    n = len(values)
    rows = np.random.default_rng(seed).normal(size=(n, n))
    spread = rows @ rows.T
    codes = np.zeros(n, dtype=int)
    found = differences(values, spread, [25] * n, codes, least=20)
    rank, low, high = ranks(values, found.better(n, 0.95), codes)
    assert ((low <= rank) & (rank <= high)).all()
    moved = differences(np.array(values) + constant, spread, [25] * n, codes, least=20)
    np.testing.assert_allclose(moved.p_value, found.p_value, atol=1e-6)
    mirrored = differences(-np.array(values), spread, [25] * n, codes, least=20)
    np.testing.assert_array_equal(mirrored.better(n, 0.95), found.better(n, 0.95).T)
