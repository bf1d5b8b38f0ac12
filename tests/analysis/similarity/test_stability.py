"""Separability from fewer generations or cross pairs, beside that from all."""

from itertools import combinations

import numpy as np
import pytest

from analysis.errors import AnalysisError, NotEnough, ShapeError
from analysis.similarity.separability import alignments, separability
from analysis.similarity.stability import stability, subsampled
from analysis.types import FloatArray


def matrix(seed: int, size: int) -> FloatArray:
    half = np.random.default_rng(seed).random((size, size))
    return (half + half.T) / 2


def delta(similarities: FloatArray, k_a: int) -> float:
    return float(separability(*alignments(similarities, k_a)))


def test_all_samples_and_all_pairs_give_the_separability_itself() -> None:
    matrices, k_a = [matrix(0, 5), matrix(1, 4), matrix(4, 7), matrix(4, 7)], [2, 2, 2, 5]
    found = subsampled(matrices, k_a, scale=0.5, draws=3, rng=np.random.default_rng(0))
    expected = [[delta(one, k) / 0.5] * 3 for one, k in zip(matrices, k_a, strict=True)]
    assert found == pytest.approx(np.array(expected))


def test_each_draw_is_a_part_of_the_generations() -> None:
    whole = matrix(2, 7)  # three of A, four of B
    possible = {
        round(delta(whole[np.ix_([*of_a, *of_b], [*of_a, *of_b])], 2), 12)
        for of_a in combinations(range(3), 2)
        for of_b in combinations(range(3, 7), 2)
    }
    found = subsampled([whole], [3], scale=1, draws=200, rng=np.random.default_rng(0), samples=2)
    assert {round(value, 12) for value in found[0].tolist()} == possible


def test_fewer_cross_pairs_leave_the_selfs_alone() -> None:
    whole = matrix(3, 6)
    own = np.maximum(*alignments(whole, 3)[:2])
    possible = {round(float(own - value), 12) for value in whole[:3, 3:].ravel()}
    found = subsampled([whole], [3], scale=1, draws=100, rng=np.random.default_rng(0), cross_pairs=1)
    assert {round(value, 12) for value in found[0].tolist()} == possible


def test_what_lacks_generations_is_missing() -> None:
    parts = subsampled(
        [matrix(0, 6), matrix(1, 5), matrix(2, 3)], [3, 3, 1], scale=1, draws=2, rng=np.random.default_rng(0), samples=3
    )
    assert np.isnan(parts).all(axis=1).tolist() == [False, True, True]
    single = subsampled([matrix(2, 3)], [1], scale=1, draws=2, rng=np.random.default_rng(0))
    assert np.isnan(single).all()
    pairs = subsampled([matrix(0, 4)], [2], scale=1, draws=2, rng=np.random.default_rng(0), cross_pairs=5)
    assert np.isnan(pairs).all()


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param({"scale": 0}, id="scale"),
        pytest.param({"scale": np.nan}, id="nan-scale"),
        pytest.param({"draws": 0}, id="no-draw"),
        pytest.param({"samples": 1}, id="one-sample"),
        pytest.param({"cross_pairs": 0}, id="no-pair"),
        pytest.param({"k_a": []}, id="k-a"),
    ],
)
def test_bad_input_is_refused(bad: dict[str, object]) -> None:
    good = {"similarities": [matrix(0, 4)], "k_a": [2], "scale": 1.0, "draws": 2, "rng": np.random.default_rng(0)}
    with pytest.raises(AnalysisError):
        subsampled(**{**good, **bad})


def test_change_by_hand() -> None:
    # |0.1 - 0.2|, |0.4 - 0.2| and |0.5 - 0.5|, |0.7 - 0.5|: 0.15 and 0.1 over two draws; the third has no value.
    rng = np.random.default_rng(0)
    found = stability([[0.1, 0.4], [0.5, 0.7], [np.nan, 1]], [0.2, 0.5, 0.9], rng=rng)
    assert found.change == pytest.approx(0.125)
    assert (found.correlation, found.n, found.missing) == (1, 2, 1)
    assert found.change_interval.low == pytest.approx(0.1)
    assert found.change_interval.high == pytest.approx(0.15)
    unknown = stability([[np.nan]], [0.2], rng=rng)
    assert np.isnan([unknown.change, unknown.correlation]).all()
    assert (unknown.n, unknown.missing) == (0, 1)
    for parts, full, error in (
        ([0.1, 0.2], [0.1, 0.2], ShapeError),
        ([[0.1]], [0.1, 0.2], ShapeError),
        (np.empty((2, 0)), [0.1, 0.2], NotEnough),
    ):
        with pytest.raises(error):
            stability(parts, full, rng=rng)
