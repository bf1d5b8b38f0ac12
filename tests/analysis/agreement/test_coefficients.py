"""Agreement between raters and of a judge with people."""

from itertools import combinations, permutations

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from analysis.agreement.coefficients import (
    agreement_sums,
    alpha_from_coincidences,
    coincidences,
    degree_alpha,
    degree_alpha_from_coincidences,
    degrees,
    gwet_from_sums,
    gwet_sums,
    krippendorff_alpha,
    ordinal_weights,
    raw_agreement,
)
from analysis.agreement.confusion import (
    Agreement,
    cohen_kappa,
    confusions,
    kappa_from_confusions,
    majority,
    majority_agreement,
    majority_sums,
    vote_sums,
    votes_agreement,
)
from analysis.errors import ShapeError, UnknownValue
from analysis.intervals.bootstrap import ratio

pytestmark = pytest.mark.slow

NAN = np.nan
LEVELS = ["nominal", "ordinal", "interval"]
CONFIGURATIONS = ["gpt35_vicuna_cnndm", "vicuna_mistral_samsum"]
verdict = st.sampled_from([-1.0, 0.0, 1.0, NAN])
degree = st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0, NAN])
tables = hnp.arrays(float, st.tuples(st.integers(0, 6), st.integers(1, 5)), elements=verdict)


def study(items):
    """(n_units, n_workers) of a published study, one unit for each pair of each instance."""
    workers = sorted({one["worker"] for item in items for one in item["sets"]})
    units = np.full((len(items), 5, len(workers)), NAN)
    for row, item in zip(units, items, strict=True):
        for one in item["sets"]:
            row[:, workers.index(one["worker"])] = one["r"]
    return units.reshape(-1, len(workers))


def plain_raw_agreement(units):
    pairs = [(x, y) for unit in units for x, y in combinations([r for r in unit if r == r], 2)]
    return np.mean([x == y for x, y in pairs]) if pairs else NAN


def plain_majority(unit):
    votes = sorted([unit.tolist().count(v) for v in (-1, 0, 1)])
    return max((-1, 0, 1), key=unit.tolist().count) if votes[-1] > votes[-2] else NAN


def plain_kappa(x, y):
    both = [(i, j) for i, j in zip(x, y, strict=True) if i == i and j == j]
    if not both:
        return NAN
    agreed = np.mean([i == j for i, j in both])
    chance = sum(np.mean([i == v for i, _ in both]) * np.mean([j == v for _, j in both]) for v in (-1, 0, 1))
    return (agreed - chance) / (1 - chance) if chance < 1 - 1e-12 else NAN


def test_raw_agreement_by_hand():
    # Unit 1: A A B gives 1 of 3 pairs; unit 2: tie tie gives 1 of 1; unit 3 has one rating and no pair. 2 / 4.
    assert raw_agreement([[-1, -1, 1], [0, 0, NAN], [1, NAN, NAN]]) == 0.5


def test_alpha_levels_by_hand():
    # Units (A A), (B B), (A tie): margins A 3, tie 1, B 2, n = 6; the one disagreement is A against tie, twice.
    # Nominal: expected (2*3*1 + 2*3*2 + 2*1*2) / 5 = 22/5, alpha = 1 - 2 / (22/5) = 12/22.
    # Interval: A-B differ by 4: expected (6 + 4*12 + 4) / 5 = 58/5, alpha = 1 - 10/58.
    # Ordinal: mid-ranks 1.5, 3.5, 5; squares A-tie 4, A-B 12.25, tie-B 2.25: observed 8,
    # expected (6*4 + 12*12.25 + 4*2.25) / 5 = 180/5 = 36, alpha = 1 - 8/36.
    units = [[-1, -1], [1, 1], [-1, 0]]
    assert krippendorff_alpha(units, "nominal") == pytest.approx(12 / 22)
    assert krippendorff_alpha(units, "interval") == pytest.approx(48 / 58)
    assert krippendorff_alpha(units) == krippendorff_alpha(units, "ordinal") == pytest.approx(28 / 36)


