"""Win matrices, and those of bootstrap rounds."""

import numpy as np
import pytest

from analysis.errors import AnalysisError, ShapeError, UnknownValue
from analysis.ranking.comparisons import resampled_win_matrices, win_matrix

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
