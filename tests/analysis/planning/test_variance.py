"""Variance components of verdicts and of consistency."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from analysis.agreement.consistency import RatingSets, consistency, rating_sets
from analysis.errors import DuplicateRating, NotEnough, ShapeError, UnknownValue
from analysis.planning import variance
from analysis.planning.variance import (
    Components,
    assumed_components,
    consistency_components,
    crossed_components,
    in_clusters,
    nested_components,
    verdict_variance,
)
from analysis.types import Outcomes

NAN = np.nan
NAMES = ("instance", "pair", "rater", "residual")
# Scores by instance, pair, rater, on a grid that adds up exactly.
CUBES = hnp.arrays(
    float, st.tuples(st.integers(2, 4), st.integers(2, 3), st.integers(2, 3)), elements=st.sampled_from([0.0, 0.5, 1.0])
)


def columns(cube):
    """Values, instance, pair and rater of a cube (instances, pairs, raters)."""
    places = np.indices(cube.shape)
    return (cube.ravel(), *(place.ravel() for place in places))


def values_of(found: Components):
    return [found.instance, found.pair, found.rater, found.residual]


def plain_anova(cube):
    """Mean squares of two crossed factors within instances, solved by their expectations; before truncation."""
    n, n_pairs, n_raters = cube.shape
    mean = cube.mean()
    by_instance = cube.mean(axis=(1, 2))
    by_pair, by_rater = cube.mean(axis=2), cube.mean(axis=1)
    left = cube - by_pair[:, :, None] - by_rater[:, None, :] + by_instance[:, None, None]
    residual = (left**2).sum() / (n * (n_pairs - 1) * (n_raters - 1))
    pairs = n_raters * ((by_pair - by_instance[:, None]) ** 2).sum() / (n * (n_pairs - 1))
    raters = n_pairs * ((by_rater - by_instance[:, None]) ** 2).sum() / (n * (n_raters - 1))
    instances = n_pairs * n_raters * ((by_instance - mean) ** 2).sum() / (n - 1)
    return [
        (instances - pairs - raters + residual) / (n_pairs * n_raters),
        (pairs - residual) / n_raters,
        (raters - residual) / n_pairs,
        residual,
    ]


def random_cube(rng, shape, sizes):
    """Normal scores with these standard deviations of instance, pair, rater and residual."""
    n, n_pairs, n_raters = shape
    return (
        sizes[0] * rng.normal(size=(n, 1, 1))
        + sizes[1] * rng.normal(size=(n, n_pairs, 1))
        + sizes[2] * rng.normal(size=(n, 1, n_raters))
        + sizes[3] * rng.normal(size=shape)
    )


def test_components_by_hand():
    # Two instances, two pairs (rows) and two raters (columns) each. Half squared differences are 0 or 1/2.
    # Two raters on a pair: 0, 1/2, 0, 1/2, mean 1/4. Two pairs by a rater: the same, 1/4. Both other: 1/2, 0, 1/2, 0,
    # mean 1/4. Two instances: of 4 x 4 couples 3 x 3 + 1 x 1 differ, so 10/16 of 1/2 = 5/16.
    cube = np.array([[[1, 1], [1, 0]], [[0, 0], [0, 1]]], dtype=float)
    found = crossed_components(*columns(cube))
    # instance 5/16 - 1/4, pair 1/4 - 1/4, rater 1/4 - 1/4, residual 1/4 + 1/4 - 1/4.
    assert values_of(found) == pytest.approx([1 / 16, 0, 0, 1 / 4])
    assert found.total == pytest.approx(5 / 16)
    assert (found.truncated, found.merged) == ((), ())
    # 1/16 + 1/4 / 4 = 1/8: just the variance of the instances' means, 3/4 and 1/4.
    assert found.of_instance_mean(2, 2) == pytest.approx(1 / 8)


def test_nested_components_of_a_published_example():
    # Calcium in turnip greens, four determinations on each of four leaves: Snedecor and Cochran 1967, Statistical
    # Methods, §10.13: mean squares 0.2961 and 0.0066, components 0.0724 and 0.0066.
    leaves = [[3.28, 3.09, 3.03, 3.03], [3.52, 3.48, 3.38, 3.38], [2.88, 2.80, 2.81, 2.76], [3.34, 3.38, 3.23, 3.26]]
    found = nested_components(np.ravel(leaves), np.repeat(range(4), 4))
    assert found.instance == pytest.approx(0.0724, abs=5e-5)
    assert found.rater == pytest.approx(0.0066, abs=5e-5)


@pytest.mark.slow
@given(CUBES)
def test_components_of_balanced_data_equal_the_analysis_of_variance(cube):
    expected = plain_anova(cube)
    found = crossed_components(*columns(cube))
    np.testing.assert_allclose(values_of(found), np.maximum(expected, 0), atol=1e-9)
    assert found.truncated == tuple(name for name, value in zip(NAMES, expected, strict=True) if value < -1e-9)
    turned = crossed_components(*columns(7 - 3 * cube[::-1, ::-1]))
    np.testing.assert_allclose(values_of(turned), 9 * np.array(values_of(found)), atol=1e-9)
    if not found.truncated:
        of_means = cube.mean(axis=(1, 2)).var(ddof=1)
        assert found.of_instance_mean(*cube.shape[1:]) == pytest.approx(of_means, abs=1e-9)


def test_components_of_data_with_holes_are_about_right(rng):
    # 3000 instances of 4 pairs and 3 raters, three in ten verdicts missing: the standard error of each component is
    # below 0.004, so 0.012 is three of them.
    cube = random_cube(rng, (3000, 4, 3), (0.2, 0.15, 0.25, 0.3))
    values, *codes = columns(np.where(rng.random(cube.shape) < 0.3, NAN, cube))
    np.testing.assert_allclose(values_of(crossed_components(values, *codes)), [0.04, 0.0225, 0.0625, 0.09], atol=0.012)


@pytest.mark.parametrize(
    ("shape", "merged", "zero"),
    [
        pytest.param((400, 4, 1), (("instance", "rater"), ("pair", "residual")), ("rater", "residual"), id="one-rater"),
        pytest.param((400, 1, 4), (("instance", "pair"), ("rater", "residual")), ("pair", "residual"), id="one-pair"),
        pytest.param((400, 1, 1), (NAMES,), ("pair", "rater", "residual"), id="one-verdict"),
    ],
)
def test_what_a_pilot_cannot_tell_apart_is_merged_on_the_safe_side(shape, merged, zero, rng):
    cube = random_cube(rng, shape, (0.2, 0.15, 0.25, 0.3))
    found = crossed_components(*columns(cube))
    assert found.merged == merged
    assert [getattr(found, name) for name in zero] == [0.0] * len(zero)
    assert found.of_instance_mean(*shape[1:]) == pytest.approx(cube.mean(axis=(1, 2)).var(ddof=1))
    full = Components(0.04, 0.0225, 0.0625, 0.09)
    for pairs, raters in ((5, 5), (5, 1), (1, 5)):
        assert found.of_instance_mean(pairs, raters) > 0.9 * full.of_instance_mean(pairs, raters)


@pytest.mark.parametrize(
    ("shape", "merged", "expected"),
    [
        # As after two batches with other pairs of the same instances: rater 0 has pairs 0 and 1, rater 1 pairs 2 and 3.
        pytest.param((4, 2), "pair", [0.04, 0.0225 + 0.09, 0.0625, 0], id="raters-with-pairs-of-their-own"),
        # Two pairs of an instance, each with two raters of its own.
        pytest.param((2, 4), "rater", [0.04, 0.0225, 0.0625 + 0.09, 0], id="pairs-with-raters-of-their-own"),
    ],
)
def test_what_is_not_crossed_is_merged_with_the_residual(shape, merged, expected, rng):
    values, instance, pair, rater = columns(random_cube(rng, (2000, *shape), (0.2, 0.15, 0.25, 0.3)))
    own = (pair >= shape[0] / 2) == (rater >= shape[1] / 2)
    found = crossed_components(values[own], instance[own], pair[own], rater[own])
    assert found.merged == ((merged, "residual"),)
    np.testing.assert_allclose(values_of(found), expected, atol=0.012)


def test_nested_components_without_two_raters_are_merged():
    # 0, 1/2 and 1: the variance of three instances with one rater each is 1/4.
    found = nested_components([0.0, 0.5, 1.0], [4, 2, 9])
    assert (found.instance, found.rater, found.merged) == (pytest.approx(0.25), 0.0, (("instance", "rater"),))
    assert nested_components([0.1] * 4, [0, 0, 1, 1]).total == 0.0


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        pytest.param(([], [], [], []), NotEnough, id="nothing"),
        pytest.param(([1, 0], [3, 3], [0, 1], [0, 0]), NotEnough, id="one-instance"),
        pytest.param(([1, NAN], [0, 1], [0, 0], [0, 0]), NotEnough, id="one-instance-with-a-value"),
        pytest.param(([1, 0, 1], [0, 0, 1], [0, 0, 0], [5, 5, 5]), DuplicateRating, id="twice-on-a-pair"),
        pytest.param(([1, 0], [0, 1], [0], [0, 0]), ShapeError, id="lengths"),
        pytest.param(([1, 0], [0.5, 1], [0, 0], [0, 0]), UnknownValue, id="codes-not-whole"),
    ],
)
def test_crossed_components_refuse(arguments, error):
    with pytest.raises(error):
        crossed_components(*map(np.array, arguments))


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_verdict_variance_equals_that_of_the_verdicts(wins, ties, losses):
    assume(wins + ties + losses)
    scores = np.array([1.0] * wins + [0.5] * ties + [0.0] * losses)
    assert verdict_variance(scores.mean(), (scores == 0.5).mean()) == pytest.approx(scores.var(), abs=1e-12)


def test_verdict_variance_by_hand():
    assert verdict_variance(0.5) == 0.25
    # 50 wins, 20 ties, 30 losses in 100: p = 0.6, mean square 0.5 + 0.2 / 4 = 0.55, less 0.36.
    assert verdict_variance(0.6, 0.2) == pytest.approx(0.19)
    for impossible in ((0.9, 0.5), (1.2, 0.0), (0.5, -0.1), (NAN, 0.0)):
        with pytest.raises(UnknownValue):
            verdict_variance(*impossible)


@pytest.mark.parametrize(("pairs", "raters"), [(0, 1), (1, 0)])
def test_instance_mean_of_no_pairs_or_raters_is_refused(pairs, raters):
    with pytest.raises(UnknownValue):
        Components(0.1, 0.1, 0.1, 0.1).of_instance_mean(pairs, raters)


def test_assumed_components_share_out_the_total():
    found = assumed_components(0.2, instance=0.1, pair=0.05, rater=0.35)
    assert values_of(found) == pytest.approx([0.02, 0.01, 0.07, 0.1])
    assert assumed_components(0.2, instance=0.5, rater=0.5).residual == 0.0
    for shares in ({"instance": 0.8, "rater": 0.3}, {"instance": -0.1}, {"instance": NAN}):
        with pytest.raises(UnknownValue):
            assumed_components(0.2, **shares)
    with pytest.raises(UnknownValue):
        assumed_components(-0.2, instance=0.1)


# Consistency


def sets_of(verdicts) -> RatingSets:
    """Rating sets of an array (instances, raters, pairs)."""
    array = np.asarray(verdicts, dtype=float)
    instance, rater, pair = (place.ravel() for place in np.indices(array.shape))
    n = array.size
    return rating_sets(Outcomes(instance, pair, np.zeros(n, int), np.ones(n, int), array.ravel(), rater))


@pytest.fixture
def golden_sets(golden) -> RatingSets:
    return sets_of([[one["r"] for one in item["sets"]] for item in golden("human_rating_sets")["gpt35_vicuna_cnndm"]])


def test_consistency_at_the_pilots_pairs_is_that_of_its_sets(golden_sets, rng):
    found = consistency_components(golden_sets, 5, rng=rng)
    consistencies = consistency(golden_sets.ratings)
    assert (found.n, found.instances, found.mean) == (150, 50, pytest.approx(consistencies.mean()))
    assert values_of(found.components) == pytest.approx(
        values_of(nested_components(consistencies, golden_sets.instance))
    )


def test_consistency_with_fewer_pairs_by_hand(rng):
    # One rater each; pairs are dropped one at a time. A, A, B gives 1, 0, 0; A, A, tie gives 1, 1/2, 1/2; each with
    # pair 3, 2 or 1 dropped. Means over the drops: 1/3 and 2/3, so 1/2. Half squared differences: 0, 1/8, 1/8.
    found = consistency_components(sets_of([[[-1, -1, 1]], [[-1, -1, 0]]]), 2, rng=rng)
    assert found.mean == pytest.approx(1 / 2)
    assert found.components.instance == pytest.approx((0 + 1 / 8 + 1 / 8) / 3)


def test_consistency_with_fewer_pairs_equals_the_mean_over_all_choices(golden_sets, rng):
    found = consistency_components(golden_sets, 3, rng=rng)
    by_choice = [consistency(golden_sets.ratings[:, list(places)]) for places in combinations(range(5), 3)]
    assert found.mean == pytest.approx(np.mean(by_choice))
    each = [nested_components(values, golden_sets.instance) for values in by_choice]
    assert found.components.rater == pytest.approx(np.mean([one.rater for one in each]))
    # Half squared differences of two instances, couple by couple.
    apart = np.not_equal.outer(golden_sets.instance, golden_sets.instance)
    between = [(np.subtract.outer(values, values)[apart] ** 2).mean() / 2 for values in by_choice]
    assert found.components.total == pytest.approx(np.mean(between))


def test_choices_of_pairs_are_drawn_where_there_are_many(golden_sets, rng, monkeypatch):
    exact = consistency_components(golden_sets, 3, rng=rng)
    monkeypatch.setattr(variance, "MAX_SUBSETS", 9)  # of 10
    first, second = (consistency_components(golden_sets, 3, rng=np.random.default_rng(5)) for _ in "ab")
    assert first == second
    assert first.mean == pytest.approx(exact.mean, abs=0.03)
    assert first != exact


def test_incomplete_sets_are_left_out(rng):
    # Pairs 1 and 3 of the second instance: the same two of its raters, whatever their places among all pairs.
    verdicts = [[[-1, -1, NAN], [-1, 1, NAN]], [[1, NAN, 1], [1, NAN, 0]], [[1, NAN, NAN], [NAN] * 3]]
    found = consistency_components(sets_of(verdicts), 2, rng=rng)
    assert (found.n, found.instances, found.mean) == (4, 2, pytest.approx((1 + 0 + 1 + 0.5) / 4))
    for n_pairs, error in ((4, NotEnough), (0, UnknownValue)):
        with pytest.raises(error):
            consistency_components(sets_of(verdicts), n_pairs, rng=rng)


def test_what_a_cluster_shares_is_estimated() -> None:
    """4,000 clusters of 3 and of 1 instances, with 2 values each: variances .5 of clusters, 1 of instances, 4 of values."""
    rng = np.random.default_rng(1)
    cluster = np.repeat(np.arange(4_000), [3, 1] * 2_000)
    instances = rng.normal(0, 0.5**0.5, 4_000)[cluster] + rng.normal(0, 1, len(cluster))
    instance = np.repeat(np.arange(len(cluster)), 2)
    values = instances[instance] + rng.normal(0, 2, len(instance))
    alone = nested_components(values, instance)
    found = in_clusters(alone, values, instance, cluster[instance], [3, 1] * 2_000)
    assert found.cluster_size == 2.5
    assert found.cluster == pytest.approx(0.5, abs=0.1)
    assert found.of_instance_mean(1, 2) == pytest.approx(1.5 + 1.5 * 0.5 + 4 / 2, rel=0.1)


def test_copies_of_an_instance_in_one_cluster_need_twice_as_many() -> None:
    values, instance = np.array([1.0, 0, 0.5, 1, 1, 0]), np.arange(6)
    alone = nested_components(values, instance)
    twice, codes = np.repeat(values, 2), np.repeat(instance, 2)
    copied = in_clusters(nested_components(values, instance), twice, np.arange(12), codes, [2] * 6)
    assert copied.of_instance_mean(1, 1) == pytest.approx(2 * alone.of_instance_mean(1, 1))
    unknown = in_clusters(alone, values, instance, instance, [4] * 6)  # one instance of each cluster has a value
    assert unknown.of_instance_mean(1, 1) == pytest.approx(4 * alone.of_instance_mean(1, 1))
