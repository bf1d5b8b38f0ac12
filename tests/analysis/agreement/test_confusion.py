"""Confusion of judges and of people with the majority."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from analysis.agreement.confusion import majority_agreement, majority_confusion, others_confusion
from analysis.errors import ShapeError, UnknownValue

A, TIE, B, NAN = -1.0, 0.0, 1.0, math.nan
VOTES = arrays(np.float64, st.tuples(st.integers(0, 6), st.integers(1, 5)), elements=st.sampled_from([A, TIE, B, NAN]))


def test_judges_verdicts_stand_in_the_row_of_the_majority() -> None:
    # Majorities: A, A, none (1:1), B, none (no vote), TIE.
    people = [[A, A, B], [A, NAN, NAN], [A, B, NAN], [B, B, B], [NAN, NAN, NAN], [TIE, TIE, B]]
    judge = [A, B, A, B, TIE, NAN]

    found = majority_confusion(judge, people)

    assert found.counts.tolist() == [[1, 0, 1], [0, 0, 0], [0, 0, 1]]
    assert (found.n, found.no_majority, found.no_vote) == (3, 1, 1)


def test_each_persons_vote_stands_in_the_row_of_the_others_majority() -> None:
    # A A B: both A beside {A, B}, no majority; B beside {A, A}: row A. B B B: thrice row B. A tie B: each beside two unlike.
    people = [[A, A, B], [B, B, B], [A, TIE, B], [TIE, NAN, NAN], [A, B, NAN]]

    found = others_confusion(people)

    # The last unit: A beside B, and B beside A.
    assert found.counts.tolist() == [[0, 0, 2], [0, 0, 0], [1, 0, 3]]
    assert (found.n, found.no_majority, found.no_vote) == (6, 2 + 3, 1)


@pytest.mark.parametrize(
    "people", [np.empty((0, 0)), np.empty((0, 3)), [[NAN, NAN]]], ids=["none", "no unit", "no vote"]
)
def test_nothing_is_counted_where_nothing_is(people: np.ndarray) -> None:
    judge = np.full(len(people), A)
    assert majority_confusion(judge, people).counts.sum() == others_confusion(people).counts.sum() == 0
    assert majority_confusion(judge, people).no_vote == len(people)


def test_wrong_shapes_and_values_are_refused() -> None:
    with pytest.raises(ShapeError):
        others_confusion([A, B])
    with pytest.raises(ShapeError):
        majority_confusion([A, B], [[A]])
    with pytest.raises(UnknownValue):
        majority_confusion([2.0], [[A]])


@pytest.mark.slow
@given(VOTES, st.randoms())
def test_every_verdict_is_counted_once_or_left_out(votes: np.ndarray, random: np.random.Generator) -> None:
    judge = np.array([random.choice([A, TIE, B, NAN]) for _ in votes])
    found, crowd = majority_confusion(judge, votes), others_confusion(votes)
    assert found.n + found.no_majority + found.no_vote == (~np.isnan(judge)).sum()
    assert crowd.n + crowd.no_majority + crowd.no_vote == (~np.isnan(votes)).sum()
    agreement = majority_agreement(judge, votes)
    assert (found.n, found.no_majority) == (agreement.n, agreement.left_out)
    assert np.trace(found.counts) == pytest.approx(0 if not found.n else agreement.value * found.n)


@given(VOTES)
def test_people_are_confused_as_a_plain_loop_says(votes: np.ndarray) -> None:
    expected = np.zeros((3, 3), dtype=int)
    for unit in votes:
        for who, vote in enumerate(unit):
            others = [one for place, one in enumerate(unit) if place != who and not np.isnan(one)]
            tally = sorted(((others.count(value), value) for value in (A, TIE, B)), reverse=True)
            if not np.isnan(vote) and others and tally[0][0] > tally[1][0]:
                expected[int(tally[0][1]) + 1, int(vote) + 1] += 1
    assert others_confusion(votes).counts.tolist() == expected.tolist()
    assert others_confusion(-votes[:, ::-1]).counts.tolist() == expected[::-1, ::-1].tolist()
