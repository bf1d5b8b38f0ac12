"""Win matrices, those of bootstrap rounds, components, cycles of preferences, win rates and win-loss rates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import AnalysisError, ShapeError, UnknownValue
from analysis.intervals.bootstrap import ratio
from analysis.ranking.comparisons import (
    components,
    matrix_win_loss_rates,
    matrix_win_rates,
    preference_cycles,
    resampled_win_matrices,
    win_loss_rate,
    win_loss_sums,
    win_matrix,
    win_rate,
    win_rates,
    win_sums,
)
from analysis.types import Outcomes

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


comparisons = st.lists(
    st.tuples(
        st.permutations(range(4)).map(lambda order: order[:2]),
        st.sampled_from([-1.0, 0.0, 1.0, NAN]),
        st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    ),
    max_size=12,
)


def outcomes_of(rows, weights=None):
    """Outcomes from (a, b, verdict), each on an instance of its own."""
    n = len(rows)
    a, b, verdict = np.reshape(rows, (n, 3)).T if n else ([], [], [])
    codes = np.arange(n)
    return Outcomes(codes, 0 * codes, np.array(a, dtype=int), np.array(b, dtype=int), verdict, 0 * codes, weights)


def plain_rate(outcomes, system, points):
    """Comparison by comparison; points for a win, a tie and a loss."""
    won = played = 0.0
    for a, b, verdict, weight in zip(outcomes.a, outcomes.b, outcomes.verdict, outcomes.weight, strict=True):
        if verdict != verdict or system not in (a, b):
            continue
        result = verdict if system == b else -verdict
        won += weight * points[1 - int(result)]
        played += weight
    return won / played if played else NAN


def test_rates_by_hand():
    # 0 beats 1, ties with 1, loses to 2: 1.5 of 3 wins, and (1 - 1) / 3. 1: 0.5 of 2, -1/2. 2: 1 of 1, 1.
    # The missing verdict of 2 against 1 is no comparison.
    outcomes = outcomes_of([(0, 1, -1), (1, 0, 0), (0, 2, 1), (2, 1, NAN)])
    rates = win_rate(outcomes)
    np.testing.assert_array_equal(rates.system, [0, 1, 2])
    np.testing.assert_allclose(rates.value, [1.5 / 3, 0.5 / 2, 1])
    np.testing.assert_array_equal(rates.n, [3, 2, 1])
    np.testing.assert_allclose(win_loss_rate(outcomes).value, [0, -1 / 2, 1])


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        pytest.param([(0, 1), (0, 2)], [1, -1, -1], id="one-above-two-others"),
        pytest.param([(0, 1), (1, 2), (2, 0)], [0, 0, 0], id="cycle"),
        pytest.param([(0, 1), (0, 1), (1, 0), (1, 2), (0, 2)], [0.5, 0, -1], id="duplicates-and-contradiction"),
        pytest.param([(0, 1), (2, 3), (3, 4)], [1, -1, 1, 0, -1], id="two-components"),
    ],
)
def test_published_win_loss_rates_are_met(pairs, expected):
    outcomes = outcomes_of([(winner, loser, -1) for winner, loser in pairs])
    np.testing.assert_allclose(win_loss_rate(outcomes).value, expected)


@pytest.mark.parametrize("name", ["gpt35_vicuna_cnndm", "vicuna_mistral_samsum"])
def test_published_study_is_met(golden, name):
    verdicts = [r for item in golden("human_rating_sets")[name] for one in item["sets"] for r in one["r"]]
    counts = golden("human_summary")[name]["rating_counts_model_coords"]
    outcomes = outcomes_of([(0, 1, verdict) for verdict in verdicts])
    rate = (counts["A"] + counts["tie"] / 2) / 750
    np.testing.assert_allclose(win_rate(outcomes).value, [rate, 1 - rate])
    strength = golden("human_summary")[name]["mean_pref_strength"]
    np.testing.assert_allclose(win_loss_rate(outcomes).value, [-strength, strength])


@pytest.mark.slow
@given(comparisons)
def test_default_arguments_equal_the_plain_version(rows):
    outcomes = outcomes_of([(*pair, verdict) for pair, verdict, _ in rows], [weight for *_, weight in rows])
    for measure, sums_of, points in [(win_rate, win_sums, (1, 0.5, 0)), (win_loss_rate, win_loss_sums, (1, 0, -1))]:
        rates = measure(outcomes)
        expected = [plain_rate(outcomes, system, points) for system in rates.system]
        np.testing.assert_allclose(rates.value, expected)
        sums = [ratio(sums_of(outcomes, system).sum(axis=0)) for system in rates.system]
        np.testing.assert_allclose(sums, expected)


@pytest.mark.slow
@given(comparisons)
def test_rates_are_bounded_tell_the_same_story_and_know_no_order_or_side(rows):
    outcomes = outcomes_of([(*pair, verdict) for pair, verdict, _ in rows])
    wins, balance = win_rate(outcomes), win_loss_rate(outcomes)
    known = ~np.isnan(wins.value)
    assert ((wins.value[known] >= 0) & (wins.value[known] <= 1)).all()
    np.testing.assert_allclose(balance.value, 2 * wins.value - 1)
    np.testing.assert_array_equal(known, wins.n > 0)
    assert wins.n.sum() == 2 * (~np.isnan(outcomes.verdict)).sum()
    turned = outcomes_of([(b, a, -verdict) for (a, b), verdict, _ in reversed(rows)])
    np.testing.assert_allclose(win_rate(turned).value, wins.value)


def test_systems_without_comparisons_have_no_rate():
    outcomes = outcomes_of([(0, 1, 1), (0, 3, NAN)])
    rates = win_rate(outcomes, systems=[3, 1, 0, 8])
    np.testing.assert_array_equal(rates.system, [0, 1, 3, 8])
    np.testing.assert_array_equal(rates.value, [0, 1, NAN, NAN])
    np.testing.assert_array_equal(rates.n, [1, 1, 0, 0])
    assert win_rate(outcomes_of([])).system.size == 0
    with pytest.raises(UnknownValue, match=r"\[1\]"):
        win_rate(outcomes, systems=[0, 3])


@pytest.mark.slow
@given(comparisons)
def test_rates_of_columns_and_of_their_matrix_equal_those_of_outcomes_to_the_last_digit(rows):
    plain = [(*pair, verdict) for pair, verdict, _ in rows]
    a, b, verdict = np.reshape(plain, (len(rows), 3)).T if rows else np.empty((3, 0))
    columns, outcomes = (a.astype(int), b.astype(int), (1 - verdict) / 2), outcomes_of(plain)
    matrix = win_matrix(*columns, n_systems=5)
    np.testing.assert_array_equal(win_rates(*columns, n_systems=5), win_rate(outcomes, systems=range(5)).value)
    np.testing.assert_array_equal(matrix_win_rates(matrix), win_rate(outcomes, systems=range(5)).value)
    np.testing.assert_array_equal(matrix_win_loss_rates(matrix), win_loss_rate(outcomes, systems=range(5)).value)
