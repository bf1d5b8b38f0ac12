"""Prediction-powered win rates: few people's votes and many verdicts of a judge."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from analysis.errors import AnalysisError, ShapeError, UnknownValue
from analysis.intervals.jackknife import student_quantile
from analysis.judges.prediction_powered import prediction_powered_win_rate, win_shares

NAN = np.nan


def study(rng, n=40, unrated=200, noise=0.2):
    """Instance means of people, on the first n instances only, and of a judge on all."""
    truth = rng.random(n + unrated)
    people = np.clip(truth + rng.normal(0, 0.1, n + unrated), 0, 1)
    people[n:] = NAN
    return people, np.clip(truth + rng.normal(0, noise, n + unrated), 0, 1)


def test_default_arguments_equal_the_plain_version(rng):
    for noise in (0.0, 0.1, 0.5):
        people, judge = study(rng, noise=noise)
        y, f = people[:40], judge[:40]
        # As PPI++ has it, with n - 1 in the variance.
        lam = np.mean((y - y.mean()) * (f - f.mean())) / ((1 + 40 / 200) * judge.var(ddof=1))
        lam = min(max(lam, 0), 1)
        theta, variance = weighted_plain(people, judge, np.ones(240), np.arange(240), lam)
        found = prediction_powered_win_rate(people, judge)
        assert (found.coefficient, found.estimate, found.standard_error**2) == pytest.approx((lam, theta, variance))
        reach = student_quantile(0.975, 39) * variance**0.5
        assert (found.low, found.high) == pytest.approx((theta - reach, theta + reach))
        assert found.effective_n == pytest.approx(y.var(ddof=1) / variance)
        assert found.saved == pytest.approx(found.effective_n - 40)
        assert (found.n_rated, found.n_judged, found.left_out, found.refusal) == (40, 200, 0, None)
        error = y.std(ddof=1) / 40**0.5
        assert (found.plain.estimate, found.plain.standard_error) == pytest.approx((y.mean(), error))
        assert found.plain.low == pytest.approx(y.mean() - student_quantile(0.975, 39) * error)


def test_by_hand():
    # Ten instances each of (y, f) = (0, 0) and (1, 1), and 20 of f = 1, 60 of f = 0. Cov = 1/4; mean of f over all 30/100, Var
    # 21/99; λ = (1/4) / ((1 + 20/80) · 21/99) = 99/105. θ = 1/2 - λ (1/2 - 1/4).
    people = np.array([0.0] * 10 + [1.0] * 10 + [NAN] * 80)
    judge = np.array([0.0] * 10 + [1.0] * 10 + [1.0] * 20 + [0.0] * 60)
    found = prediction_powered_win_rate(people, judge)
    assert found.coefficient == pytest.approx(99 / 105)
    assert found.estimate == pytest.approx(0.5 - 99 / 105 / 4)
    # Var(y - λ f) = (6/105)² · 5/19, by 20, and λ² · 15/79, by 80.
    assert found.standard_error**2 == pytest.approx((6 / 105) ** 2 * 5 / 19 / 20 + (99 / 105) ** 2 * 15 / 79 / 80)


@given(st.integers(0, 2**32), st.floats(0, 1))
def test_swapping_the_systems_mirrors_the_win_rate_and_order_plays_no_part(seed, noise):
    people, judge = study(np.random.default_rng(seed), n=25, unrated=30, noise=noise)
    one = prediction_powered_win_rate(people, judge)
    other = prediction_powered_win_rate(1 - people[::-1], 1 - judge[::-1])
    assert (other.estimate, other.low, other.high) == pytest.approx((1 - one.estimate, 1 - one.high, 1 - one.low))
    assert (other.effective_n, other.saved) == pytest.approx((one.effective_n, one.saved))


@given(hnp.arrays(float, 24, elements=st.sampled_from([0.0, 0.25, 0.5, 1.0])), st.integers(2, 20))
def test_perfect_judge_narrows_the_interval(values, times):
    people = np.concatenate([values, np.full(24 * times, NAN)])
    found = prediction_powered_win_rate(people, np.tile(values, times + 1))
    assert found.estimate == pytest.approx(values.mean())
    if np.ptp(values) == 0:
        assert (found.low, found.high) == (found.plain.low, found.plain.high)
    else:
        assert found.standard_error < 0.9 * found.plain.standard_error
        assert found.high - found.low < found.plain.high - found.plain.low
        assert found.saved > 0


def test_judge_that_tells_nothing_gives_the_plain_interval(rng):
    people, judge = study(rng)
    alike = [(people, np.full(240, constant)) for constant in (0.0, 0.3, 1.0)]
    for columns in (*alike, (people, 1 - judge), study(rng, unrated=0), study(rng, unrated=1)):
        found = prediction_powered_win_rate(*columns)
        assert (found.coefficient, found.saved) == (0, 0)
        assert (found.estimate, found.low, found.high) == (found.plain.estimate, found.plain.low, found.plain.high)


def test_equal_chances_are_no_chances(rng):
    people, judge = study(rng)
    one, other = (prediction_powered_win_rate(people, judge, probabilities=p) for p in (None, np.full(240, 0.1)))
    assert (other.estimate, other.low, other.effective_n) == pytest.approx((one.estimate, one.low, one.effective_n))


def test_nineteen_rated_instances_give_a_reason_and_twenty_an_estimate(rng):
    assert prediction_powered_win_rate(*study(rng, n=20)).refusal is None
    refused = prediction_powered_win_rate(*study(rng, n=19))
    assert str(refused.refusal) == "19 of the 20 instances needed"
    assert np.isnan([refused.estimate, refused.low, refused.effective_n, refused.saved, refused.coefficient]).all()
    assert not np.isnan([refused.plain.estimate, refused.plain.low]).any()
    chosen = prediction_powered_win_rate(*study(rng), random_draw=False)
    assert str(chosen.refusal) == "the instances that people rated are no random draw"
    assert np.isnan(chosen.estimate)


def test_rated_instances_without_a_verdict_are_left_out_and_counted(rng):
    people, judge = study(rng)
    whole = prediction_powered_win_rate(people[3:-2], judge[3:-2])
    judge[:3] = judge[-2:] = NAN
    found = prediction_powered_win_rate(people, judge)
    assert (found.estimate, found.plain, found.n_judged) == (whole.estimate, whole.plain, 198)
    assert (found.left_out, whole.left_out) == (3, 0)


def test_all_ties_have_the_bound_of_equal_instances():
    people = np.concatenate([np.full(30, 0.5), np.full(50, NAN)])
    found = prediction_powered_win_rate(people, np.full(80, 0.5))
    assert (found.estimate, found.effective_n) == (0.5, 30)
    assert found.low == pytest.approx(0.5 * 0.025 ** (1 / 30))


@pytest.mark.parametrize("n", [0, 1, 4])
def test_nearly_nothing_gives_a_reason(n):
    found = prediction_powered_win_rate(np.full(n, 0.5), np.full(n, 0.5))
    assert found.refusal.found == n
    assert np.isnan([found.estimate, found.low, found.plain.low]).all()


def test_estimate_stays_within_its_range():
    people = np.concatenate([np.ones(19), [0.0], np.full(200, NAN)])
    judge = np.concatenate([np.full(19, 0.9), [0.0], np.ones(200)])
    found = prediction_powered_win_rate(people, judge)
    assert (found.estimate <= 1, found.high) == (True, 1)


def test_win_shares_by_hand():
    # Instance 0: B, tie: 3/4; instance 1: nothing; instance 2: A and a missing one: 0; instance 3: only a missing one.
    found = win_shares([1, 0, -1, NAN, NAN], [0, 0, 2, 2, 3], 4)
    np.testing.assert_array_equal(found, [0.75, NAN, 0, NAN])
    assert win_shares([], [], 0).tolist() == []


def test_what_does_not_fit_is_refused(rng):
    people, judge = study(rng)
    for wrong in (people[:-1], people[:, np.newaxis], 0.5):
        with pytest.raises(ShapeError):
            prediction_powered_win_rate(wrong, judge)
    with pytest.raises(UnknownValue):
        prediction_powered_win_rate(people * 3, judge)
    with pytest.raises(UnknownValue):
        prediction_powered_win_rate(people, judge - 1)
    with pytest.raises(ShapeError):
        prediction_powered_win_rate(people, judge, probabilities=[0.5])
    for chance in (0, 1.1, NAN):
        with pytest.raises(UnknownValue):
            prediction_powered_win_rate(people, judge, probabilities=np.full(240, chance))
    with pytest.raises(AnalysisError, match="level"):
        prediction_powered_win_rate(people, judge, level=0)
    for codes in ([0, 2], [-1, 0]):
        with pytest.raises(UnknownValue):
            win_shares([1, 1], codes, 2)


def test_numbers_of_ppi_python_are_met():
    # ppi-python 0.2.3: ppi_mean_pointestimate and ppi_mean_ci (normal, variances by n and N) of the same columns.
    k = np.arange(90)
    judge = (k * 37 % 11) / 10
    people = np.where(k < 25, np.clip((judge + k * 13 % 7 / 6) / 2, 0, 1), NAN)
    found = prediction_powered_win_rate(people, judge)
    assert found.estimate == pytest.approx(0.5069726768747547, abs=1e-12)
    y, f, lam = people[:25], judge[:25], found.coefficient
    error = (np.var(y - lam * f) / 25 + lam**2 * np.var(judge[25:]) / 65) ** 0.5
    assert 1.959963984540054 * 2 * error == pytest.approx(0.5833440390669151 - 0.4306013146825942, abs=1e-12)


def test_two_instances_that_only_the_judge_rated_tell_of_it() -> None:
    rng = np.random.default_rng(5)
    judge = rng.random(32)
    people = np.clip(judge + rng.normal(0, 0.05, 32), 0, 1)
    people[30:] = np.nan
    y, f = people[:30], judge[:30]
    # λ = Cov(y, f) / ((1 + 30 / 2) Var(f)), the variance over all 32.
    expected = np.mean((y - y.mean()) * (f - f.mean())) / (16 * judge.var(ddof=1))
    assert prediction_powered_win_rate(people, judge).coefficient == pytest.approx(expected)
    people[30] = 0.5
    assert prediction_powered_win_rate(people, judge).coefficient == 0  # one is too few


def weighted_plain(people, judge, chances, clusters, lam):
    """The estimate and its variance with weights 1/π, cluster by cluster."""
    rated = [i for i in range(len(people)) if people[i] == people[i]]
    others = [i for i in range(len(people)) if people[i] != people[i]]
    total = sum(1 / chances[i] for i in rated)
    mean_all = sum(judge) / len(judge)
    mean_y = sum(people[i] / chances[i] for i in rated) / total
    mean_f = sum(judge[i] / chances[i] for i in rated) / total
    scale = lam * len(judge) / len(others)
    moved = {i: (people[i] - mean_y - scale * (judge[i] - mean_f)) / chances[i] / total for i in rated}
    moved = {i: value + scale * judge[i] / len(judge) for i, value in moved.items()}
    groups = (moved, {i: scale * judge[i] / len(judge) for i in others})
    sums = {}
    for group in groups:
        number, centre = len({clusters[i] for i in group}), sum(group.values()) / len(group)
        for i, value in group.items():
            sums[clusters[i]] = sums.get(clusters[i], 0) + (value - centre) * (number / (number - 1)) ** 0.5
    return mean_y - scale * (mean_f - mean_all), sum(value**2 for value in sums.values())


@pytest.mark.parametrize("size", [1, 3])
def test_unequal_chances_equal_the_plain_version(rng, size):
    people, judge = study(rng, n=75, unrated=90)
    chances, clusters = rng.uniform(0.1, 1, 165), np.arange(165) // size
    chances[75:] = NAN  # those of instances that nobody rated are not read
    found = prediction_powered_win_rate(people, judge, probabilities=chances, clusters=clusters)
    estimate, variance = weighted_plain(people, judge, chances, clusters, found.coefficient)
    assert (found.estimate, found.standard_error**2) == pytest.approx((estimate, variance))
    # No other λ has a smaller variance, and 0 is people alone.
    for lam in np.linspace(0, 1, 21):
        assert weighted_plain(people, judge, chances, clusters, lam)[1] >= variance - 1e-12
    assert found.plain.estimate == pytest.approx(weighted_plain(people, judge, chances, clusters, 0)[0])
    assert 0 < found.coefficient < 1


def test_needed_at_random_is_by_the_variance_of_all(rng):
    people, _ = study(rng, n=400, unrated=4000)
    chances = np.where(rng.random(4400) < 0.5, 0.05, 0.2)
    found = prediction_powered_win_rate(people, np.full(4400, 0.5), probabilities=chances)
    weight = 1 / chances[:400]
    spread = np.average((people[:400] - np.average(people[:400], weights=weight)) ** 2, weights=weight) * 400 / 399
    assert found.effective_n == pytest.approx(spread / found.standard_error**2)
    assert found.effective_n < 400  # chances that have nothing to do with votes cost some
