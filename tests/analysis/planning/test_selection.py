"""Choosing instances at random, from the top, by strata and by importance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import NotEnough, ShapeError, UnknownValue
from analysis.planning.selection import (
    choose_importance,
    choose_random,
    choose_stratified,
    choose_top,
    inclusion_probabilities,
)

NAN = np.nan
scores = st.lists(st.floats(-1, 1) | st.just(NAN), max_size=25)


def plain_probabilities(values, n):
    """Set the chances that exceed 1 to 1 and share out the other places again, one pass after the other."""
    weight = {i: max(v, 0.05) for i, v in enumerate(values) if v == v}
    certain = set()
    while True:
        rest = {i: w for i, w in weight.items() if i not in certain}
        probabilities = {i: (n - len(certain)) * w / sum(rest.values()) for i, w in rest.items()}
        above = {i for i, chance in probabilities.items() if chance >= 1 - 1e-12}
        if not above:
            return [1.0 if i in certain else probabilities.get(i, 0.0) for i in range(len(values))]
        certain |= above


def test_top_by_hand():
    assert choose_top([0.2, NAN, 0.9, 0.2, 0.5], 3).tolist() == [2, 4, 0]  # the earlier of the two 0.2
    assert choose_top([0.2], 0).tolist() == []


@given(scores, st.data())
def test_top_equals_the_plain_version(values, data):
    n = data.draw(st.integers(0, sum(v == v for v in values)))
    known = [i for i, v in enumerate(values) if v == v]
    assert choose_top(values, n).tolist() == sorted(known, key=lambda i: (-values[i], i))[:n]


@given(st.integers(0, 30), st.data())
def test_random_choice_is_repeatable_without_repeats(n_items, data):
    n = data.draw(st.integers(0, n_items))
    first, second = (choose_random(n_items, n, np.random.default_rng(n)) for _ in "ab")
    np.testing.assert_array_equal(first, second)
    assert len(set(first)) == n
    assert set(first) <= set(range(n_items))


def test_random_choice_favours_no_position(rng):
    chosen = np.bincount(np.concatenate([choose_random(5, 2, rng) for _ in range(5000)]))
    np.testing.assert_allclose(chosen / 5000, 2 / 5, atol=0.03)


def test_stratified_by_hand(rng):
    # Two bins over [0, 1]: positions 1, 3, 4 below the middle and 0, 2 from it on; NaN is in none.
    chosen, probabilities = choose_stratified([1.0, 0.0, 0.5, 0.2, 0.1, NAN], 2, 2, rng)
    assert set(chosen[:2]) <= {1, 3, 4}
    assert chosen[2:].tolist() == [0, 2]
    np.testing.assert_allclose(probabilities, [2 / 3, 2 / 3, 1, 1])
    assert len(choose_stratified([0.0, 1.0], 2, 0, rng).probabilities) == 0


def test_stratified_takes_edges_and_leaves_values_outside_out(rng):
    values = [0.1, 0.3, 0.6, 0.7, 0.95]
    assert choose_stratified(values, [0.2, 0.5, 0.8], 1, rng).indices[0] == 1
    assert {int(choose_stratified(values, [0.2, 0.5, 0.8], 1, rng).indices[1]) for _ in range(50)} == {2, 3}
    with pytest.raises(NotEnough, match=r"too few in \[0\.5, 1\]: 1$"):
        choose_stratified([0.0, 0.1, 0.2, 1.0], 2, 2, rng)


def test_probabilities_by_hand():
    # Weights 0.05 (of -0.4), 0.15, 0.3, and none for NaN: n = 1 gives 0.1, 0.3, 0.6.
    np.testing.assert_allclose(inclusion_probabilities([-0.4, 0.15, NAN, 0.3], 1), [0.1, 0.3, 0, 0.6])
    # n = 2: 2 * 0.3 / 0.5 = 1.2 is cut to 1; the one place left is shared 0.05 : 0.15. A single pass would give
    # 0.2 + 0.6 + 1 = 1.8 of 2.
    np.testing.assert_allclose(inclusion_probabilities([-0.4, 0.15, NAN, 0.3], 2), [0.25, 0.75, 0, 1])
    np.testing.assert_allclose(inclusion_probabilities([0.0] * 4, 3), [0.75] * 4)
    assert inclusion_probabilities([0.3] * 3, 3).tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(UnknownValue):
        inclusion_probabilities([np.inf, 0.1], 1)


@pytest.mark.parametrize("n", [2, -1])
def test_more_than_there_are_is_refused(n, rng):
    for choose in (choose_top, inclusion_probabilities):
        with pytest.raises(NotEnough):
            choose([0.5, NAN], n)
        with pytest.raises(ShapeError):
            choose([[0.5]], 1)
    with pytest.raises(NotEnough):
        choose_random(1, n, rng)


@pytest.mark.slow
@given(scores, st.data())
def test_probabilities_equal_the_plain_version_and_sum_to_n(values, data):
    n = data.draw(st.integers(0, sum(v == v for v in values)))
    probabilities = inclusion_probabilities(values, n)
    np.testing.assert_allclose(probabilities, plain_probabilities(values, n), atol=1e-9)
    assert probabilities.sum() == pytest.approx(n)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert (probabilities[np.isnan(values)] == 0).all()


@pytest.mark.slow
@given(scores, st.data())
def test_importance_sample_holds_n_items_and_every_certain_one(values, data):
    n = data.draw(st.integers(0, sum(v == v for v in values)))
    sample = choose_importance(values, n, np.random.default_rng(data.draw(st.integers(0, 99))))
    probabilities = inclusion_probabilities(values, n)
    assert len(set(sample.indices)) == len(sample.indices) == n
    np.testing.assert_array_equal(sample.probabilities, probabilities[sample.indices])
    assert set(np.flatnonzero(probabilities == 1)) <= set(sample.indices)


@pytest.mark.slow
def test_importance_samples_meet_their_probabilities(rng):
    values = np.array([0.9, 0.02, 0.3, NAN, 0.5, 0.1, 0.2])
    drawn = [choose_importance(values, 3, rng) for _ in range(4000)]
    counts = np.bincount(np.concatenate([sample.indices for sample in drawn]), minlength=7)
    np.testing.assert_allclose(counts / 4000, inclusion_probabilities(values, 3), atol=0.02)
    # Weighted by 1 / probability, samples estimate the total of all items without bias.
    totals = [np.sum(values[sample.indices] / sample.probabilities) for sample in drawn]
    assert np.mean(totals) == pytest.approx(np.nansum(values), abs=0.02)