def test_kappa_of_the_textbook_table():
    # 20 both A, 15 both B, 5 and 10 apart: agreed 35/50 = 0.7, chance 0.5 * 0.6 + 0.5 * 0.4 = 0.5, (0.7 - 0.5) / 0.5.
    x = [-1] * 20 + [-1] * 5 + [1] * 10 + [1] * 15
    y = [-1] * 20 + [1] * 5 + [-1] * 10 + [1] * 15
    assert cohen_kappa(x, y) == pytest.approx(0.4)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_published_study_is_met(golden, name):
    units, summary = study(golden("human_rating_sets")[name]), golden("human_summary")[name]
    assert raw_agreement(units) == pytest.approx(summary["pairwise_percent_agreement"], abs=1e-9)
    for level in LEVELS:
        assert krippendorff_alpha(units, level) == pytest.approx(summary[f"krippendorff_alpha_{level}"], abs=1e-9)
    first = majority(units)
    found = [int((first == value).sum()) for value in (-1, 0, 1)] + [int(np.isnan(first).sum())]
    expected = summary["majority_counts"]
    assert found == [expected[key] for key in ("A", "tie", "B", "no_majority_3way_split")]


@given(tables)
def test_raw_agreement_and_majority_equal_the_plain_versions(units):
    np.testing.assert_allclose(raw_agreement(units), plain_raw_agreement(units))
    np.testing.assert_allclose(raw_agreement(-units[::-1, ::-1]), raw_agreement(units))
    np.testing.assert_array_equal(majority(units), [plain_majority(unit) for unit in units])


@given(tables, st.sampled_from(LEVELS))
def test_alpha_equals_the_library_and_knows_no_order_or_side(units, level):
    paired = units[(~np.isnan(units)).sum(axis=1) > 1]
    found = krippendorff_alpha(units, level)
    np.testing.assert_allclose(krippendorff_alpha(-units[::-1, ::-1], level), found, atol=1e-12)
    if len(np.unique(paired[~np.isnan(paired)])) < 2:
        assert np.isnan(found)
        return
    expected = krippendorff.alpha(reliability_data=paired.T, value_domain=[-1, 0, 1], level_of_measurement=level)
    assert found == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.tuples(verdict, verdict), max_size=12))
def test_kappa_equals_the_plain_version_and_is_symmetric(votes):
    x, y = np.reshape(votes, (-1, 2)).T
    np.testing.assert_allclose(cohen_kappa(x, y), plain_kappa(x, y), atol=1e-12)
    np.testing.assert_array_equal(cohen_kappa(x, y), cohen_kappa(y, x))


@given(tables, st.data())
def test_agreement_with_people_equals_the_plain_version(people, data):
    judge = data.draw(hnp.arrays(float, len(people), elements=verdict))
    votes = [(v, j) for unit, j in zip(people, judge, strict=True) for v in unit if v == v]
    judged = [v == j for v, j in votes if j == j]
    found = votes_agreement(judge, people)
    np.testing.assert_allclose(found.value, np.mean(judged) if judged else NAN)
    assert (found.n, found.left_out) == (len(judged), len(votes) - len(judged))

    units = [(plain_majority(unit), j) for unit, j in zip(people, judge, strict=True) if j == j and any(unit == unit)]
    decided = [m == j for m, j in units if m == m]
    crowd = majority_agreement(judge, people)
    np.testing.assert_allclose(crowd.value, np.mean(decided) if decided else NAN)
    assert (crowd.n, crowd.left_out) == (len(decided), len(units) - len(decided))


def test_agreement_with_people_by_hand():
    judge = [-1, 1, NAN, 0]
    people = [[-1, -1, 1], [1, -1, 0], [1, 1, 1], [NAN, NAN, NAN]]
    # Votes: 2 of 3 and 1 of 3; the three votes of unit 3 meet no verdict. Majority: unit 1 agrees, unit 2 has none,
    # unit 3 no verdict, unit 4 no vote.
    assert votes_agreement(judge, people) == Agreement(value=0.5, n=6, left_out=3)
    assert majority_agreement(judge, people) == Agreement(value=1.0, n=1, left_out=1)


