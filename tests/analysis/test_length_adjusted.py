"""Win rates at equal lengths: by hand, against plain refits, and in degenerate studies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import ShapeError, UnknownValue
from analysis.jackknife import student_quantile
from analysis.length_adjusted import RIDGE, length_adjusted_win_rate

A, TIE, B = -1.0, 0.0, 1.0
SCIKIT = (0.4419796684504193, 0.8370707138798157)  # win rate and effect of length


def logit(share):
    return np.log(share / (1 - share))


def study(rng, n=200, *, strength=0.4, effect=1.5, lean=0.5):
    """One verdict an instance; B's texts are longer by `lean` standard deviations."""
    difference = 80 * (rng.normal(size=n) + lean)
    odds = strength + effect * np.tanh(difference / difference.std())
    return np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), B, A), difference, np.arange(n)


def test_numbers_of_scikit_learn_are_met():
    # LogisticRegression(C=100, fit_intercept=False, solver="newton-cholesky", tol=1e-14) on [1, tanh], ties as two halves.
    k = np.arange(60)
    verdict = np.where(k % 5 == 0, TIE, np.where(k * 7 % 11 < 6, B, A))
    found = length_adjusted_win_rate(verdict, k * 37 % 101 - 30.0, k)
    assert found.win_rate == pytest.approx(SCIKIT[0], abs=1e-9)
    assert found.length_effect == pytest.approx(SCIKIT[1], abs=1e-8)
    assert (found.n, found.n_instances) == (60, 60)


def test_two_lengths_by_hand():
    # d = ±1 with s = 1: the odds of B are 3 at +1 and 1/3 at -1, so that θ = 0 and γ tanh(1) = log 3, but for the ridge.
    found = length_adjusted_win_rate([B, B, B, A, A, A, A, B] * 50, [1, 1, 1, 1, -1, -1, -1, -1] * 50, [0, 1] * 200)
    assert found.win_rate == pytest.approx(0.5, abs=1e-12)
    assert found.length_effect == pytest.approx(np.log(3) / np.tanh(1), rel=1e-3)
    assert (found.plain, found.scale) == (0.5, 1.0)


def test_length_is_taken_out(rng):
    found = length_adjusted_win_rate(*study(rng, n=20_000))
    assert found.plain > 0.66
    assert logit(found.win_rate) == pytest.approx(0.4, abs=0.06)
    assert found.length_effect == pytest.approx(1.5, abs=0.1)
    assert found.low < 1 / (1 + np.exp(-0.4)) < found.high


@pytest.mark.slow
def test_interval_is_that_of_refits_without_each_instance(rng):
    verdict, difference, instance = study(rng, n=150)
    verdict[::9] = TIE
    instance = instance // 3
    found = length_adjusted_win_rate(verdict, difference, instance)
    left = refits(verdict, difference, instance != np.arange(50)[:, np.newaxis], found.scale)
    reach = student_quantile(0.975, 49) * (49 / 50 * np.square(left - left.mean(axis=0)).sum(axis=0)) ** 0.5
    limits = np.array([[logit(found.low), found.effect_low], [logit(found.high), found.effect_high]])
    value = np.array([logit(found.win_rate), found.length_effect])
    assert limits - value == pytest.approx(np.array([-reach, reach]), rel=0.01)


def refits(verdict, difference, used, scale):
    """Find the same maxima, of the verdicts that each row of `used` takes, by small steps uphill."""
    x, wins, beta = np.tanh(difference / scale), (1 + verdict) / 2, np.zeros((len(used), 2))
    for _ in range(1000):
        gap = used * (wins - 1 / (1 + np.exp(-(beta[:, :1] + beta[:, 1:] * x))))
        beta += 4 / used.sum(axis=1, keepdims=True) * (np.stack([gap.sum(axis=1), gap @ x], axis=1) - RIDGE * beta)
    return beta


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(0, 40))
def test_swapping_the_systems_mirrors_the_rate(seed, n):
    rng = np.random.default_rng(seed)
    verdict, difference, instance = rng.choice([A, TIE, B, np.nan], n), rng.normal(size=n) * 50, np.arange(n) // 2
    one = length_adjusted_win_rate(verdict, difference, instance)
    other = length_adjusted_win_rate(-verdict, -difference, instance)
    assert other.win_rate == pytest.approx(1 - one.win_rate, nan_ok=True)
    assert (other.low, other.high) == pytest.approx((1 - one.high, 1 - one.low), nan_ok=True)
    effects = [(each.length_effect, each.effect_low, each.effect_high) for each in (one, other)]
    assert effects[0] == pytest.approx(effects[1], nan_ok=True, abs=1e-9)
    assert other.refusal == one.refusal


@pytest.mark.slow
@given(st.integers(0, 2**32))
def test_order_and_unit_of_length_play_no_part(seed):
    rng = np.random.default_rng(seed)
    verdict, difference, instance = study(rng, n=30)
    order = rng.permutation(30)
    one = length_adjusted_win_rate(verdict, difference, instance)
    other = length_adjusted_win_rate(verdict[order], difference[order] / 7, instance[order] + 3)
    assert (other.win_rate, other.low, other.high) == pytest.approx((one.win_rate, one.low, one.high), abs=1e-9)


