"""The four scenarios of self- and cross-alignment, and their thresholds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import AnalysisError, NotEnough, ShapeError
from analysis.similarity.scenarios import HALF, Scenario, Thresholds, median_thresholds, scenarios

SHARE = st.floats(0, 1)


@pytest.mark.parametrize(
    ("alignment", "expected"),
    [
        pytest.param((0.9, 0.8, 0.1), Scenario.APART, id="both-high"),
        pytest.param((0.2, 0.1, 0.1), Scenario.SCATTERED, id="none-high"),
        pytest.param((0.9, 0.1, 0.1), Scenario.ONE_STEADY, id="a-high"),
        pytest.param((0.1, 0.9, 0.1), Scenario.ONE_STEADY, id="b-high"),
        pytest.param((0.9, 0.8, 0.7), Scenario.ALIKE, id="all-high"),
        pytest.param((0.9, 0.1, 0.7), Scenario.OTHER, id="cross-and-one-self"),
        pytest.param((0.1, 0.1, 0.7), Scenario.OTHER, id="only-cross"),
        pytest.param((0.5, 0.5, 0.5), Scenario.ALIKE, id="at-the-threshold-is-high"),
        pytest.param((np.nan, 0.8, 0.1), Scenario.MISSING, id="one-generation-of-a"),
        pytest.param((0.9, np.nan, 0.9), Scenario.MISSING, id="one-generation-of-b"),
        pytest.param((0.9, 0.9, np.nan), Scenario.MISSING, id="not-computed"),
    ],
)
def test_scenario_by_which_alignments_are_high(alignment: tuple[float, ...], expected: Scenario) -> None:
    assert scenarios(*([value] for value in alignment)).tolist() == [expected]


def test_medians_are_of_both_selfs_together_and_of_cross() -> None:
    # selfs 0.1 0.2 0.6 0.7 (one missing): median 0.4; cross 0.1 0.3 0.8: 0.3
    assert median_thresholds([0.1, 0.2, np.nan], [0.6, 0.7, np.nan], [0.1, 0.3, 0.8]) == pytest.approx((0.4, 0.3))


def test_other_thresholds_sort_otherwise() -> None:
    own_a, own_b, cross = [0.6, 0.6], [0.6, 0.2], [0.55, 0.55]
    assert scenarios(own_a, own_b, cross).tolist() == [Scenario.ALIKE, Scenario.OTHER]
    assert scenarios(own_a, own_b, cross, Thresholds(0.5, 0.6)).tolist() == [Scenario.APART, Scenario.ONE_STEADY]


def test_bad_input_is_refused() -> None:
    with pytest.raises(ShapeError):
        scenarios([0.1], [0.1, 0.2], [0.1])
    with pytest.raises(ShapeError):
        scenarios([[0.1]], [[0.1]], [[0.1]])
    with pytest.raises(AnalysisError, match="nan"):
        scenarios([0.1], [0.1], [0.1], Thresholds(float("nan"), 0.5))
    with pytest.raises(NotEnough):
        median_thresholds([np.nan], [np.nan], [0.1])
    assert scenarios([], [], []).tolist() == []


@given(st.lists(st.tuples(SHARE, SHARE, SHARE), min_size=1, max_size=20))
def test_the_systems_may_be_swapped_and_each_row_stands_alone(rows: list[tuple[float, float, float]]) -> None:
    own_a, own_b, cross = np.array(rows).T
    found = scenarios(own_a, own_b, cross, HALF)
    assert (scenarios(own_b, own_a, cross, HALF) == found).all()
    assert [int(scenarios([a], [b], [c])[0]) for a, b, c in rows] == found.tolist()
    assert set(found.tolist()) <= {0, 1, 2, 3, 4}