@given(tables, st.data())
def test_unit_sums_add_up_to_the_measure(units, data):
    judge = data.draw(hnp.arrays(float, len(units), elements=verdict))
    np.testing.assert_equal(float(ratio(agreement_sums(units).sum(axis=0))), raw_agreement(units))
    np.testing.assert_equal(float(ratio(vote_sums(judge, units).sum(axis=0))), votes_agreement(judge, units).value)
    np.testing.assert_equal(
        float(ratio(majority_sums(judge, units).sum(axis=0))), majority_agreement(judge, units).value
    )
    assert coincidences(units).shape == confusions(judge, judge).shape == (len(units), 3, 3)
    raters = (~np.isnan(units)).sum(axis=1)
    np.testing.assert_allclose(coincidences(units).sum(axis=(1, 2)), np.where(raters > 1, raters, 0))


def test_statistics_take_a_stack_of_sums(rng):
    stack = rng.integers(0, 9, size=(7, 3, 3)).astype(float)
    stack += stack.transpose(0, 2, 1)
    stack[2] = 0
    for level in LEVELS:
        expected = [alpha_from_coincidences(matrix, level) for matrix in stack]
        np.testing.assert_allclose(alpha_from_coincidences(stack, level), expected)
    np.testing.assert_allclose(kappa_from_confusions(stack), [kappa_from_confusions(matrix) for matrix in stack])
    tables = rng.integers(0, 9, (4, 2, 5, 5)).astype(float)
    tables += np.swapaxes(tables, -1, -2)
    each = [[float(degree_alpha_from_coincidences(one)) for one in row] for row in tables]
    np.testing.assert_allclose(degree_alpha_from_coincidences(tables), each)
    np.testing.assert_array_equal(alpha_from_coincidences(tables), degree_alpha_from_coincidences(tables))


@pytest.mark.parametrize(
    "units",
    [
        pytest.param(np.empty((0, 3)), id="no-units"),
        pytest.param([[1, NAN], [NAN, 0]], id="nothing-pairable"),
        pytest.param([[1], [0]], id="one-rater"),
        pytest.param([[0, 0], [0, 0]], id="all-ties"),
        pytest.param([[1, 1], [1, 1], [-1, NAN]], id="variation-in-unpaired-ratings-only"),
    ],
)
def test_alpha_without_variation_is_undefined(units):
    for level in LEVELS:
        assert np.isnan(krippendorff_alpha(units, level))


def test_kappa_without_room_is_undefined():
    assert np.isnan(cohen_kappa([1, 1, 1], [1, 1, 1]))
    assert np.isnan(cohen_kappa([], []))
    assert np.isnan(cohen_kappa([1, NAN], [NAN, 1]))
    assert cohen_kappa([1, 1], [0, 0]) == 0.0


@pytest.mark.parametrize(
    "measure", [raw_agreement, krippendorff_alpha, degree_alpha, majority, coincidences, agreement_sums]
)
def test_other_ratings_and_shapes_are_refused(measure):
    with pytest.raises(UnknownValue, match=r"3\.0"):
        measure([[3, 1]])
    with pytest.raises(ShapeError):
        measure([1, 0])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        pytest.param(lambda: cohen_kappa([1, 0], [1]), ShapeError, id="kappa"),
        pytest.param(lambda: votes_agreement([1, 0], [[1, 1]]), ShapeError, id="votes"),
        pytest.param(lambda: alpha_from_coincidences(np.zeros((2, 2))), ShapeError, id="two-values"),
        pytest.param(lambda: alpha_from_coincidences(np.zeros((3, 5))), ShapeError, id="not-square"),
        pytest.param(lambda: degree_alpha_from_coincidences(np.zeros((3, 3))), ShapeError, id="degrees-of-verdicts"),
        pytest.param(lambda: kappa_from_confusions(np.zeros(9)), ShapeError, id="confusions"),
        pytest.param(lambda: krippendorff_alpha([[1, 0]], "ratio"), UnknownValue, id="level"),
        pytest.param(lambda: degrees([1], [3]), UnknownValue, id="strength"),
        pytest.param(lambda: degrees([1, 1], [1]), ShapeError, id="strengths"),
    ],
)
def test_what_does_not_fit_is_refused(call, error):
    with pytest.raises(error):
        call()


