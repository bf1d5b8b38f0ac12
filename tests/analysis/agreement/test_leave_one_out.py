"""Each vote against the other people's: agreement by leaving one out, and the judge against the very same votes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from analysis.agreement.leave_one_out import Votes, leave_one_out_agreement, shares_by_instance, vote_shares, votes_of
from analysis.errors import ShapeError, UnknownValue

NAN = np.nan
verdict = st.sampled_from([-1.0, 0.0, 1.0, NAN])
tables = hnp.arrays(float, st.tuples(st.integers(0, 6), st.integers(1, 5)), elements=verdict)


def plain_agreement(people):
    shares = []
    for unit in people:
        for h, vote in enumerate(unit):
            others = [r for k, r in enumerate(unit) if k != h and r == r]
            if vote == vote and others:
                shares.append(np.mean([r == vote for r in others]))
    return np.mean(shares) if shares else NAN


def test_agreement_by_hand():
    # Unit 1, A A B: 1/2, 1/2, 0. Unit 2, tie tie: 1, 1. Unit 3 has one vote, left out. 3 / 5.
    found = leave_one_out_agreement([[-1, -1, 1], [0, 0, NAN], [1, NAN, NAN]])
    assert (found.value, found.n, found.left_out) == (pytest.approx(0.6), 5, 1)


@given(tables)
def test_agreement_equals_the_plain_version_in_any_order(people):
    found, turned = leave_one_out_agreement(people), leave_one_out_agreement(-people[::-1, ::-1])
    assert found.value == pytest.approx(plain_agreement(people), nan_ok=True)
    assert turned.value == pytest.approx(found.value, nan_ok=True)
    assert found.n + found.left_out == (~np.isnan(people)).sum()


def test_judge_is_compared_with_the_others_only():
    # The judge says A. Beside person 0 (A) stand A and B: 1/2; beside person 2 (B) stand A and A: 1.
    shares = vote_shares([-1], [[-1, -1, 1]])
    assert shares.judge.tolist() == [0.5, 0.5, 1.0]
    assert shares.person.tolist() == [0.5, 0.5, 0.0]
    assert shares.equal.tolist() == [1, 1, 0]


@given(tables)
def test_judge_who_repeats_a_person_has_that_persons_shares(people):
    shares = vote_shares(people[:, 0], people)
    own = shares.who == 0
    np.testing.assert_allclose(shares.judge[own], shares.person[own])


def test_missing_verdicts_are_counted_where_there_is_something_to_compare():
    shares = vote_shares([NAN, NAN, 0], [[1, 1], [1, NAN], [0, 1]])
    assert shares.without_judge == 2
    assert shares.unit.tolist() == [0, 0, 2, 2]
    assert shares.counted.tolist() == [False, False, True, True]
    assert shares.person.tolist() == [0, 0, 0, 0]


@given(tables, st.randoms())
def test_rows_of_votes_in_any_order_give_the_numbers_of_the_table(people, random):
    dense = votes_of(people)
    order = list(range(len(dense.unit)))
    random.shuffle(order)
    rows = Votes(dense.unit[order], dense.person[order], dense.verdict[order], dense.n_units, dense.n_people)
    one, other = leave_one_out_agreement(people), leave_one_out_agreement(rows)
    assert (other.n, other.left_out) == (one.n, one.left_out)
    assert other.value == pytest.approx(one.value, nan_ok=True, abs=1e-12)


def test_nothing_has_no_agreement():
    for people in (np.empty((0, 3)), [[1], [0]], [[NAN, NAN]]):
        found = leave_one_out_agreement(people)
        assert np.isnan(found.value)
        assert found.n == 0


def test_what_does_not_fit_is_refused():
    with pytest.raises(ShapeError):
        vote_shares([1], [[1, 1], [1, 1]])
    with pytest.raises(ShapeError):
        leave_one_out_agreement([1, 1])
    with pytest.raises(UnknownValue):
        leave_one_out_agreement([[2, 1]])
    with pytest.raises(ShapeError):
        shares_by_instance([1], [[1, 1]], [0, 1])
    with pytest.raises(UnknownValue):
        shares_by_instance([1], [[1, 1]], [0.5])
