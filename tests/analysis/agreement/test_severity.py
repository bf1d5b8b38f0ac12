"""Severity: deviations one by one, what an interval holds, false claims, and degenerate studies."""

import numpy as np
import pytest

from analysis.agreement.severity import Severity, severity
from analysis.intervals.jackknife import student_tail
from analysis.types import FloatArray, IntArray


def _study(
    rng: np.random.Generator, biases: FloatArray, instances: int = 40, pairs: int = 2, raters: int = 3
) -> list[IntArray]:
    """Draw verdicts of three raters an instance, who have an own view of it and a bias: verdict, unit, rater, instance."""
    instance = np.repeat(np.arange(instances), raters * pairs)
    own = [np.tile(rng.choice(len(biases), raters, replace=False), pairs) for _ in range(instances)]
    rater = np.concatenate(own)
    unit = instance * pairs + np.tile(np.repeat(np.arange(pairs), raters), instances)
    view = rng.normal(size=(instances, len(biases)))[instance, rater]
    strength = rng.normal(size=instances)[instance] + 0.7 * view + rng.normal(size=len(unit)) + biases[rater]
    return [np.sign(strength) * (np.abs(strength) > 0.3), unit, rater, instance]


def test_deviation_is_from_the_mean_of_the_others() -> None:
    verdict, unit, rater, instance = _study(np.random.default_rng(4), np.zeros(6))
    kept = np.random.default_rng(5).random(len(unit)) < 0.8
    verdict, unit, rater, instance = (column[kept] for column in (verdict, unit, rater, instance))
    side = np.random.default_rng(6).choice([-1.0, 1.0, np.nan], size=len(unit))
    found = severity(verdict, unit, rater, instance, sign=side, n_raters=7)
    for person in range(6):
        sums, weights = [], []
        for row in np.flatnonzero((rater == person) & ~np.isnan(side)):
            others = (unit == unit[row]) & (rater != person) & ~np.isnan(side)
            if others.any():
                weights.append(others.sum() / (others.sum() + 1))
                sums.append(side[row] * (verdict[row] - verdict[others].mean()) * weights[-1])
        assert found.deviation[person] == pytest.approx(sum(sums) / sum(weights))
        assert found.compared[person] == len(sums)
    assert np.isnan(found.deviation[6])
    turned = severity(-verdict, unit, rater, instance, sign=side, n_raters=7)
    assert turned.low == pytest.approx(-found.high, nan_ok=True)
    assert turned.p_value == pytest.approx(found.p_value)


def test_two_raters_are_tested_as_a_paired_difference() -> None:
    rng = np.random.default_rng(2)
    votes = rng.choice([-1.0, 0.0, 1.0], size=(30, 2))
    unit, rater = np.repeat(np.arange(30), 2), np.tile([0, 1], 30)
    found = severity(votes.ravel(), unit, rater, unit, n_raters=2)
    difference = votes[:, 0] - votes[:, 1]
    t = difference.mean() / (difference.std(ddof=1) / np.sqrt(30))
    weights = (difference - difference.mean()) ** 2
    below = weights.sum() ** 2 / (weights**2).sum() - 1  # effective clusters less one
    assert found.p_value == pytest.approx(2 * student_tail(abs(t), below), rel=0.005)
    assert found.deviation == pytest.approx([difference.mean(), -difference.mean()])


@pytest.mark.parametrize("biases", [0.0, 0.5], ids=["alike", "different"])
def test_intervals_hold_and_nothing_is_claimed_falsely(biases: float) -> None:
    rng, held, claims, deviations = np.random.default_rng(11), list[bool](), 0, biases * np.linspace(-1.5, 1.5, 8)
    big = _study(np.random.default_rng(1), deviations, instances=3000, pairs=1, raters=8)
    truth = severity(*big[:3], big[3], n_raters=8).deviation
    for _ in range(150):
        found = severity(*_study(rng, deviations), n_raters=8)
        held += ((found.low <= truth) & (truth <= found.high)).tolist()
        claims += found.p_value < 0.05
    assert np.mean(held) >= 0.93
    assert claims <= 12 if not biases else claims > 75  # of 150: one in twenty has a 95 % limit of 12


def test_shrunk_values_lie_between_the_others_and_the_deviation() -> None:
    found = severity(*_study(np.random.default_rng(3), np.linspace(-1, 1, 9)), n_raters=9)
    assert (np.abs(found.shrunk) <= np.abs(found.deviation)).all()
    assert found.spread_low <= found.spread <= found.spread_high


@pytest.mark.parametrize("verdict", [[0.0] * 12, [1.0, np.nan] * 6], ids=["all alike", "nobody beside"])
def test_without_a_difference_there_is_no_spread(verdict: list[float]) -> None:
    unit = np.repeat(np.arange(6), 2)
    found: Severity = severity(verdict, unit, np.tile([0, 1], 6), unit, n_raters=2)
    assert np.isnan([found.spread, found.p_value, *found.shrunk]).all()
