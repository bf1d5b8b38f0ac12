"""Groups of equal codes against `numpy.unique`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.grouping import first_rows, groups, groups_of_rows, joint_codes

FAR = st.integers(-(2**40), 2**40)
ANY = st.integers(-(2**63), 2**63 - 1)
NEAR = st.integers(-3, 9)


@given(st.lists(NEAR, max_size=30) | st.lists(FAR, max_size=30) | st.lists(ANY, max_size=30))
def test_groups_are_those_of_unique(codes: list[int]) -> None:
    column = np.array(codes, dtype=np.int64)
    distinct, place = groups(column)
    expected, inverse = np.unique(column, return_inverse=True)
    np.testing.assert_array_equal(distinct, expected)
    np.testing.assert_array_equal(place, inverse)


@pytest.mark.slow
@given(st.lists(st.tuples(FAR | NEAR, NEAR, FAR | NEAR), min_size=1, max_size=30))
def test_groups_of_rows_are_those_of_unique_rows(rows: list[tuple[int, int, int]]) -> None:
    table = np.array(rows, dtype=np.int64)
    distinct, place = groups_of_rows(*table.T)
    expected, first, inverse = np.unique(table, axis=0, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(np.stack(distinct, axis=1), expected)
    np.testing.assert_array_equal(place, inverse.reshape(-1))
    np.testing.assert_array_equal(first_rows(*table.T), np.sort(first))


@pytest.mark.parametrize("n", [2, 5])
def test_codes_of_wide_columns_stay_apart_and_in_order(n: int) -> None:
    wide = np.array([-(2**61), 0, 2**61], dtype=np.int64)
    rows = np.stack(np.meshgrid(*[wide] * n, indexing="ij"), axis=-1).reshape(-1, n)
    assert (np.diff(joint_codes(*rows.T)) > 0).all()


def test_no_rows_make_no_groups() -> None:
    nothing = np.empty(0, dtype=np.int64)
    (distinct, _), place = groups_of_rows(nothing, nothing)
    assert len(distinct) == len(place) == len(first_rows(nothing)) == 0
