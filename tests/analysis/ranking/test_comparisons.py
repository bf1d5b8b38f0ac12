"""Win matrices, those of bootstrap rounds, components of the comparisons and cycles of preferences."""

import numpy as np
import pytest

from analysis.errors import AnalysisError, ShapeError, UnknownValue
from analysis.ranking.comparisons import components, preference_cycles, resampled_win_matrices, win_matrix

NAN = np.nan
A, B, SCORE = [0, 1, 0, 2, 2], [1, 0, 1, 0, 1], [1, 1, 0.5, 0, NAN]


def test_win_matrix_by_hand():
    # 0 beats 1, 1 beats 0, they tie, 0 beats 2; the last has no score.
    matrix = win_matrix(A, B, SCORE, n_systems=3)
    np.testing.assert_array_equal(matrix.won, [[0, 1, 1], [1, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(matrix.tied, [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(matrix.points, [[0, 1.5, 1], [1.5, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(matrix.played, [[0, 3, 1], [3, 0, 0], [1, 0, 0]])
    weighted = win_matrix(A, B, SCORE, n_systems=3, weights=[2, 3, 0.5, 0, 9])
    np.testing.assert_array_equal(weighted.won, [[0, 2, 0], [3, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(weighted.tied, [[0, 0.5, 0], [0.5, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize("n_systems", [0, 1, 4])
def test_no_comparison_is_a_matrix_of_zeros(n_systems, rng):
    assert not win_matrix([], [], [], n_systems=n_systems).played.any()
    assert win_matrix([], [], [], n_systems=n_systems).won.shape == (n_systems, n_systems)
    for clusters in (None, []):
        drawn = resampled_win_matrices([], [], [], n_systems=n_systems, rng=rng, clusters=clusters, rounds=3)
        assert drawn.won.shape == (3, n_systems, n_systems)
        assert not drawn.played.any()


def test_rounds_draw_whole_clusters(rng):
    # Cluster 7: 0 beats 1 twice and ties; cluster 3: 1 beats 0. A round draws two of them.
    drawn = resampled_win_matrices(
        [0, 0, 0, 1], [1, 1, 1, 0], [1, 1, 0.5, 1], n_systems=2, rng=rng, clusters=[7, 7, 7, 3], rounds=300
    )
    of_seven = drawn.tied[:, 0, 1]
    assert set(of_seven) == {0, 1, 2}
    np.testing.assert_array_equal(drawn.won[:, 0, 1], 2 * of_seven)
    np.testing.assert_array_equal(drawn.won[:, 1, 0], 2 - of_seven)
    assert abs(of_seven.mean() - 1) < 0.2  # standard error .04


def test_missing_scores_leave_the_others_in_their_clusters_and_clusters_without_any_are_drawn(rng):
    columns, clusters, weights = ([0, 0, 0, 0], [1, 1, 1, 1], [1, NAN, 0, NAN]), [0, 0, 1, 2], [0.5, 1, 3, 1]
    drawn = resampled_win_matrices(*columns, n_systems=2, rng=rng, clusters=clusters, rounds=200, weights=weights)
    won, lost = drawn.won[:, 0, 1] / 0.5, drawn.won[:, 1, 0] / 3
    assert set(won) == set(lost) == {0, 1, 2, 3}
    assert set(won + lost) == {0, 1, 2, 3}


@pytest.mark.parametrize("weights", [None, [1, 1, 1, 1, 1]])
def test_rounds_without_clusters_draw_comparisons_that_have_a_score(rng, weights):
    drawn = resampled_win_matrices(A, B, SCORE, n_systems=3, rng=rng, rounds=400, weights=weights)
    np.testing.assert_array_equal(drawn.played.sum(axis=(1, 2)), 2 * 4)
    expected = win_matrix(A, B, SCORE, n_systems=3)
    np.testing.assert_allclose(drawn.won.mean(axis=0), expected.won, atol=0.2)  # standard error .043
    np.testing.assert_allclose(drawn.tied.mean(axis=0), expected.tied, atol=0.2)


def test_bad_rounds_and_clusters_are_refused(rng):
    with pytest.raises(AnalysisError, match="round"):
        resampled_win_matrices(A, B, SCORE, n_systems=3, rng=rng, rounds=0)
    with pytest.raises(ShapeError):
        resampled_win_matrices(A, B, SCORE, n_systems=3, rng=rng, clusters=[0])
    with pytest.raises(UnknownValue):
        resampled_win_matrices(A, B, SCORE, n_systems=3, rng=rng, clusters=[0.5] * 5)


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
