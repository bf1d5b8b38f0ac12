"""Elo and SEP-Elo."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import AnalysisError, ShapeError, UnknownValue
from analysis.ranking.elo import elo, elo_of_rows, sampled_elo, sep_elo_weight

NAN = np.nan
rows_of_four = st.lists(
    st.tuples(
        st.permutations(range(4)).map(lambda order: order[:2]),
        st.sampled_from([0.0, 0.5, 1.0, NAN]),
        st.sampled_from([0.0, 0.3, 1.0, 2.0]),
    ),
    max_size=30,
)


def columns(rows):
    a, b = np.array([pair for pair, *_ in rows], dtype=int).reshape(-1, 2).T
    return a, b, np.array([score for _, score, _ in rows]), np.array([weight for *_, weight in rows])


def plain_elo(rows, k=4.0, initial=1000.0):
    """The update as the paper writes it."""
    ratings = [initial] * 4
    for (a, b), score, weight in rows:
        if score != score:
            continue
        expected_a = 1 / (1 + 10 ** ((ratings[b] - ratings[a]) / 400))
        expected_b = 1 / (1 + 10 ** ((ratings[a] - ratings[b]) / 400))
        ratings[a] += k * weight * (score - expected_a)
        ratings[b] += k * weight * (1 - score - expected_b)
    return ratings


def test_two_updates_by_hand():
    # 0 beats 1 from equal ratings: +-4 * 1/2. Then a tie: E_0 = 1 / (1 + 10^(-4/400)), 0 loses 4 (E_0 - 1/2).
    lost = 4 * (1 / (1 + 10 ** (-0.01)) - 0.5)
    np.testing.assert_allclose(elo([0, 0], [1, 1], [1, 0.5], n_systems=2), [1002 - lost, 998 + lost], rtol=1e-14)
    # From +-5e8 the loss of the certain winner takes all of it back, and no power overflows.
    np.testing.assert_allclose(elo([0, 0], [1, 1], [1, 0], n_systems=2, k=1e9), [1000 - 5e8, 1000 + 5e8])


def test_golden_updates_are_met(golden):
    for case in golden("elo_cases")["single_updates"]:
        weight = 1.0 if case["delta"] is None else float(sep_elo_weight(case["delta"]))
        rows = [(0, 1, case["score_a"], weight)]
        if case["ra"] != case["rb"]:
            # The higher one begins at 1200: a win over a third system with a factor of 100 is worth 4 * 100 / 2.
            rows.insert(0, (0 if case["ra"] > case["rb"] else 1, 2, 1, 100))
        a, b, score, factor = np.array(rows).T
        found = elo(a.astype(int), b.astype(int), score, n_systems=3, weights=factor)
        np.testing.assert_allclose(found[:2], [case["ra_new"], case["rb_new"]], atol=1e-9, rtol=0)


def test_factor_is_that_of_the_golden_table_one_at_the_threshold_and_bounded(golden):
    table = golden("elo_cases")["ksep_table"]
    found = 4 * sep_elo_weight([row["delta"] for row in table])
    np.testing.assert_allclose(found, [row["K_sep"] for row in table], atol=1e-9, rtol=0)
    assert sep_elo_weight(0.4) == 1
    np.testing.assert_allclose(sep_elo_weight([-1e9, 1e9], alpha=3), [0, 3])
    np.testing.assert_allclose(sep_elo_weight(0.5, threshold=0.2, alpha=4, beta=2), 4 / (1 + np.exp(-0.6)))
    assert np.isnan(sep_elo_weight(NAN))
    for changed in ({"threshold": NAN}, {"alpha": -1}, {"beta": np.inf}):
        with pytest.raises(AnalysisError, match="finite parameters"):
            sep_elo_weight(0.4, **changed)


@pytest.mark.slow
@given(rows_of_four)
def test_default_arguments_equal_the_plain_version(rows):
    a, b, score, weight = columns(rows)
    unweighted = [(pair, result, 1.0) for pair, result, _ in rows]
    np.testing.assert_allclose(elo(a, b, score, n_systems=4), plain_elo(unweighted), atol=1e-9)
    found = elo(a, b, score, n_systems=4, k=32, initial=1500, weights=weight)
    np.testing.assert_allclose(found, plain_elo(rows, 32, 1500), atol=1e-9)


@given(rows_of_four, st.permutations(range(4)))
def test_changes_sum_to_zero_and_naming_does_not_matter(rows, names):
    a, b, score, weight = columns(rows)
    found = elo(a, b, score, n_systems=4, weights=weight)
    assert found.sum() == pytest.approx(4000, abs=1e-9)
    np.testing.assert_allclose(elo(b, a, 1 - score, n_systems=4, weights=weight), found, atol=1e-9)
    renamed = np.array(names)
    np.testing.assert_allclose(
        elo(renamed[a], renamed[b], score, n_systems=4, weights=weight)[renamed], found, atol=1e-9
    )


def test_systems_without_a_comparison_stay_at_the_start():
    np.testing.assert_array_equal(elo([], [], [], n_systems=2), [1000, 1000])
    np.testing.assert_array_equal(elo([], [], [], n_systems=1, initial=0), [0])
    assert elo([0], [1], [1], n_systems=3)[2] == 1000
    # A missing score and a factor of zero change nothing.
    np.testing.assert_array_equal(elo([0, 1], [1, 0], [NAN, 1], n_systems=2, weights=[1, 0]), [1000, 1000])
    np.testing.assert_array_equal(sampled([0], [1], [NAN], [0], rounds=2), 1000)
    np.testing.assert_array_equal(sampled([], [], [], [], clusters=[], rounds=2, initial=5), 5)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        pytest.param(([0], [1, 0], [1]), ShapeError, id="lengths"),
        pytest.param(([[0]], [[1]], [[1]]), ShapeError, id="two-axes"),
        pytest.param(([0], [2], [1]), UnknownValue, id="code-too-high"),
        pytest.param(([-1], [1], [1]), UnknownValue, id="code-below-zero"),
        pytest.param(([0.5], [1], [1]), UnknownValue, id="code-not-whole"),
        pytest.param(([1], [1], [1]), UnknownValue, id="itself"),
        pytest.param(([0], [1], [-1]), UnknownValue, id="verdict-for-score"),
        pytest.param(([0], [1], [0.25]), UnknownValue, id="other-score"),
    ],
)
def test_bad_columns_are_refused(arguments, error):
    with pytest.raises(error):
        elo(*arguments, n_systems=2)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        *(({"weights": [weight]}, UnknownValue) for weight in (-1, NAN, np.inf)),
        *((changed, AnalysisError) for changed in ({"k": -1}, {"k": NAN}, {"initial": np.inf})),
    ],
)
def test_bad_weights_and_parameters_are_refused(changed, error):
    with pytest.raises(error):
        elo([0], [1], [1], n_systems=2, **changed)


def sampled(a, b, score, matchup, seed=0, **more):
    return sampled_elo(a, b, score, matchup, n_systems=3, rng=np.random.default_rng(seed), **more)


def test_round_takes_one_comparison_of_each_matchup():
    np.testing.assert_allclose(sampled([0], [1], [1], [7], rounds=3), [elo([0], [1], [1], n_systems=3)] * 3)
    # At K = 4 and equal ratings a win moves 2 points and a tie none: one of the three is taken.
    ratings = sampled([0, 0, 0], [1, 1, 1], [1, 0.5, 0], [5, 5, 5], rounds=300)
    assert set(np.round(ratings[:, 0], 9).tolist()) == {998.0, 1000.0, 1002.0}
    assert np.unique(ratings[:, 0], return_counts=True)[1].min() > 60
    np.testing.assert_array_equal(ratings[:, 2], 1000)
    weighted = sampled([0, 0], [1, 1], [1, 1], [0, 0], weights=[0.5, 2], rounds=50)
    assert set(weighted[:, 0].round(9).tolist()) == {1001.0, 1004.0}


def test_order_of_matchups_is_drawn():
    columns = ([0, 1], [1, 2], [1, 1], [0, 1])
    known = {tuple(elo([0, 1][::step], [1, 2][::step], [1, 1], n_systems=3).round(9)) for step in (1, -1)}
    assert {tuple(row) for row in sampled(*columns, rounds=50).round(9)} == known


def test_whole_instances_are_drawn_with_replacement():
    # Of two instances with one and two matchups: the first twice, both, or the second twice.
    columns = ([0, 0, 1], [2, 2, 2], [1, 1, 1], [0, 1, 2])
    drawn = sampled(*columns, clusters=[0, 1, 1], rounds=200)
    wins = {tuple(np.round((row - 1000) / 2, 1)) for row in drawn[:, :2]}
    assert wins == {(2.0, 0.0), (2.0, 1.0), (2.0, 2.0)}


def test_draws_depend_on_the_seed_alone_and_mirror():
    rng = np.random.default_rng(5)
    a = rng.integers(3, size=40)
    b, score = (a + 1) % 3, rng.choice([0, 0.5, 1], size=40)
    columns, clusters = (a, b, score, np.arange(40) // 2), np.arange(40) // 4
    first = sampled(*columns, clusters=clusters, rounds=10)
    np.testing.assert_array_equal(first, sampled(*columns, clusters=clusters, rounds=10))
    assert (first != sampled(*columns, clusters=clusters, rounds=10, seed=1)).any()
    turned = sampled(b, a, 1 - score, np.arange(40) // 2, clusters=clusters, rounds=10)
    np.testing.assert_array_equal(first, turned)
    lost = sampled(a, b, 1 - score, np.arange(40) // 2, clusters=clusters, rounds=10)
    np.testing.assert_allclose(first - 1000, 1000 - lost, atol=1e-9)


@pytest.mark.slow
@given(rows_of_four, st.data())
def test_ratings_of_given_rows_equal_elo_over_them(rows, data):
    a, b, score, weight = columns(rows)
    n = len(rows)
    steps = data.draw(st.integers(0, 5))
    drawn = data.draw(st.lists(st.lists(st.integers(0, n), min_size=steps, max_size=steps), min_size=1, max_size=3))
    found = elo_of_rows(
        a, b, score, np.array(drawn, dtype=int).reshape(len(drawn), steps), n_systems=4, weights=[None, weight]
    )
    for own, factors in zip(found, (np.ones(n), weight), strict=True):
        for ratings, taken in zip(own, drawn, strict=True):
            kept = [row for row in taken if row < n]  # n is a step without a comparison
            known = elo(a[kept], b[kept], score[kept], n_systems=4, weights=factors[kept])
            np.testing.assert_allclose(ratings, known, atol=1e-9)


def test_wrong_columns_of_samples_are_refused():
    with pytest.raises(ShapeError):
        sampled([0], [1], [1], [0, 1])
    with pytest.raises(ShapeError):
        sampled([0], [1], [1], [0], clusters=[0, 1])
    with pytest.raises(AnalysisError):
        sampled([0], [1], [1], [0], rounds=0)
