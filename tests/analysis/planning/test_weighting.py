"""Weighting back: sums over chances, the effective number of instances, and the chances of rating sets."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.agreement.consistency import rating_sets
from analysis.errors import ShapeError, UnknownValue
from analysis.intervals.bootstrap import ratio
from analysis.planning.weighting import effective_number, inverse_probability_weighted, set_probabilities
from analysis.types import Outcomes

NAN = np.nan
rows = st.lists(st.tuples(st.floats(-3, 3), st.integers(1, 4), st.floats(0.01, 1)), min_size=1, max_size=12)


def value(sums, chances):
    return float(ratio(inverse_probability_weighted(sums, chances).sum(axis=0)))


def columns(drawn):
    table = np.array(drawn, dtype=np.float64)
    return table[:, :2], table[:, 2]


def test_ratio_form_by_hand():
    # Two ratings of mean 1 at chance 1, one of 0.5 at 1/2, one of 0 at 1/4: (2 + 0.5·2 + 0·4) / (2 + 1·2 + 1·4).
    assert value([[2, 2], [0.5, 1], [0, 1]], [1, 0.5, 0.25]) == pytest.approx(3 / 8)
    sums = np.arange(12, dtype=np.float64).reshape(2, 3, 2)
    np.testing.assert_allclose(inverse_probability_weighted(sums, [0.5, 0.25]), [sums[0] * 2, sums[1] * 4])
    assert np.isnan(value(np.empty((0, 2)), []))


@pytest.mark.slow
@given(rows, st.floats(0.01, 1))
def test_scale_of_the_chances_and_order_play_no_part_and_equal_chances_give_the_plain_value(drawn, factor):
    sums, chances = columns(drawn)
    found = value(sums, chances)
    assert value(sums[::-1], chances[::-1] * factor) == pytest.approx(found, abs=1e-9)
    means = sums[:, 0] / sums[:, 1]
    assert means.min() - 1e-9 <= found <= means.max() + 1e-9
    assert value(sums, np.full(len(sums), factor)) == pytest.approx(float(ratio(sums.sum(axis=0))), abs=1e-9)
    effective = effective_number(1 / chances)
    assert effective_number(factor / chances) == pytest.approx(effective)
    assert 1 - 1e-9 <= effective <= len(drawn) + 1e-9


def test_mean_over_all_samples_is_that_of_the_population():
    """Every sample of a design with its chance: totals are met exactly, the ratio nearly, the plain mean is far off."""
    y = np.array([1.0, 0.9, 0.6, 0.3, 0.2, 0.1])
    samples = [list(places) for places in combinations(range(6), 4)]
    # A sample is the likelier the more of its instances are among the first two: chances differ, and are known exactly.
    chance = np.array([1.0 + 3 * sum(place < 2 for place in places) for places in samples])
    chance /= chance.sum()
    included = np.array([sum(c for c, s in zip(chance, samples, strict=True) if i in s) for i in range(6)])
    assert included.sum() == pytest.approx(4)
    sums = np.stack([y, np.ones(6)], axis=1)
    totals = [inverse_probability_weighted(sums[s], included[s]).sum(axis=0) for s in samples]
    np.testing.assert_allclose(chance @ np.array(totals), [y.sum(), 6])
    weighted = chance @ np.array([ratio(total) for total in totals])
    plain = chance @ np.array([y[s].mean() for s in samples])
    assert abs(weighted - y.mean()) < 0.01
    assert abs(plain - y.mean()) > 0.03


def test_what_is_no_chance_or_weight_is_refused():
    for chance in (0, -0.1, 1.001, NAN, np.inf):
        with pytest.raises(UnknownValue):
            inverse_probability_weighted([[1, 1], [1, 1]], [0.5, chance])
    for sums, chances in (([[1, 1]], [0.5, 0.5]), ([[1, 1]], 0.5), (1.0, [0.5])):
        with pytest.raises(ShapeError):
            inverse_probability_weighted(sums, chances)
    for weights in ([1, 0], [1, NAN], [1, -1], [np.inf]):
        with pytest.raises(UnknownValue):
            effective_number(weights)
    with pytest.raises(ShapeError):
        effective_number([[1.0]])


def test_effective_number_by_hand():
    assert effective_number([1, 1, 2]) == pytest.approx(16 / 6)
    assert effective_number([7] * 5) == pytest.approx(5)
    assert effective_number([1e200, 1e200]) == pytest.approx(2)
    assert np.isnan(effective_number([]))


def test_chances_of_sets_by_hand():
    outcomes = Outcomes(
        instance=[1, 0, 0, 1, 1, 0, 2], pair=[0, 0, 1, 0, 1, 0, 0], a=[0] * 7, b=[1] * 7,
        verdict=[1, 1, NAN, -1, 0, 1, 1], rater=[0, 0, 0, 1, 1, 1, 0],
    )  # fmt: skip
    found = set_probabilities(outcomes, [0.5, 0.25, 0.25, 0.5, 0.75, NAN, 1])
    sets = rating_sets(outcomes)
    assert list(zip(sets.instance.tolist(), sets.rater.tolist(), strict=True)) == [
        (0, 0), (0, 1), (1, 0), (1, 1), (2, 0)
    ]  # fmt: skip
    # Of (0, 1) it is unknown, and those of (1, 1) differ.
    np.testing.assert_array_equal(found, [0.25, NAN, 0.5, NAN, 1])
    with pytest.raises(ShapeError):
        set_probabilities(outcomes, [0.5])
