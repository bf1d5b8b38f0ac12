"""Win rates at equal lengths: by hand, against plain refits, and in degenerate studies."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from analysis.bias.length_adjusted import (
    RIDGE,
    RIDGES,
    LengthVerdicts,
    length_adjusted_win_rate,
    length_adjusted_win_rates,
)
from analysis.errors import ShapeError, UnknownValue
from analysis.intervals.jackknife import student_quantile

A, TIE, B = -1.0, 0.0, 1.0
RATES, EFFECTS = [0.349669, 0.161386, 0.136568, 0.039194], [1.16111, 2.136772, 2.241188, 3.133223]  # of `several`
RIDGE_AND_COMMON = (1000.0, 1.603139)
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


def refits(verdict, difference, used, scale):
    """Find the same maxima, of the verdicts that each row of `used` takes, by small steps uphill."""
    x, wins, beta = np.tanh(difference / scale), (1 + verdict) / 2, np.zeros((len(used), 2))
    for _ in range(1000):
        gap = used * (wins - 1 / (1 + np.exp(-(beta[:, :1] + beta[:, 1:] * x))))
        beta += 4 / used.sum(axis=1, keepdims=True) * (np.stack([gap.sum(axis=1), gap @ x], axis=1) - RIDGE * beta)
    return beta


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(0, 40))
def test_swapping_the_systems_mirrors_the_rate_and_order_and_unit_of_length_play_no_part(seed, n):
    rng = np.random.default_rng(seed)
    verdict, difference, instance = rng.choice([A, TIE, B, np.nan], n), rng.normal(size=n) * 50, np.arange(n) // 2
    one = length_adjusted_win_rate(verdict, difference, instance)
    other = length_adjusted_win_rate(-verdict[::-1], -difference[::-1] / 7, instance[::-1] + 3)
    assert other.win_rate == pytest.approx(1 - one.win_rate, nan_ok=True)
    assert (other.low, other.high) == pytest.approx((1 - one.high, 1 - one.low), nan_ok=True)
    effects = [(each.length_effect, each.effect_low, each.effect_high) for each in (one, other)]
    assert effects[0] == pytest.approx(effects[1], nan_ok=True, abs=1e-9)
    assert other.refusal == one.refusal


def test_equal_lengths_need_no_adjustment_and_one_difference_throughout_has_no_answer():
    found = length_adjusted_win_rate([B, B, A, TIE] * 10, np.zeros(40), np.arange(40))
    assert found.win_rate == pytest.approx(found.plain, abs=2e-4)
    assert (found.length_effect, found.scale) == (0.0, 0.0)
    assert found.low < found.win_rate < found.high
    assert np.isnan([found.effect_low, found.effect_high]).all()
    alike = length_adjusted_win_rate([B, A] * 20, np.full(40, 12.0), np.arange(40))
    assert np.isnan([alike.win_rate, alike.low, alike.length_effect, alike.scale]).all()
    assert (alike.plain, alike.refusal) == (0.5, None)
    for verdict in ([], [np.nan]):
        nothing = length_adjusted_win_rate(verdict, [1.0] * len(verdict), [0] * len(verdict))
        assert np.isnan([nothing.win_rate, nothing.plain]).all()
        assert (nothing.n, nothing.n_instances) == (0, 0)


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


def test_what_does_not_fit_is_refused():
    with pytest.raises(ShapeError):
        length_adjusted_win_rate([1, 1], [0.5], [0, 1])
    with pytest.raises(UnknownValue):
        length_adjusted_win_rate([1], [np.nan], [0])
    with pytest.raises(UnknownValue):
        length_adjusted_win_rate([1], [1.0], [0], level=1)


@pytest.mark.slow
def test_intervals_are_those_of_refits_without_each_instance(rng):
    verdict, difference, instance = study(rng, n=200)
    verdict[::9] = TIE
    instance = instance % 50
    found = length_adjusted_win_rate(verdict, difference, instance)
    used = instance != np.arange(50)[:, np.newaxis]
    left = refits(verdict, difference, used, found.scale)
    plain = (used * (1 + verdict) / 2).sum(axis=1) / used.sum(axis=1)
    left = np.column_stack([left, 1 / (1 + np.exp(-left[:, 0])) - plain])
    reach = student_quantile(0.975, 49) * (49 / 50 * np.square(left - left.mean(axis=0)).sum(axis=0)) ** 0.5
    assert found.change == pytest.approx(found.win_rate - found.plain)
    limits = np.array([
        [logit(found.low), found.effect_low, found.change_low],
        [logit(found.high), found.effect_high, found.change_high],
    ])  # fmt: skip
    value = np.array([logit(found.win_rate), found.length_effect, found.change])
    assert limits - value == pytest.approx(np.array([-reach, reach]), rel=0.02)


def test_overlap_of_lengths():
    difference = np.random.default_rng(1).normal(size=2000)
    for shift, overlaps in ((0.0, True), (2.0, False)):
        found = length_adjusted_win_rate(np.resize([A, B], 2000), difference + shift, np.arange(2000))
        assert found.near == (np.abs(difference + shift) <= difference.std() / 4).mean()
        assert (found.overlaps, found.extrapolates) == (overlaps, not overlaps)
    one_side = np.concatenate([np.linspace(0.01, 0.1, 30), np.linspace(2, 4, 70)])
    assert not length_adjusted_win_rate(np.resize([A, B], 100), one_side, np.arange(100)).overlaps


def test_the_p_value_of_the_effect_is_that_of_its_interval():
    verdict, difference, instance = study(np.random.default_rng(9), n=200)
    p_value = length_adjusted_win_rate(verdict, difference, instance).effect_p_value
    at_edge = length_adjusted_win_rate(verdict, difference, instance, level=1 - p_value)
    assert min(abs(at_edge.effect_low), abs(at_edge.effect_high)) == pytest.approx(0, abs=1e-6)


def several(seed, *, systems=4, n=60, opponents=False, deviations=0.0):
    """Comparisons of systems on the same instances; a system's ability on an instance is 1 - its number, and random.

    opponents : only the first system meets the others
    """
    rng = np.random.default_rng(seed)
    ability = rng.normal(size=(systems, n)) - np.arange(systems)[:, np.newaxis]
    length = 1000 + 300 * rng.normal(size=(systems, n)) + 100 * np.arange(systems)[:, np.newaxis]
    compared = []
    for a, b in [pair for pair in combinations(range(systems), 2) if not (opponents and pair[0])]:
        gap = length[b] - length[a]
        slope = 2 + deviations * rng.normal()
        share = 1 / (1 + np.exp(ability[a] - ability[b] - slope * np.tanh(gap / gap.std())))
        compared.append(LengthVerdicts(np.where(rng.random(n) < share, B, A), gap, np.arange(n), (f"s{a}", f"s{b}")))
    return compared


def searched(columns, wins, ridge, centre):
    """Find a maximum by a search that knows no derivative of second order."""

    def loss(beta):
        odds = beta @ columns
        return (np.logaddexp(0, odds) - wins * odds).sum() + np.square(beta - centre) @ ridge / 2

    def slope(beta):
        return columns @ (1 / (1 + np.exp(-beta @ columns)) - wins) + ridge * (beta - centre)

    return minimize(loss, np.array(centre), jac=slope, method="BFGS", options={"gtol": 1e-9}).x


def plainly(compared):
    """Fit step by step: each comparison is taken out, each instance left out. Return what is compared below."""
    n, names = 30, sorted({name for one in compared for name in one.systems})
    tanh = [np.tanh(one.length_difference / one.length_difference.std()) for one in compared]
    wins = [(1 + one.verdict) / 2 for one in compared]
    sides = np.array(
        [[(name == one.systems[1]) - (name == one.systems[0]) * 1.0 for name in names] for one in compared]
    )
    alone = [
        searched(np.array([np.ones(n), x]), y, np.full(2, RIDGE), np.zeros(2)) for x, y in zip(tanh, wins, strict=True)
    ]
    share = np.array([1 / (1 + np.exp(-beta[0] - beta[1] * x)) for beta, x in zip(alone, tanh, strict=True)])
    gap, weight = np.array(wins) - share, share * (1 - share)
    columns = []
    for place, x in enumerate(tanh):
        rest = np.arange(len(compared)) != place
        precision = np.eye(len(names)) + np.einsum("ki,ks,kt->ist", weight[rest], sides[rest], sides[rest])
        ability = np.linalg.solve(precision, (gap[rest].T @ sides[rest])[:, :, np.newaxis])[:, :, 0]
        columns.append(np.array([np.ones(n), x, ability @ sides[place]]))
    own = [searched(x, y, np.full(3, RIDGE), np.zeros(3)) for x, y in zip(columns, wins, strict=True)]
    information = []
    for beta, x in zip(own, columns, strict=True):
        at = 1 / (1 + np.exp(-beta @ x))
        information.append(1 / np.linalg.inv((x * at * (1 - at)) @ x.T + RIDGE * np.eye(3))[1, 1] - RIDGE)
    tried = {}
    for ridge in RIDGES:
        share_of = np.array([one * ridge / (one + ridge) for one in information])
        common = float(share_of @ [beta[1] for beta in own] / share_of.sum())
        penalty, centre = np.array([RIDGE, ridge, RIDGE]), np.array([0, common, 0])
        losses = np.zeros(n)
        for x, y in zip(columns, wins, strict=True):
            for out in range(n):
                kept = np.arange(n) != out
                odds = searched(x[:, kept], y[kept], penalty, centre) @ x[:, out]
                losses[out] += np.logaddexp(0, odds) - y[out] * odds
        fits = [searched(x, y, penalty, centre) for x, y in zip(columns, wins, strict=True)]
        rates = [(1 / (1 + np.exp(-beta[0] - beta[2] * x[2]))).mean() for beta, x in zip(fits, columns, strict=True)]
        tried[ridge] = losses.sum(), losses.std() * n**0.5, common, rates, [beta[2] for beta in fits]
    least, error = min(tried.values())[:2]
    chosen = max(ridge for ridge, (total, *_) in tried.items() if total <= least + error)
    return chosen, *tried[chosen][2:], [beta[1] for beta in own]


@pytest.mark.slow
def test_several_comparisons_are_fitted_as_by_plain_search():
    compared = several(3, systems=3, n=30)
    found = length_adjusted_win_rates(compared)
    ridge, common, rates, difficulty, effects = plainly(compared)
    assert {one.ridge for one in found} == {ridge}
    assert [one.common_effect for one in found] == pytest.approx([common] * 3, abs=1e-6)
    assert [one.win_rate for one in found] == pytest.approx(rates, abs=1e-6)
    assert [one.difficulty_effect for one in found] == pytest.approx(difficulty, abs=1e-5)
    assert [one.length_effect for one in found] == pytest.approx(effects, abs=1e-5)


@pytest.mark.slow
def test_a_strong_ridge_is_left_where_effects_of_length_differ():
    ridges = [length_adjusted_win_rates(several(2, n=1500, deviations=one))[0].ridge for one in (0.0, 4.0)]
    assert ridges[0] == RIDGES[-1] > ridges[1]


def test_numbers_of_four_opponents_of_one_system_stay():
    found = length_adjusted_win_rates(several(5, systems=5, n=120, opponents=True))
    assert [round(one.win_rate, 6) for one in found] == RATES
    assert [round(one.length_effect, 6) for one in found] == EFFECTS
    assert (found[0].ridge, round(found[0].common_effect, 6)) == RIDGE_AND_COMMON


def test_a_comparison_without_another_is_as_alone():
    one = several(4)[0]
    nothing = LengthVerdicts([np.nan], [3.0], [0], ("s0", "s2"))
    alone = length_adjusted_win_rate(one.verdict, one.length_difference, one.instance)
    found, empty = length_adjusted_win_rates([one, nothing])
    assert found == alone
    assert np.isnan([found.common_effect, found.difficulty_effect, empty.win_rate]).all()
    assert found.ridge == RIDGE


@pytest.mark.slow
@pytest.mark.parametrize("opponents", [pytest.param(True, id="one opponent"), pytest.param(False, id="each two")])
def test_intervals_of_several_comparisons_are_those_of_new_fits_without_each_instance(opponents):
    compared = several(6, n=60, opponents=opponents)
    found = length_adjusted_win_rates(compared)
    left = []
    for out in range(60):
        kept = [
            LengthVerdicts(
                *(column[np.arange(60) != out] for column in (one.verdict, one.length_difference, one.instance)),
                one.systems,
            )
            for one in compared
        ]
        fits = length_adjusted_win_rates(kept)
        assert fits[0].ridge == found[0].ridge
        left.append([[logit(one.win_rate), one.change, one.length_effect] for one in fits])
    errors = (59 / 60 * np.square(np.array(left) - np.mean(left, axis=0)).sum(axis=0)) ** 0.5
    for one, error in zip(found, student_quantile(0.975, 59) * errors, strict=True):
        ends = (logit(one.high) - logit(one.low), one.change_high - one.change_low, one.effect_high - one.effect_low)
        assert np.array(ends) / 2 == pytest.approx(error, rel=0.12)


def test_a_mirrored_comparison_among_several_mirrors_its_rate():
    compared = several(7)
    one = compared[2]
    mirrored = [*compared]
    mirrored[2] = LengthVerdicts(-one.verdict, -one.length_difference, one.instance, one.systems[::-1])
    found, other = length_adjusted_win_rates(compared), length_adjusted_win_rates(mirrored)
    assert (other[2].win_rate, other[2].low) == pytest.approx((1 - found[2].win_rate, 1 - found[2].high))
    assert [one.win_rate for one in other[:2]] == pytest.approx([one.win_rate for one in found[:2]])
    assert other[2].length_effect == pytest.approx(found[2].length_effect)


def test_lengths_that_overlap_elsewhere_give_a_rate_but_no_claim():
    compared = several(8, n=200)
    far = compared[0]
    compared[0] = LengthVerdicts(far.verdict, far.length_difference + 2000.0, far.instance, far.systems)
    found = length_adjusted_win_rates(compared)
    assert [(one.overlaps, one.extrapolates) for one in found[:2]] == [(False, False), (True, False)]
    assert length_adjusted_win_rates(compared[:1])[0].extrapolates


@pytest.mark.parametrize("n", [1, 2])
def test_few_instances_have_finite_rates_without_an_interval(n):
    for one in length_adjusted_win_rates(
        [*several(9, n=20)[:2], LengthVerdicts([B] * n, [1.0] * (n - 1) + [0.0], np.arange(n), ("s0", "s3"))]
    ):
        assert 0 < one.win_rate < 1
    few = [LengthVerdicts([B, A][:n], [0.0, 5.0][:n], np.arange(n), ("s0", name)) for name in ("s1", "s2")]
    for one in length_adjusted_win_rates(few):
        assert 0 < one.win_rate < 1
        assert np.isnan([one.low, one.effect_low, one.change_low]).all()


@pytest.mark.parametrize("toward", [B, A])
def test_verdicts_that_follow_length_alone_have_no_rate_at_equal_lengths(rng, toward):
    """A rule that always picks the longer text, or the shorter one, says nothing of two texts of one length."""
    lengths = rng.normal(size=(3, 200)) + np.array([[0.0], [0.5], [1.0]])
    compared = [
        LengthVerdicts(
            toward * np.sign(lengths[b] - lengths[a]), lengths[b] - lengths[a], np.arange(200), (str(a), str(b))
        )
        for a, b in combinations(range(3), 2)
    ]
    assert length_adjusted_win_rates(compared[:1])[0].follows_length
    assert all(found.follows_length for found in length_adjusted_win_rates(compared))
    assert not length_adjusted_win_rate(*study(rng, effect=3)).follows_length


def test_verdicts_that_follow_length_have_a_rate_where_other_comparisons_tell_what_length_does(rng):
    lengths = rng.normal(-0.5, 1, size=200)
    alone = LengthVerdicts(np.where(lengths > 0, B, A), lengths, np.arange(200), ("s0", "s9"))
    assert length_adjusted_win_rates([alone])[0].follows_length
    *_, rate = length_adjusted_win_rates([*several(9, n=200, opponents=True), alone])
    assert (rate.overlaps, rate.follows_length) == (True, False)
    assert 0 < rate.low < rate.win_rate < rate.high < 1
