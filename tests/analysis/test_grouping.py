"""Groups of equal codes against `numpy.unique`, edges of bins, and the bin of each value."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import NotEnough, ShapeError, UnknownValue
from analysis.grouping import (
    assign,
    equal_count_edges,
    equal_width_edges,
    first_rows,
    groups,
    groups_of_rows,
    joint_codes,
    stepped_edges,
)

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


NAN = np.nan
values = st.lists(st.floats(-1, 1) | st.just(NAN), min_size=1, max_size=30).filter(lambda v: any(x == x for x in v))
counts = st.integers(1, 7)


def plain_assign(value, edges):
    for k in reversed(range(len(edges) - 1)):
        if edges[k] <= value < edges[k + 1] or (k == len(edges) - 2 and value == edges[-1]):
            return k
    return -1


def test_equal_widths_by_hand():
    # From 0.1 to 0.9 in four steps of 0.2.
    edges = equal_width_edges([0.9, 0.1, NAN, 0.35], 4)
    np.testing.assert_allclose(edges, [0.1, 0.3, 0.5, 0.7, 0.9])
    assert assign([0.1, 0.35, 0.9, NAN, 0.95, 0.0], edges).tolist() == [0, 1, 3, -1, -1, -1]


def test_equal_counts_by_hand():
    # Ten values in four bins: starts at ranks 0, 2, 5, 7, so 2, 3, 2 and 3 values.
    data = np.arange(10)[::-1]
    edges = equal_count_edges(data, 4)
    assert edges.tolist() == [0, 2, 5, 7, 9]
    assert np.bincount(assign(data, edges)).tolist() == [2, 3, 2, 3]


def test_published_configuration_fills_four_bins(golden):
    separabilities = golden("alignments_rouge1")["gpt35_vicuna_cnndm"]["norm_sep_paper"]
    edges = equal_width_edges(separabilities, 4)
    assert (edges[0], edges[-1]) == (min(separabilities), max(separabilities))
    np.testing.assert_array_equal(np.bincount(assign(separabilities, edges)), np.histogram(separabilities, edges)[0])


@pytest.mark.slow
@given(values, counts)
def test_every_known_value_has_the_bin_that_the_plain_version_finds(data, n):
    for edges in [equal_width_edges(data, n), equal_count_edges(data, n)]:
        assert len(edges) == n + 1
        assert (np.diff(edges) >= 0).all()
        found = assign(data, edges)
        assert found.tolist() == [plain_assign(value, edges) for value in data]
        assert ((found == -1) == np.isnan(data)).all()


@pytest.mark.slow
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40, unique=True), counts)
def test_equal_counts_differ_by_one_at_most(data, n):
    held = np.bincount(assign(data, equal_count_edges(data, n)), minlength=n)
    assert held.max() - held.min() <= 1


def test_values_outside_the_edges_are_in_no_bin_and_equal_ones_fill_the_last():
    assert assign([[-0.1, 0.2], [0.5, 1.0]], [0.0, 0.5, 1.0]).tolist() == [[-1, 0], [1, 1]]
    assert assign(0.2, [0.0, 1.0]) == 0
    assert assign([np.inf, -np.inf], [0.0, 1.0]).tolist() == [-1, -1]
    for make in (equal_width_edges, equal_count_edges):
        edges = make([0.4, 0.4, 0.4], 3)
        assert edges.tolist() == [0.4] * 4
        assert assign([0.4, 0.4, 0.3], edges).tolist() == [2, 2, -1]


@pytest.mark.parametrize("make", [equal_width_edges, equal_count_edges])
@pytest.mark.parametrize(
    ("values", "n", "error"), [([NAN], 4, NotEnough), ([0.1], 0, NotEnough), ([np.inf], 2, UnknownValue)]
)
def test_values_that_make_no_bins_are_refused(make, values, n, error):
    with pytest.raises(error):
        make(values, n)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        pytest.param(lambda: stepped_edges([], 0.1), NotEnough, id="steps-over-nothing"),
        pytest.param(lambda: stepped_edges([0, 1e9], 1e-6), NotEnough, id="too-many-steps"),
        pytest.param(lambda: stepped_edges([1], 0), UnknownValue, id="no-step"),
        pytest.param(lambda: assign([0.1], [0.0]), ShapeError, id="one-edge"),
        pytest.param(lambda: assign([0.1], [1.0, 0.0]), UnknownValue, id="edges-descend"),
        pytest.param(lambda: assign([0.1], [0.0, NAN, 1.0]), UnknownValue, id="edge-missing"),
    ],
)
def test_steps_and_edges_that_make_no_bins_are_refused(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize(
    ("values", "edges"),
    [
        pytest.param([0.12, 0.31], [0.1, 0.2, 0.3, 0.4], id="around"),
        pytest.param([0.1, 0.3], [0.1, 0.2, 0.3], id="on-the-edges"),
        pytest.param([-0.05, np.nan, 0.05], [-0.1, 0.0, 0.1], id="below-zero"),
        pytest.param([0.2], [0.2, 0.3], id="one-value"),
    ],
)
def test_stepped_edges_are_multiples_of_the_step(values: list[float], edges: list[float]) -> None:
    found = stepped_edges(values, 0.1)
    assert found == pytest.approx(np.array(edges))
    known = np.array(values)[~np.isnan(values)]
    assert (assign(known, found) >= 0).all()
