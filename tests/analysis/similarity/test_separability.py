"""Alignments, separability and normalisation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from analysis.errors import AnalysisError, ConstantGroup, NotEnough, ShapeError
from analysis.similarity.separability import alignments, normalise, separability

NAN = np.nan
unit = st.floats(0, 1)
sizes = st.tuples(st.integers(0, 3), st.integers(2, 4), st.integers(2, 4))


@st.composite
def similarity_arrays(draw):
    n, k_a, k_b = draw(sizes)
    return tuple(draw(hnp.arrays(float, (n, *shape), elements=unit)) for shape in [(k_a, k_a), (k_b, k_b), (k_a, k_b)])


def plain_separability(own_a, own_b, cross):
    def off_diagonal_mean(block):
        return np.mean([block[j][m] for j in range(len(block)) for m in range(len(block)) if j != m])

    return max(off_diagonal_mean(own_a), off_diagonal_mean(own_b)) - np.mean([s for row in cross for s in row])


def square(own_a, own_b, cross):
    return np.block([[own_a, cross], [np.swapaxes(cross, -1, -2), own_b]])


def test_separability_by_hand():
    own_a = [[9.0, 0.8], [0.6, 9.0]]  # off the diagonal (0.8 + 0.6) / 2 = 0.7
    own_b = [[9.0, 0.5, 0.5], [0.5, 9.0, 0.5], [0.5, 0.5, 9.0]]  # 0.5
    cross = [[0.1, 0.2, 0.3], [0.3, 0.4, 0.5]]  # 1.8 / 6 = 0.3
    assert separability(own_a, own_b, cross) == pytest.approx(0.7 - 0.3)
    assert np.ndim(separability(own_a, own_b, cross)) == 0


def test_golden_matrices_are_met_with_every_cross_pair(golden):
    for case in golden("measure_cases")["alignment_separability"]:
        parts = case["self_matrix_A"], case["self_matrix_B"], case["cross_matrix_rowsA_colsB"]
        assert separability(*parts) == pytest.approx(case["separability_paper"], abs=1e-12)
        means = alignments(square(*map(np.array, parts)), case["K"])
        assert means == pytest.approx((case["self_A"], case["self_B"], case["cross_paper"]), abs=1e-12)
        assert separability(*means) == pytest.approx(case["separability_paper"], abs=1e-12)


def test_golden_normalisation_is_met(golden):
    case = golden("measure_cases")["minmax"]
    parts = [[row[key] for row in case["instances"]] for key in ("self_A", "self_B", "cross")]
    group = normalise(*parts)
    assert (group.low, group.high) == (case["lo"], case["hi"])
    expected = [row["separability"] for row in case["instances"]]
    np.testing.assert_allclose(separability(group.self_a, group.self_b, group.cross), expected, atol=1e-12)


def test_published_configurations_are_met_alone_and_pooled(golden):
    configurations = golden("alignments_rouge1")
    keys = ["self_A", "self_B", "cross_paper"]
    for values in configurations.values():
        parts = [np.array(values[key]) for key in keys]
        np.testing.assert_allclose(separability(*parts), values["raw_sep_paper"], atol=1e-12)
        group = normalise(*parts)
        found = separability(group.self_a, group.self_b, group.cross)
        np.testing.assert_allclose(found, values["norm_sep_paper"], atol=1e-9)
    pooled = normalise(*[np.concatenate([values[key] for values in configurations.values()]) for key in keys])
    found = separability(pooled.self_a, pooled.self_b, pooled.cross)
    expected = np.concatenate([values["poolnorm_sep_paper"] for values in configurations.values()])
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.slow
@given(similarity_arrays())
def test_default_arguments_equal_the_plain_version_whichever_system_is_a(arrays):
    own_a, own_b, cross = arrays
    expected = [plain_separability(*parts) for parts in zip(*arrays, strict=True)]
    found = separability(*arrays)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(separability(own_b, own_a, np.swapaxes(cross, -1, -2)), expected, atol=1e-12)
    assert ((found >= -1) & (found <= 1)).all()
    means = alignments(square(*arrays), own_a.shape[-1])
    np.testing.assert_allclose(separability(*means), expected, atol=1e-12)
    own_a[:, range(own_a.shape[1]), range(own_a.shape[1])] = NAN  # the diagonal is ignored
    np.testing.assert_array_equal(separability(*arrays), found)


def test_single_generation_has_no_self_alignment_and_no_separability():
    # The block below the diagonal belongs to no similarity here and must not be read: (0.2 + 0.4) / 2.
    means = alignments([[1.0, 0.2, 0.4], [9.0, 1.0, 0.6], [9.0, 0.6, 1.0]], 1)
    np.testing.assert_allclose(means, [NAN, 0.6, 0.3])
    assert np.isnan(separability(*means))


def test_missing_similarity_stays_missing():
    assert np.isnan(separability([[1, NAN], [0.5, 1]], np.eye(2), np.eye(2)))
    np.testing.assert_array_equal(separability([0.5, NAN], [0.25, 0.5], [0.25, 0.5]), [0.25, NAN])


@pytest.mark.parametrize(
    "shapes",
    [
        pytest.param([(2, 2), (2, 2), (2, 3)], id="cross-too-wide"),
        pytest.param([(3, 2, 2), (2, 2), (2, 2)], id="stack-and-single"),
        pytest.param([(3, 1, 1), (3, 1, 1), (3, 1, 1)], id="one-generation"),
        pytest.param([(2, 3), (3, 3), (2, 3)], id="self-not-square"),
        pytest.param([(3,), (2,), (3,)], id="means-of-unequal-length"),
        pytest.param([(1, 3, 2, 2)] * 3, id="four-dimensions"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(shapes):
    with pytest.raises(ShapeError):
        separability(*[np.ones(shape) for shape in shapes])
    for shape, k_a in (((2, 3), 1), ((3, 3), 3), ((3, 3), 0), ((3,), 1)):
        with pytest.raises(ShapeError):
            alignments(np.ones(shape), k_a)


def test_sampled_cross_pairs_average_that_many_of_them(rng):
    matrix = square(np.ones((2, 2)), np.ones((2, 2)), np.array([[1.0, 2.0], [4.0, 8.0]]))
    stack = np.broadcast_to(matrix, (200, 4, 4))
    drawn = alignments(stack, 2, cross_pairs=1, rng=rng).cross
    assert set(drawn) == {1.0, 2.0, 4.0, 8.0}
    assert set(alignments(stack, 2, cross_pairs=4, rng=rng).cross) == {15 / 4}
    repeated = [alignments(stack, 2, cross_pairs=2, rng=np.random.default_rng(3)).cross for _ in range(2)]
    np.testing.assert_array_equal(*repeated)


def test_sampling_refuses_too_many_and_a_missing_generator(rng):
    with pytest.raises(NotEnough):
        alignments(np.eye(4), 2, cross_pairs=5, rng=rng)
    with pytest.raises(AnalysisError, match="generator"):
        alignments(np.eye(4), 2, cross_pairs=2)


@given(hnp.arrays(float, (3, 5), elements=st.floats(-100, 100) | st.just(NAN)))
def test_normalised_values_span_zero_to_one_in_the_same_order(parts):
    known = parts[~np.isnan(parts)]
    if len(np.unique(known)) < 2:
        return
    group = normalise(*parts)
    scaled = np.stack([group.self_a, group.self_b, group.cross])
    np.testing.assert_array_equal(np.isnan(scaled), np.isnan(parts))
    values = scaled[~np.isnan(scaled)]
    assert (values.min(), values.max()) == (0.0, 1.0)
    assert (np.diff(values[np.argsort(known)]) >= 0).all()


def test_given_constants_are_used_and_values_outside_are_not_clipped():
    # (x - 0.2) / 0.6 for 0.5, 0.8 and 0.95.
    group = normalise([0.5], [0.8], [0.95], low=0.2, high=0.8)
    np.testing.assert_allclose([group.self_a[0], group.self_b[0], group.cross[0]], [0.5, 1.0, 1.25])
    assert (group.low, group.high) == (0.2, 0.8)
    assert normalise([0.5], [0.8], [0.95], low=0.0).high == 0.95


@pytest.mark.parametrize(
    ("parts", "constants"),
    [
        pytest.param(([0.5, NAN], [0.5, 0.5], [0.5, 0.5]), {}, id="equal"),
        pytest.param(([0.1], [0.2], [0.3]), {"low": 1.0, "high": 1.0}, id="equal-constants"),
        pytest.param(([0.3], [0.1 + 0.2], [0.3]), {"low": 0.3}, id="equal-but-for-rounding"),
        # Equal texts, by vectors in single precision.
        pytest.param(([1.0000000936644418], [0.9999997735023499], [1.0]), {}, id="single-precision"),
    ],
)
def test_group_without_spread_is_an_error_and_not_a_division(parts, constants):
    with pytest.raises(ConstantGroup):
        normalise(*parts, **constants)


def test_group_whose_spread_is_rounding_is_one_without_spread():
    similarities = np.full((6, 6), 0.1)  # all equally alike; means of 2, of 12 and of 8 cells differ in the last digit
    means = alignments(similarities, 2)
    assert means.self_a != means.self_b
    with pytest.raises(ConstantGroup, match=r"0\.1"):
        normalise(*means)
    assert normalise([0.1], [0.2], [0.3], low=0.0, high=1e-9).high == 1e-9  # constants are taken as they are given


@pytest.mark.parametrize(
    ("part", "constants"),
    [
        pytest.param([NAN], {}, id="nothing-known"),
        pytest.param([], {"low": 0.0}, id="empty-with-one-constant"),
        pytest.param([np.inf], {}, id="infinite"),
        pytest.param([0.5], {"low": 1.0, "high": 0.0}, id="constants-descend"),
        pytest.param([0.5], {"low": NAN, "high": 1.0}, id="constant-missing"),
    ],
)
def test_group_without_a_scale_is_refused(part, constants):
    with pytest.raises(AnalysisError):
        normalise(part, part, part, **constants)
