"""Brier score: by single votes, its parts, and what does not change it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import ShapeError, UnknownValue
from analysis.judges.calibration import Calibration, calibration

VOTES = st.tuples(st.one_of(st.just(np.nan), st.floats(0, 1)), *[st.integers(0, 4)] * 3)


def _score(found: Calibration) -> float:
    total, n = found.scores.sum(axis=0)
    return float(total / n)


def test_by_hand() -> None:
    # .9 for B beside votes B, B, tie; .2 for B beside A; a pair without a probability, and one without votes.
    found = calibration([0.9, 0.2, np.nan, 0.7], [[0, 1, 2], [1, 0, 0], [0, 0, 3], [0, 0, 0]])
    assert _score(found) == pytest.approx((0.01 + 0.01 + 0.16 + 0.04) / 4)
    assert found.used.tolist() == [True, True, False, False]
    assert found.bin.tolist() == [4, 3]
    assert found.votes.tolist() == [[2.5, 3], [1, 1]]
    assert found.stated == pytest.approx([0.9, 0.8])
    # The votes 1, 1 and ½ have the variance 1/12: no probability of the pair has a lower expected score.
    assert found.least.sum(axis=0) == pytest.approx([3 / 12, 3])
    assert found.uncertainty == pytest.approx(3 / 16)  # ¼ of the votes that are no ties
    assert found.reliability == pytest.approx(0.75 * (0.9 - 2.5 / 3) ** 2 + 0.25 * 0.04)


@given(st.lists(VOTES, min_size=1, max_size=12))
def test_parts_add_up_and_sides_do_not_matter(units: list[tuple[float, int, int, int]]) -> None:
    table = np.array(units)
    probability, counts = table[:, 0], table[:, 1:]
    found, turned = calibration(probability, counts), calibration(1 - probability, counts[:, ::-1])
    if not found.used.any():
        assert np.isnan([found.reliability, found.resolution, found.uncertainty]).all()
        return
    assert _score(found) == pytest.approx(found.reliability - found.resolution + found.uncertainty, abs=1e-9)
    assert _score(turned) == pytest.approx(_score(found), abs=1e-9)
    assert turned.uncertainty == pytest.approx(found.uncertainty)
    singles = [
        (p - vote) ** 2
        for p, *cast in units
        if not np.isnan(p)
        for vote, n in zip((0, 0.5, 1), cast, strict=True)
        for _ in range(n)
    ]
    assert _score(found) == pytest.approx(np.mean(singles), abs=1e-9)


def test_what_is_no_probability_is_refused() -> None:
    with pytest.raises(UnknownValue):
        calibration([1.2], [[1, 0, 0]])
    with pytest.raises(ShapeError):
        calibration([0.2], [[1, 0]])