def test_degrees_are_verdicts_refined_by_strength():
    found = degrees([-1, 1, 0, 1, NAN, 0], [2, 1, NAN, NAN, 2, NAN])
    np.testing.assert_array_equal(found, [-2, 1, 0, NAN, NAN, 0])


def test_alpha_of_degrees_by_hand():
    # Units (-2 -1), (2 2), (-2 -2): margins of -2 3, of -1 1, of 2 2, n = 6; mid-ranks 1.5, 3.5, 5.
    # The one disagreement is -2 against -1, twice, at a square of 4: observed 8; expected
    # (6*4 + 12*12.25 + 4*2.25) / 5 = 36, so alpha = 1 - 8/36. By sign alone all agree, and alpha is 1.
    units = [[-2, -1], [2, 2], [-2, -2]]
    assert degree_alpha(units) == pytest.approx(28 / 36)
    assert krippendorff_alpha(np.sign(units)) == 1


@given(hnp.arrays(float, st.tuples(st.integers(0, 6), st.integers(1, 5)), elements=degree))
def test_alpha_of_degrees_equals_the_library(units):
    paired = units[(~np.isnan(units)).sum(axis=1) > 1]
    found = degree_alpha(units)
    if len(np.unique(paired[~np.isnan(paired)])) < 2:
        assert np.isnan(found)
        return
    expected = krippendorff.alpha(
        reliability_data=paired.T, value_domain=[-2, -1, 0, 1, 2], level_of_measurement="ordinal"
    )
    assert found == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(degree_alpha(-units), found, atol=1e-9)


# Krippendorff's twelve units of four raters, of which Gwet gives the coefficients.
UNITS = ["111", "2232", "3333", "3333", "2222", "1234", "4444", "1121", "2222", "555", "11", "3"]
COUNTS = np.array([[unit.count(str(kind)) for kind in range(1, 6)] for unit in UNITS])


def test_gwets_published_example_has_its_published_coefficient() -> None:
    assert gwet_from_sums(gwet_sums(COUNTS).sum(axis=0)) == pytest.approx(0.77544, abs=5e-6)


@given(hnp.arrays(np.int64, st.tuples(st.integers(1, 8), st.just(3)), elements=st.integers(0, 4)))
def test_gwets_coefficients_equal_those_of_all_pairs_of_votes(counts: np.ndarray) -> None:
    for ordinal in (False, True):
        weights = ordinal_weights(3) if ordinal else np.eye(3)
        units = [[kind for kind, n in enumerate(row) for _ in range(n)] for row in counts.tolist()]
        agreements = [np.mean([weights[a, b] for a, b in permutations(unit, 2)]) for unit in units if len(unit) > 1]
        found = float(gwet_from_sums(gwet_sums(counts).sum(axis=0), ordinal=ordinal))
        if not agreements:
            assert np.isnan(found)
            continue
        shares = np.mean([[unit.count(kind) / len(unit) for kind in range(3)] for unit in units if unit], axis=0)
        expected = weights.sum() / 6 * (shares * (1 - shares)).sum()
        assert found == pytest.approx((np.mean(agreements) - expected) / (1 - expected), abs=1e-12)


def test_wrong_counts_are_refused() -> None:
    with pytest.raises(ShapeError):
        gwet_sums([[1], [2]])
    with pytest.raises(UnknownValue):
        gwet_sums([[1, -1]])
