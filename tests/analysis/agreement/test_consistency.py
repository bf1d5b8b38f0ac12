"""Consistency, preference strength, rating sets and their distributions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from analysis.agreement.consistency import (
    consistency,
    distribution,
    incomplete,
    matchup_means,
    possible_consistencies,
    possible_strengths,
    preference_strength,
    rating_sets,
)
from analysis.errors import DuplicateRating, ShapeError, UnknownValue
from analysis.types import Outcomes

NAN = np.nan
CONFIGURATIONS = ["gpt35_vicuna_cnndm", "vicuna_mistral_samsum"]
ratings = hnp.arrays(float, hnp.array_shapes(max_dims=3, max_side=6), elements=st.sampled_from([-1.0, 0.0, 1.0, NAN]))


def plain_consistency(rated):
    present = [r for r in rated if r == r]
    if not present:
        return NAN
    return 0.0 if -1 in present and 1 in present else sum(abs(r) for r in present) / len(present)


def plain_strength(rated):
    present = [r for r in rated if r == r]
    return sum(present) / len(present) if present else NAN


@pytest.mark.parametrize(
    ("rated", "steady", "strength"),
    [
        pytest.param([-1, 0, 0, 0, 0], 1 / 5, -1 / 5, id="one-a"),
        pytest.param([1, 1, 1, 1, -1], 0.0, 3 / 5, id="both-sides"),  # (4 - 1) / 5
        pytest.param([-1, NAN, -1, 0, NAN], 2 / 3, -2 / 3, id="two-missing"),  # 2 of the 3 present
        pytest.param([NAN, NAN], NAN, NAN, id="all-missing"),
        pytest.param([], NAN, NAN, id="no-pairs"),
    ],
)
def test_one_set_by_hand(rated, steady, strength):
    np.testing.assert_equal(float(consistency(rated)), steady)
    np.testing.assert_equal(float(preference_strength(rated)), strength)


def test_unit_cases_are_met(golden):
    for case in golden("measure_cases")["consistency"]:
        assert consistency(case["r"]) == pytest.approx(case["consistency"], abs=1e-12)
        assert preference_strength(case["r"]) == pytest.approx(case["pref_strength"], abs=1e-12)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_published_study_is_met(golden, name):
    items, summary = golden("human_rating_sets")[name], golden("human_summary")[name]
    sets = [rated for item in items for rated in item["sets"]]
    rated = np.array([one["r"] for one in sets])
    steady, strength = consistency(rated), preference_strength(rated)
    np.testing.assert_allclose(steady, [one["consistency"] for one in sets], atol=1e-12)
    np.testing.assert_allclose(strength, [one["pref_strength"] for one in sets], atol=1e-12)
    assert steady.mean() == pytest.approx(summary["mean_consistency"], abs=1e-9)
    assert strength.mean() == pytest.approx(summary["mean_pref_strength"], abs=1e-9)
    steady_counts = distribution(steady, possible_consistencies(5))
    strength_counts = distribution(strength, possible_strengths(5))
    assert {str(value): n for value, n in steady_counts.items()} == summary["consistency_distribution_counts"]
    assert {str(value): n for value, n in strength_counts.items()} == summary["pref_strength_distribution_counts"]


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_matchup_means_of_published_study_are_met(golden, name):
    items = golden("human_rating_sets")[name]
    rows = [
        (instance, pair, one["worker"], verdict)
        for instance, item in enumerate(items)
        for one in item["sets"]
        for pair, verdict in enumerate(one["r"])
    ]
    instance, pair, rater, verdict = np.array(rows).T
    order = np.random.default_rng(7).permutation(len(rows))  # the order of rows must not matter
    outcomes = Outcomes(instance[order], pair[order], 0 * instance, 0 * instance + 1, verdict[order], rater[order])
    sets = rating_sets(outcomes)
    assert sets.ratings.shape == (150, 5)
    assert not sets.incomplete.any()
    steady = matchup_means(sets, consistency(sets.ratings))
    np.testing.assert_allclose(steady.mean, [item["mean_consistency"] for item in items], atol=1e-12)
    strength = matchup_means(sets, preference_strength(sets.ratings))
    np.testing.assert_allclose(strength.mean, [item["mean_pref_strength"] for item in items], atol=1e-12)
    assert (steady.n == 3).all()


@pytest.mark.slow
@given(ratings)
def test_default_arguments_equal_the_plain_version(rated):
    lines = rated.reshape(-1, rated.shape[-1])
    shape = rated.shape[:-1]
    np.testing.assert_array_equal(consistency(rated), np.reshape([plain_consistency(r) for r in lines], shape))
    np.testing.assert_array_equal(preference_strength(rated), np.reshape([plain_strength(r) for r in lines], shape))
    np.testing.assert_array_equal(incomplete(rated), np.isnan(rated).any(axis=-1))


@pytest.mark.slow
@given(ratings)
def test_sides_order_and_bounds(rated):
    steady, strength = np.atleast_1d(consistency(rated)), np.atleast_1d(preference_strength(rated))
    np.testing.assert_array_equal(consistency(-rated[..., ::-1]), consistency(rated))
    np.testing.assert_array_equal(preference_strength(-rated), -preference_strength(rated))
    known = ~np.isnan(steady)
    assert ((steady[known] >= 0) & (steady[known] <= 1)).all()
    one_sided = known & (steady > 0)
    np.testing.assert_array_equal(np.abs(strength[one_sided]), steady[one_sided])


@pytest.mark.parametrize("measure", [consistency, preference_strength, incomplete])
def test_other_values_are_refused(measure):
    with pytest.raises(UnknownValue, match=r"0\.5"):
        measure([0.5, 1])
    with pytest.raises(ShapeError):
        measure(1)


def test_rating_sets_align_pairs_and_keep_missing_ones():
    # Rater 8 was asked about pairs 0 and 2 of instance 4; rater 9 about all three, one answer missing.
    outcomes = Outcomes(
        instance=[4, 4, 4, 4, 4, 2],
        pair=[2, 0, 0, 1, 2, 0],
        a=[0] * 6,
        b=[1] * 6,
        verdict=[1, -1, 0, NAN, 1, -1],
        rater=[8, 8, 9, 9, 9, 8],
    )
    sets = rating_sets(outcomes)
    np.testing.assert_array_equal(sets.instance, [2, 4, 4])
    np.testing.assert_array_equal(sets.rater, [8, 8, 9])
    np.testing.assert_array_equal(sets.ratings, [[-1, NAN, NAN], [-1, NAN, 1], [0, NAN, 1]])
    # Rater 8 answered all that they were asked, here and on instance 2, although the rows are padded.
    np.testing.assert_array_equal(sets.n_pairs, [1, 2, 3])
    np.testing.assert_array_equal(sets.present, [1, 2, 2])
    np.testing.assert_array_equal(sets.incomplete, [False, False, True])


def test_rating_sets_keep_matchups_of_one_instance_apart_and_refuse_a_second_rating_of_a_pair():
    assert len(rating_sets(Outcomes([0, 0], [0, 0], [0, 0], [1, 2], [1, -1], [3, 3]))) == 2
    with pytest.raises(DuplicateRating):
        rating_sets(Outcomes([3, 3, 3], [0, 1, 1], [0] * 3, [2] * 3, [0, 1, 1], [6] * 3))


def test_matchup_mean_is_over_the_raters_that_have_a_value():
    # Each rater is steady (1 and 1) in an opposite direction: the mean is 1, the pooled ratings would give 0.
    sets = rating_sets(Outcomes([0] * 4, [0, 1, 0, 1], [0] * 4, [1] * 4, [1, 1, -1, -1], [1, 1, 2, 2]))
    assert matchup_means(sets, consistency(sets.ratings)).mean.tolist() == [1.0]
    sets = rating_sets(Outcomes([0, 0, 1], [0, 0, 0], [0] * 3, [1] * 3, [1, NAN, NAN], [1, 2, 1]))
    means = matchup_means(sets, consistency(sets.ratings))
    np.testing.assert_array_equal(means.mean, [1.0, NAN])
    np.testing.assert_array_equal(means.n, [1, 0])
    with pytest.raises(ShapeError):
        matchup_means(sets, np.zeros(2))
    nothing = rating_sets(Outcomes([], [], [], [], [], []))
    assert matchup_means(nothing, consistency(nothing.ratings)).mean.size == len(nothing) == 0


def test_possible_values_of_mixed_sizes_are_united_without_near_duplicates():
    assert possible_consistencies(5).tolist() == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert possible_strengths(2).tolist() == [-1.0, -0.5, 0.0, 0.5, 1.0]
    # Halves and quarters and sixths: 2/4 = 3/6 = 1/2 is one value; 0, 1/6, 1/4, 1/3, 1/2, 2/3, 3/4, 5/6, 1.
    assert len(possible_consistencies([2, 4, 6, 0])) == 9
    assert possible_consistencies(np.array([], dtype=int)).size == 0
    with pytest.raises(UnknownValue):
        possible_consistencies([3, -1])
    with pytest.raises(UnknownValue):
        possible_consistencies(2.5)  # type: ignore[arg-type]


def test_distribution_lists_every_value_and_survives_float_noise():
    # 0.1 + 0.2 is not 0.3, and 3 * 0.1 is not either: both are the one value 3/10.
    counts = distribution([0.1 + 0.2, 3 * 0.1, 0.3, NAN, 1.0], possible_consistencies(10))
    assert counts == {k / 10: {3: 3, 10: 1}.get(k, 0) for k in range(11)}
    assert list(counts) == sorted(counts)
    assert distribution([1e-12, 0.5 + 1e-12, 1 - 1e-12], [0, 0.5, 1]) == {0: 1, 0.5: 1, 1: 1}
    assert distribution([NAN], []) == {}
    with pytest.raises(UnknownValue, match=r"0\.25"):
        distribution([0.25], possible_consistencies(5))
    with pytest.raises(UnknownValue):
        distribution([0.0], [])


@given(hnp.arrays(float, (5, 4), elements=st.sampled_from([-1.0, 0.0, 1.0, NAN])))
def test_distribution_counts_each_set_that_has_a_value(rated):
    present = (~np.isnan(rated)).sum(axis=1)
    strength = preference_strength(rated)
    counts = distribution(strength, possible_strengths(present))
    assert sum(counts.values()) == (present > 0).sum()
    assert all(counts[float(value)] == (strength == value).sum() for value in np.unique(strength[present > 0]))
