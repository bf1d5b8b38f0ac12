"""Components of the comparisons and cycles of preferences."""

import numpy as np
import pytest

from analysis.ranking.comparisons import components, preference_cycles, win_matrix

NAN = np.nan


def matrix_of(rows, n_systems):
    """From (winner, loser) pairs, a third value being the score."""
    a, b, score = zip(*[(*row, 1)[:3] for row in rows], strict=True) if rows else ([], [], [])
    return win_matrix(a, b, score, n_systems=n_systems)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([], [-1, -1, -1, -1, -1], id="none"),
        pytest.param([(0, 1), (1, 2), (2, 3), (3, 4)], [0, 0, 0, 0, 0], id="chain"),
        pytest.param([(4, 1), (2, 0, 0.5)], [0, 1, 0, -1, 1], id="two-and-one-unmet"),
        pytest.param([(0, 1, NAN), (3, 4)], [-1, -1, -1, 3, 3], id="missing-connects-nothing"),
    ],
)
def test_components(rows, expected):
    np.testing.assert_array_equal(components(matrix_of(rows, 5)), expected)


def test_comparisons_without_weight_connect_nothing():
    np.testing.assert_array_equal(components(win_matrix([0], [1], [1], n_systems=2, weights=[0])), [-1, -1])


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([], (), id="none"),
        pytest.param([(0, 1), (1, 2), (0, 2)], (), id="transitive"),
        pytest.param([(0, 1), (1, 2), (2, 0)], ((0, 1, 2),), id="three"),
        pytest.param([(0, 1), (1, 0)], (), id="even-score"),
        pytest.param([(0, 1), (1, 2), (2, 0), (0, 2), (0, 2)], (), id="majority-breaks-it"),
        pytest.param([(0, 1), (1, 2), (2, 0, 0.5)], (), id="tie-is-no-edge"),
        pytest.param([(0, 1), (1, 2), (2, 3), (3, 0), (4, 0)], ((0, 1, 2, 3),), id="four"),
        pytest.param([(5, 4), (4, 3), (3, 5), (5, 0), (0, 1), (1, 2), (2, 0)], ((0, 1, 2), (3, 4, 5)), id="two-cycles"),
    ],
)
def test_cycles_of_majorities(rows, expected):
    assert preference_cycles(matrix_of(rows, 6)) == expected


def test_long_path_is_followed_to_its_end():
    ring = [(i, (i + 1) % 33) for i in range(33)]
    assert preference_cycles(matrix_of(ring, 33)) == (tuple(range(33)),)
    np.testing.assert_array_equal(components(matrix_of(ring[:-1], 33)), np.zeros(33))