def test_equal_lengths_need_no_adjustment():
    found = length_adjusted_win_rate([B, B, A, TIE] * 10, np.zeros(40), np.arange(40))
    assert found.win_rate == pytest.approx(found.plain, abs=2e-4)
    assert (found.length_effect, found.scale) == (0.0, 0.0)
    assert found.low < found.win_rate < found.high
    assert np.isnan([found.effect_low, found.effect_high]).all()


def test_one_and_the_same_difference_throughout_has_no_answer():
    found = length_adjusted_win_rate([B, A] * 20, np.full(40, 12.0), np.arange(40))
    assert np.isnan([found.win_rate, found.low, found.length_effect, found.scale]).all()
    assert (found.plain, found.refusal) == (0.5, None)


@pytest.mark.parametrize("verdict", [A, TIE, B])
def test_verdicts_that_are_all_alike_have_a_finite_rate_without_an_interval(verdict):
    found = length_adjusted_win_rate(np.full(40, verdict), np.linspace(-9, 20, 40), np.arange(40))
    assert np.isfinite([found.win_rate, found.length_effect]).all()
    assert np.isnan([found.low, found.high, found.effect_low, found.effect_high]).all()
    assert abs(found.win_rate - found.plain) < 0.01


def test_longer_text_that_always_wins_has_a_finite_effect():
    difference = np.linspace(-10, 10, 41)
    found = length_adjusted_win_rate(np.sign(difference), difference, np.arange(41))
    assert found.win_rate == pytest.approx(0.5)
    assert 10 < found.length_effect < 1000
    assert np.isfinite([found.low, found.high]).all()


def test_nineteen_instances_have_no_interval_and_twenty_do(rng):
    verdict, difference, instance = study(rng, n=40)
    assert str(length_adjusted_win_rate(verdict, difference, instance % 19).refusal) == "19 of the 20 instances needed"
    refused = length_adjusted_win_rate(verdict, difference, instance % 19)
    assert np.isnan([refused.low, refused.effect_low, refused.effect_high]).all()
    assert not np.isnan(length_adjusted_win_rate(verdict, difference, instance % 20).low)


def test_nothing_has_no_rate():
    for verdict in ([], [np.nan]):
        found = length_adjusted_win_rate(verdict, [1.0] * len(verdict), [0] * len(verdict))
        assert np.isnan([found.win_rate, found.plain]).all()
        assert (found.n, found.n_instances) == (0, 0)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ShapeError):
        length_adjusted_win_rate([1, 1], [0.5], [0, 1])
    with pytest.raises(UnknownValue):
        length_adjusted_win_rate([1], [np.nan], [0])
    with pytest.raises(UnknownValue):
        length_adjusted_win_rate([1], [1.0], [0], ridge=0)
    with pytest.raises(UnknownValue):
        length_adjusted_win_rate([1], [1.0], [0], level=1)


def test_the_change_has_the_paired_jackknife_interval():
    rng = np.random.default_rng(8)
    verdict, difference, instance = study(rng, n=200)
    instance = instance % 50
    found = length_adjusted_win_rate(verdict, difference, instance)
    assert found.change == pytest.approx(found.win_rate - found.plain)
    used = instance != np.arange(50)[:, np.newaxis]
    rates = 1 / (1 + np.exp(-refits(verdict, difference, used, found.scale)[:, 0]))
    plain = (used * (1 + verdict) / 2).sum(axis=1) / used.sum(axis=1)
    left = rates - plain
    reach = student_quantile(0.975, 49) * (49 / 50 * np.square(left - left.mean()).sum()) ** 0.5
    assert (found.change_high - found.change, found.change - found.change_low) == pytest.approx(
        (reach, reach), rel=0.02
    )


@pytest.mark.parametrize(
    ("shift", "overlaps"), [pytest.param(0.0, True, id="alike"), pytest.param(2.0, False, id="B nearly always longer")]
)
def test_overlap_of_lengths(shift, overlaps):
    difference = np.random.default_rng(1).normal(size=2000) + shift
    found = length_adjusted_win_rate(np.resize([A, B], 2000), difference, np.arange(2000))
    near = np.abs(difference) <= difference.std() / 4
    assert found.near == near.mean()
    assert (found.near_shorter, found.near_longer) == (
        (near & (difference < 0)).mean(),
        (near & (difference > 0)).mean(),
    )
    assert found.overlaps is overlaps


def test_pairs_near_equal_lengths_on_one_side_do_not_overlap():
    difference = np.concatenate([np.linspace(0.01, 0.1, 30), np.linspace(2, 4, 70)])
    assert not length_adjusted_win_rate(np.resize([A, B], 100), difference, np.arange(100)).overlaps


def test_the_p_value_of_the_effect_is_that_of_its_interval():
    verdict, difference, instance = study(np.random.default_rng(9), n=200)
    p_value = length_adjusted_win_rate(verdict, difference, instance).effect_p_value
    at_edge = length_adjusted_win_rate(verdict, difference, instance, level=1 - p_value)
    assert min(abs(at_edge.effect_low), abs(at_edge.effect_high)) == pytest.approx(0, abs=1e-6)
