"""Length bias: verdicts for the longer text, and how they change with the difference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.bias.length import EXCESS, longer_by_excess, longer_sums
from analysis.errors import ShapeError, UnknownValue
from analysis.intervals.bootstrap import ratio

NAN = np.nan
judged = st.lists(
    st.tuples(st.sampled_from([-1.0, 0.0, 1.0, NAN]), st.integers(0, 40), st.integers(0, 40)), max_size=12
).map(lambda rows: np.array(rows, dtype=float).reshape(-1, 3).T)


def test_share_of_the_longer_by_hand():
    # A of 10 against 5: longer. B of 3 against 9: shorter. B of 8 against 4: longer. A tie, a gap, equal lengths: none.
    sums = longer_sums([-1, 1, 1, 0, NAN, 1], [10, 9, 4, 1, 1, 7], [5, 3, 8, 2, 2, 7])
    assert sums.sum(axis=0).tolist() == [2, 3]


def test_bins_by_hand():
    # 11 against 10: a tenth longer, the first bin's edge; 15 against 10: a half; 30 against 10 and 5 against 0: beyond.
    found = longer_by_excess([-1, -1, 1, -1], [11, 10, 10, 5], [10, 15, 30, 0])
    assert found.tolist() == [[1, 1], [0, 0], [0, 1], [0, 0], [2, 2]]
    assert longer_by_excess([-1, -1, 0], [11, 30, 10], [10, 10, 10], [0.2, 0.5]).tolist() == [[1, 1], [0, 0]]


@pytest.mark.slow
@given(judged)
def test_equals_the_slow_plain_version_whichever_system_is_a(columns):
    expected = np.zeros((len(EXCESS), 2))
    for verdict, a, b in columns.T:
        if verdict in (-1, 1) and a != b:
            excess = abs(a - b) / min(a, b) if min(a, b) else np.inf
            place = next(index for index, edge in enumerate(EXCESS) if excess <= edge)
            expected[place] += [(verdict == 1) == (b > a), 1]
    verdicts, a, b = columns
    for sides in (columns, (-verdicts, b, a)):
        np.testing.assert_array_equal(longer_by_excess(*sides), expected)
        np.testing.assert_array_equal(longer_sums(*sides).sum(axis=0), expected.sum(axis=0))


def test_nothing_decided_is_undefined():
    assert np.isnan(ratio(longer_sums([0, NAN, 1], [1, 2, 3], [2, 1, 3]).sum(axis=0)))
    assert np.isnan(ratio(longer_by_excess([], [], []))).all()


def test_what_does_not_fit_is_refused():
    with pytest.raises(ShapeError):
        longer_sums([1], [1, 2], [1])
    with pytest.raises(UnknownValue):
        longer_sums([1], [NAN], [1])
    with pytest.raises(UnknownValue):
        longer_by_excess([1], [2], [1], edges=(1.0, 0.5))
