"""How steady verdicts are when the order, the repeat or the negation changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from analysis.errors import ShapeError, UnknownValue
from analysis.intervals.bootstrap import ratio
from analysis.logic.verdicts import (
    averaged_verdict,
    first_sums,
    negation_sums,
    order_sums,
    same_share,
    self_agreement_sums,
)

NAN = np.nan
verdict = st.sampled_from([-1.0, 0.0, 1.0, NAN])
pairs_of_columns = st.integers(0, 8).flatmap(
    lambda n: st.tuples(hnp.arrays(float, n, elements=verdict), hnp.arrays(float, n, elements=verdict))
)


def test_first_share_by_hand():
    # Decided: A with A first (first), A with B first (second), B with B first (first); a tie and a gap are none. 2 / 3.
    sums = first_sums([-1, -1, 1, 0, NAN], [True, False, False, True, True])
    assert sums.tolist() == [[1, 1], [0, 1], [1, 1], [0, 0], [0, 0]]
    assert ratio(sums.sum(axis=0)) == pytest.approx(2 / 3)


def test_order_kinds_by_hand():
    a_first = [-1, -1, 1, 0, -1, NAN]
    b_first = [-1, 1, -1, 0, 0, 1]
    # A twice: same. A when first, B when first: the first. B when second, A when second: the second. Two ties: same.
    # A and a tie: mixed. One missing: none.
    assert order_sums(a_first, b_first).tolist() == [
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 1, 0],
        [1, 0, 0, 0],
        [0, 0, 0, 1],
        [0, 0, 0, 0],
    ]
    assert same_share(order_sums(a_first, b_first).sum(axis=0)) == pytest.approx(2 / 5)


def test_self_agreement_by_hand():
    # A A B: 2 of 3 equal the majority. Two ties of two. B alone is no repeat. A B: one of two. 5 / 7 in all.
    sums = self_agreement_sums([[-1, -1, 1], [0, 0, NAN], [1, NAN, NAN], [-1, 1, NAN]])
    assert sums.tolist() == [[2, 3], [2, 2], [0, 0], [1, 2]]


def test_negation_invariance_by_hand():
    # Preferred by both questions: A and A, A and B, a tie and a tie, and one that is missing. 2 / 3.
    sums = negation_sums([-1, -1, 0, 1], [-1, 1, 0, NAN])
    assert sums.sum(axis=0).tolist() == [2, 3]


def test_probabilities_of_both_orders_are_averaged():
    # Means .6, .4, exactly .5, and two that are not known.
    assert averaged_verdict([0.9, 0.3, 0.25], [0.3, 0.5, 0.75]).tolist() == [1, -1, 0]
    assert averaged_verdict([1, 0, 1], [0, 0, 1]).tolist() == [0, -1, 1]
    assert np.isnan(averaged_verdict([NAN, 0.2], [0.5, NAN])).all()


@given(pairs_of_columns)
def test_every_pair_with_both_verdicts_is_of_one_kind_whichever_system_is_a(columns):
    found = order_sums(*columns)
    # B under the name of A: what was shown first with A first is now shown first with B first.
    np.testing.assert_array_equal(found, order_sums(-columns[1], -columns[0]))
    np.testing.assert_array_equal(found.sum(axis=1), ~np.isnan(columns[0]) & ~np.isnan(columns[1]))
    plain = sum(x == y for x, y in zip(*columns, strict=True))
    assert found[:, 0].sum() == negation_sums(*columns)[:, 0].sum() == plain


@given(hnp.arrays(float, st.tuples(st.integers(0, 5), st.integers(0, 5)), elements=verdict))
def test_self_agreement_equals_the_slow_plain_version(answers):
    expected = []
    for row in answers:
        known = [value for value in row if value == value]
        expected.append([max(map(known.count, known)), len(known)] if len(known) > 1 else [0, 0])
    np.testing.assert_array_equal(self_agreement_sums(answers), np.array(expected).reshape(-1, 2))


def test_nothing_to_measure_is_undefined_and_no_zero():
    assert np.isnan(same_share(order_sums([], []).sum(axis=0)))
    assert np.isnan(ratio(self_agreement_sums(np.empty((0, 3))).sum(axis=0)))
    assert np.isnan(ratio(first_sums([0, NAN], [True, True]).sum(axis=0)))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        pytest.param(lambda: first_sums([1], [True, False]), ShapeError, id="first"),
        pytest.param(lambda: order_sums([1], [1, 1]), ShapeError, id="orders"),
        pytest.param(lambda: order_sums([2], [1]), UnknownValue, id="no verdict"),
        pytest.param(lambda: same_share(np.zeros(3)), ShapeError, id="kinds"),
        pytest.param(lambda: self_agreement_sums([1, 1]), ShapeError, id="repeats"),
        pytest.param(lambda: negation_sums([1], []), ShapeError, id="negation"),
        pytest.param(lambda: averaged_verdict([0.5], []), ShapeError, id="probabilities"),
        pytest.param(lambda: averaged_verdict([1.5], [0.5]), UnknownValue, id="no probability"),
    ],
)
def test_what_does_not_fit_is_refused(call, error):
    with pytest.raises(error):
        call()
