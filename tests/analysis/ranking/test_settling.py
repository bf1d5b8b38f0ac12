"""How many more comparisons settle the next place: by hand, by simulation, and where there is no answer."""

import math
from itertools import combinations
from statistics import NormalDist

import numpy as np
import pytest

from analysis.ranking.settling import next_place
from analysis.ranking.spread import differences, jackknife_covariance, left_out_strengths

LEVEL, LEAST = 0.95, 20


def made(value, variance, instances):
    n = len(value)
    return differences(value, np.diag(variance), np.full(n, instances), np.zeros(n, dtype=int), least=LEAST)


def test_two_systems_by_hand():
    # A difference of 1 standard error: 0.8 chance needs t of 1.96 + 0.84 = 2.80, so 2.80² = 7.8 times as many, less a trifle
    # for more degrees of freedom.
    found = next_place([0.5, 0.0], made([0.5, 0.0], [0.125, 0.125], 2000), LEVEL)
    z = NormalDist().inv_cdf
    assert (found.place, found.system, found.others) == (1, 0, (1,))
    assert found.factor == pytest.approx((z(0.975) + z(0.8)) ** 2, rel=0.01)
    assert next_place([0.5, 0.0], made([0.5, 0.0], [0.125, 0.125], 2000), LEVEL, chance=0.5).factor == pytest.approx(
        z(0.975) ** 2, rel=0.01
    )


def test_the_next_place_is_the_first_that_is_not_settled():
    value = [0.1, 3.0, 0.0, -3.0]
    found = next_place(value, made(value, [0.02] * 4, 100), LEVEL)
    assert (found.place, found.system, found.others) == (2, 0, (2,))
    assert 1 < found.factor < math.inf


def test_settled_alike_and_untested_rankings_have_no_number():
    settled = next_place([3.0, 0.0], made([3.0, 0.0], [0.02] * 2, 100), LEVEL)
    assert (settled.place, settled.system, settled.others, settled.factor) == (None, -1, (), 1.0)
    assert next_place([0.0, 0.0], made([0.0, 0.0], [0.02] * 2, 100), LEVEL).factor == math.inf
    assert math.isnan(next_place([1.0, 0.0], made([1.0, 0.0], [0.02] * 2, 19), LEVEL).factor)
    assert next_place([], made([], [], 0), LEVEL).place is None


def simulated(strengths, instances, rng):
    """One vote on every pair of systems of each instance, by Bradley and Terry's model."""
    a, b = np.array(list(combinations(range(len(strengths)), 2))).T
    p = 1 / (1 + np.exp(strengths[b] - strengths[a]))
    score = (rng.random((instances, len(a))) < p).astype(float)
    found = left_out_strengths(
        np.tile(a, instances),
        np.tile(b, instances),
        score.ravel(),
        np.repeat(np.arange(instances), len(a)),
        n_systems=len(strengths),
    )
    fit = found.fit
    each = np.full(len(strengths), instances)
    return fit, differences(fit.strengths, jackknife_covariance(found.moved), each, fit.component, least=LEAST)


@pytest.mark.weekly
@pytest.mark.slow
@pytest.mark.parametrize(
    "strengths", [(0.7, 0.2, -0.9), (1.5, 0.25, -0.1, -0.4)], ids=["first of three", "second of four"]
)
def test_so_many_comparisons_settle_it_about_as_often_as_planned(strengths):
    rng = np.random.default_rng(0)
    fit, tests = simulated(np.array(strengths), 60, rng)
    planned = next_place(fit.strengths, tests, LEVEL)
    assert 1 < planned.factor < 50
    settled = []
    for _ in range(60):
        _, of = simulated(fit.strengths, round(60 * planned.factor), rng)  # the estimates are the truth here
        better = of.better(len(strengths), LEVEL)
        settled.append(all(better[planned.system, other] for other in planned.others))
    assert 0.65 <= np.mean(settled) <= 0.95


def test_degrees_of_freedom_grow_with_the_comparisons():
    # At chance 0.5 the factor solves t = 2.1 √factor ≥ quantile of t with (19 + 1) factor - 1 degrees of freedom, at 0.975.
    from scipy import stats

    value, error = [2.1, 0.0], 1.0
    tests = made(value, [error / 2] * 2, 20)
    found = next_place(value, tests, 0.95, chance=0.5).factor
    df = round(float(tests.df[0]) + 1)
    least = next(f for f in np.arange(1, 2, 1e-3) if 2 * stats.t.sf(2.1 * math.sqrt(f), int(df * f) - 1) < 0.05)
    assert found == pytest.approx(least, rel=0.006)
