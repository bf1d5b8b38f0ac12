"""Outcomes take what the tables give and refuse what no measure could use."""

from typing import Any

import numpy as np
import pytest

from analysis.errors import AnalysisError, ShapeError, UnknownValue
from analysis.types import Outcomes, Verdict, check_columns, check_level, share_array, verdict_array


def columns(**changed: Any) -> dict[str, Any]:
    return {"instance": [0, 0], "pair": [0, 1], "a": [0, 0], "b": [1, 1], "verdict": [-1, 1], "rater": [5, 5]} | changed


def test_verdicts_are_the_numbers_that_are_stored():
    assert [Verdict.A, Verdict.TIE, Verdict.B] == [-1, 0, 1]


def test_outcomes_turn_columns_into_arrays_with_weight_one():
    outcomes = Outcomes(**columns(verdict=[None, 0]))
    assert len(outcomes) == 2
    assert outcomes.instance.dtype == np.int64
    np.testing.assert_array_equal(outcomes.verdict, [np.nan, 0.0])  # a missing one is never a tie
    np.testing.assert_array_equal(outcomes.weight, [1.0, 1.0])
    assert len(Outcomes([], [], [], [], [], [])) == 0
    with pytest.raises(UnknownValue, match=r"\[2\.0, 7\.0\]"):
        verdict_array([2, 7, 1])


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        pytest.param({"pair": [0]}, ShapeError, id="lengths-differ"),
        pytest.param({name: [[0], [1]] for name in columns()}, ShapeError, id="two-dimensions"),
        pytest.param({"weight": [1.0]}, ShapeError, id="weight-too-short"),
        pytest.param({"verdict": [2, 0]}, UnknownValue, id="unknown-verdict"),
        pytest.param({"verdict": [0.5, 0]}, UnknownValue, id="fraction-as-verdict"),
        pytest.param({"instance": [0.0, 1.0]}, UnknownValue, id="float-code"),
        pytest.param({"rater": ["ann", "bob"]}, UnknownValue, id="name-as-code"),
        pytest.param({"pair": [-1, 0]}, UnknownValue, id="negative-pair"),
        pytest.param({"b": [0, 1]}, UnknownValue, id="system-against-itself"),
        pytest.param({"weight": [1.0, -0.5]}, UnknownValue, id="negative-weight"),
        pytest.param({"weight": [1.0, np.nan]}, UnknownValue, id="missing-weight"),
    ],
)
def test_outcomes_are_refused(changed: dict[str, Any], error: type[AnalysisError]):
    with pytest.raises(error):
        Outcomes(**columns(**changed))


def test_shares_lie_between_0_and_1_and_may_be_missing() -> None:
    np.testing.assert_array_equal(share_array("shares", [0, None, 1]), [0, np.nan, 1])
    for wrong in (-0.1, 1.1, np.inf):
        with pytest.raises(UnknownValue):
            share_array("shares", [0.5, wrong])


def test_columns_have_one_dimension_and_one_length() -> None:
    check_columns(np.zeros(2), np.ones(2))
    for wrong in (np.zeros(3), np.zeros((2, 1))):
        with pytest.raises(ShapeError):
            check_columns(np.zeros(2), wrong)
        with pytest.raises(ShapeError):
            check_columns(wrong, np.zeros(2))


def test_levels_lie_strictly_between_0_and_1() -> None:
    check_level(0.95)
    for wrong in (0, 1, np.nan):
        with pytest.raises(UnknownValue):
            check_level(wrong)
