"""The logistic curve of consistency by separability, where it crosses a half, and what a cut saves."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analysis.errors import AnalysisError, NotEnough, ShapeError, UnknownValue
from analysis.intervals import bootstrap, logistic
from analysis.planning import advice
from analysis.planning.advice import Pilot, aggregate_sets, cut_statistic, cut_sums, fit, fit_relation, savings
from analysis.types import FloatArray


def simulated(seed: int, *, instances: int = 60, raters: int = 3, intercept: float = -2, slope: float = 5) -> Pilot:
    """Rating sets whose mean consistency is logistic in separability; that of 0.5 is at -intercept / slope."""
    rng = np.random.default_rng(seed)
    delta = np.repeat(rng.uniform(0, 0.8, instances), raters)
    consistency = rng.binomial(5, 1 / (1 + np.exp(-(intercept + slope * delta)))) / 5
    return aggregate_sets(delta, consistency, np.repeat(np.arange(instances), raters))


def likelihood(theta: FloatArray, pilot: Pilot) -> float:
    eta = theta[0] + theta[1] * pilot.delta
    return float((pilot.total * eta - pilot.sets * np.logaddexp(0, eta)).sum())


def related(pilot: Pilot, seed: int = 0, **settings: Any) -> advice.Relation:
    return fit_relation(pilot, rng=np.random.default_rng(seed), **{"rounds": 200, **settings})


# Adding up


def test_sets_are_added_up_per_instance_and_separability() -> None:
    delta = [0.2, 0.2, 0.7, 0.3, np.nan, 0.1]
    pilot = aggregate_sets(delta, [0.4, 1, 0, 0.6, 1, np.nan], [5, 5, 5, 9, 9, 2])
    # Instance 5 takes part in two matchups; one set lacks a separability, one a consistency.
    assert pilot.instance.tolist() == [5, 5, 9]
    assert pilot.delta.tolist() == [0.2, 0.7, 0.3]
    assert pilot.sets.tolist() == [2, 1, 1]
    assert pilot.total.tolist() == pytest.approx([1.4, 0, 0.6])
    assert pilot.consistent.tolist() == [1, 0, 0]
    assert pilot.excluded == 2


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        pytest.param(([0.1], [0.1, 0.2], [0]), ShapeError, id="lengths"),
        pytest.param(([[0.1]], [[0.1]], [[0]]), ShapeError, id="dimensions"),
        pytest.param(([0.1], [1.2], [0]), UnknownValue, id="consistency"),
        pytest.param(([np.inf], [1], [0]), UnknownValue, id="separability"),
        pytest.param(([0.1], [1], [0.5]), UnknownValue, id="codes"),
    ],
)
def test_bad_sets_are_refused(columns: Any, error: type[AnalysisError]) -> None:
    with pytest.raises(error):
        aggregate_sets(*columns)


# Fitting


def test_two_separabilities_are_fitted_exactly() -> None:
    # Mean consistency 0.2 at 0 and 0.8 at 1: logit -log 4 and log 4, so that the slope is 2 log 4 and 0.5 is at 0.5.
    pilot = aggregate_sets([0, 0, 1, 1], [0.4, 0, 0.6, 1], [0, 1, 2, 3])
    curves = fit(pilot)
    assert curves.intercept[0] == pytest.approx(-np.log(4))
    assert curves.slope[0] == pytest.approx(2 * np.log(4))
    assert curves.crossing()[0] == pytest.approx(0.5)
    assert curves.converged.all()
    assert curves.at([0, 0.5, 1])[0] == pytest.approx([0.2, 0.5, 0.8])


def test_no_parameters_near_the_fit_are_likelier_and_the_curvature_is_that_of_the_likelihood() -> None:
    pilot = simulated(3)
    curves = fit(pilot)
    best = np.array([curves.intercept[0], curves.slope[0]])
    steps = np.random.default_rng(0).normal(0, 0.1, (50, 2))
    assert all(likelihood(best + step, pilot) <= likelihood(best, pilot) for step in steps)
    gradient, [curvature] = logistic.derivatives(best[np.newaxis], pilot.delta, pilot.total, pilot.sets)
    assert gradient[0] == pytest.approx([0, 0], abs=1e-6)
    bends = steps[:, 0] ** 2 * curvature[0] + 2 * steps.prod(axis=1) * curvature[1] + steps[:, 1] ** 2 * curvature[2]
    lost = [likelihood(best, pilot) - likelihood(best + step / 100, pilot) for step in steps]
    assert lost == pytest.approx(bends / 2e4, rel=0.01)


def test_resamples_are_fitted_as_if_each_were_alone() -> None:
    pilot = simulated(4, instances=12)
    times = np.random.default_rng(0).integers(0, 3, (5, len(pilot)))
    together = fit(pilot, times)
    for row, drawn in enumerate(times):
        again = np.repeat(np.arange(len(pilot)), drawn)
        alone = fit(
            Pilot(*(getattr(pilot, name)[again] for name in ("delta", "sets", "total", "consistent", "instance")), 0)
        )
        assert together.slope[row] == pytest.approx(alone.slope[0], rel=1e-6)
        assert together.intercept[row] == pytest.approx(alone.intercept[0], rel=1e-6)


@pytest.mark.parametrize(
    ("consistency", "slope", "crossing"),
    [
        pytest.param([0, 0, 1, 1], np.inf, 0.25, id="step-up"),
        pytest.param([1, 1, 0, 0], -np.inf, np.nan, id="step-down"),
        pytest.param([0, 0, 0, 0], np.nan, np.nan, id="all-inconsistent"),
        pytest.param([1, 1, 1, 1], np.nan, np.nan, id="all-consistent"),
        pytest.param([0, 0.5, 1, 1], np.inf, 0.2, id="quasi-separated"),
    ],
)
def test_separated_sets_make_a_step(consistency: list[float], slope: float, crossing: float) -> None:
    curves = fit(aggregate_sets([0.1, 0.2, 0.3, 0.4], consistency, [0, 1, 2, 3]))
    assert curves.slope[0] == pytest.approx(slope, nan_ok=True)
    assert curves.crossing()[0] == pytest.approx(crossing, nan_ok=True)


def test_a_step_is_drawn_as_one() -> None:
    curves = fit(aggregate_sets([0.1, 0.2, 0.3, 0.4], [0, 0, 1, 1], [0, 1, 2, 3]))
    assert curves.at([0.1, 0.25, 0.3])[0].tolist() == [0, 0.5, 1]


def test_nearly_separated_sets_have_a_finite_slope() -> None:
    curves = fit(aggregate_sets([0.1, 0.2, 0.3, 0.4, 0.31], [0, 0, 1, 1, 0], [0, 1, 2, 3, 4]))
    assert curves.converged[0]
    assert np.isfinite(curves.slope[0])
    assert curves.slope[0] > 20


def test_wrong_shapes_and_no_sets_are_refused() -> None:
    empty = aggregate_sets([], [], np.array([], dtype=int))
    for refused in (lambda: fit(empty), lambda: related(empty)):
        with pytest.raises(NotEnough):
            refused()
    with pytest.raises(ShapeError):
        fit(simulated(0), np.ones((2, 3)))
    for bad in ({"level": 0}, {"rounds": 0}):
        with pytest.raises(AnalysisError):
            related(simulated(0), **bad)


# The crossing


def test_raters_of_one_instance_are_no_further_instances() -> None:
    # Every set counted ten times over says nothing more about instances.
    rng = np.random.default_rng(0)
    delta, consistency, codes = rng.uniform(0, 1, 40), rng.integers(0, 2, 40), np.arange(40)
    once, often = (
        aggregate_sets(delta, consistency, codes),
        aggregate_sets(*(np.repeat(one, 10) for one in (delta, consistency, codes))),
    )
    assert related(often).slope_interval.low == pytest.approx(related(once).slope_interval.low, rel=1e-5)


@pytest.mark.parametrize(
    ("intercept", "slope", "why"),
    [
        pytest.param(3, 2, "below support", id="always-consistent"),
        pytest.param(-6, 2, "above support", id="always-inconsistent"),
        pytest.param(2, -5, "not rising", id="falling"),
    ],
)
def test_no_crossing_outside_what_was_rated(intercept: float, slope: float, why: str) -> None:
    found = related(simulated(5, instances=300, intercept=intercept, slope=slope))
    assert found.why == why
    assert np.isnan(found.crossing)


@pytest.mark.parametrize(
    ("delta", "consistency", "slope", "why"),
    [
        ([0.1, 0.5, 0.9], [0, 0, 0], np.nan, "all inconsistent"),
        ([0.1, 0.5, 0.9], [1, 1, 1], np.nan, "all consistent"),
        ([0.3, 0.3], [0, 1], np.nan, "one value"),
        ([0.2, 0.2, 0.8, 0.8], [0.25, 0.75, 0.25, 0.75], 0, "not rising"),
    ],
)
def test_sets_without_a_rise_have_no_crossing(
    delta: list[float], consistency: list[float], slope: float, why: str
) -> None:
    found = related(aggregate_sets(delta, consistency, range(len(delta))))
    assert (found.slope, found.why) == (pytest.approx(slope, nan_ok=True), why)
    assert np.isnan([found.crossing, found.crossing_interval.low]).tolist() == [True, np.isnan(slope)]


def test_rounds_without_a_rise_are_undefined_and_those_outside_are_counted() -> None:
    found = related(simulated(6, instances=12, slope=0.5, intercept=-0.2))
    assert found.crossing_interval.undefined > 0
    assert found.outside_support > 0
    assert found.support[0] <= found.crossing_interval.low <= found.crossing_interval.high <= found.support[1]


def test_one_instance_has_no_interval_and_two_have() -> None:
    found = related(aggregate_sets([0.1, 0.6], [0, 0.5], [3, 3]))
    assert not np.isnan(found.slope)
    assert np.isnan(found.slope_interval.low)
    assert np.isnan(found.band).all()
    two = related(aggregate_sets([0.1, 0.5, 0.2, 0.6], [0.2, 0.8, 0.4, 0.6], [0, 0, 1, 1]))
    assert two.slope_interval.undefined < 200
    assert np.isfinite(two.slope_interval.low)


# Cuts


def test_a_cut_by_hand() -> None:
    pilot = aggregate_sets([0.1, 0.1, 0.5, 0.9], [1, 0, 0.4, 1], [0, 1, 2, 3])
    found = cut_statistic(cut_sums(pilot, 0.5).sum(axis=0))
    # all 2.4 / 4; kept 1.4 / 2; left out 1 / 2; gain 0.1; one of the two left out is fully consistent
    assert found == pytest.approx([0.6, 0.7, 0.5, 0.1, 0.5])
    none_kept = cut_statistic(cut_sums(pilot, 0.95).sum(axis=0))
    assert np.isnan(none_kept).tolist() == [False, True, False, True, False]


def test_what_a_cut_saves() -> None:
    assert savings([0.1, 0.3, 0.3, np.nan], 0.3, 15) == (1, 3, 1, 15, 60)


@pytest.mark.slow
@given(
    st.lists(st.floats(0, 1), min_size=4, max_size=15),
    st.integers(0, 2**31 - 1),
    st.floats(0.1, 5),
    st.floats(-2, 2),
)
def test_the_curve_follows_what_is_done_to_separability_and_consistency(
    delta: list[float], seed: int, stretch: float, shift: float
) -> None:
    values = np.round(delta, 2)
    assume(len(set(values.tolist())) > 1)
    consistency = np.random.default_rng(seed).integers(0, 6, len(values)) / 5
    plain, moved, turned = (
        fit(aggregate_sets(x, y, np.arange(len(values))))
        for x, y in ((values, consistency), (values * stretch + shift, consistency), (values, 1 - consistency))
    )
    assert turned.slope[0] == pytest.approx(-plain.slope[0], rel=1e-4, abs=1e-5, nan_ok=True)
    assert (plain.level[0] + turned.level[0]) == pytest.approx(1)
    assume(not np.isfinite(plain.slope[0]) or 0.05 < abs(plain.slope[0]) < 100)
    assert moved.slope[0] == pytest.approx(plain.slope[0] / stretch, rel=1e-3, nan_ok=True)
    crossing = plain.crossing()[0] * stretch + shift
    assert moved.crossing()[0] == pytest.approx(crossing, rel=1e-3, abs=1e-3, nan_ok=True)


def test_blocks_of_rounds_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pilot = simulated(2)
    whole = related(pilot)
    assert (whole.band[0] <= whole.curve + 0.02).all()
    assert (whole.curve - 0.02 <= whole.band[1]).all()
    monkeypatch.setattr(bootstrap, "BLOCK_CELLS", 7 * len(pilot))
    blocks = related(pilot)
    assert (blocks.slope_interval, blocks.crossing_interval) == (whole.slope_interval, whole.crossing_interval)
