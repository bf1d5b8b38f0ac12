"""Accuracy over rounds: by hand, properties, and what can't be said."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from analysis.ablation import (
    difference_sums,
    majority_round_sums,
    mean_of_rounds,
    parsed_round_sums,
    round_sums,
    rounds_ended,
    spread_of_rounds,
)
from analysis.errors import ShapeError, UnknownValue
from analysis.types import FloatArray

N = np.nan
GOLD = [-1, 1, 0, N]
# Two rounds on four pairs; the last has no gold.
VERDICT = [[-1, -1], [1, -1], [0, N], [1, 1]]
ANSWERED = [[True, True], [True, True], [True, True], [True, True]]


def everything(sums: FloatArray) -> float:
    return float(mean_of_rounds(sums.sum(axis=0)))


def test_mean_of_rounds_by_hand() -> None:
    sums = round_sums(VERDICT, GOLD, ANSWERED)
    assert sums.sum(axis=0).tolist() == [[3, 3], [1, 3]]  # round 1: all right; round 2: the first; no verdict is wrong
    assert everything(sums) == pytest.approx((3 / 3 + 1 / 3) / 2)
    assert spread_of_rounds(sums) == pytest.approx(math.sqrt(2) / 3)  # |1 - 1/3| / sqrt(2)


def test_answers_without_a_verdict_are_wrong_or_left_out() -> None:
    assert parsed_round_sums(VERDICT, GOLD).sum(axis=0).tolist() == [[3, 3], [1, 2]]


def test_pairs_that_got_no_answer_are_left_out() -> None:
    answered = [[True, True], [True, True], [True, False], [True, True]]
    assert round_sums(VERDICT, GOLD, answered).sum(axis=0).tolist() == [[3, 3], [1, 2]]


def test_agreement_with_a_majority_by_hand() -> None:
    people = [[-1, -1, 1], [1, -1, N], [0, 0, N], [1, N, N]]  # A; shared; tie; B
    assert majority_round_sums(VERDICT, people).sum(axis=0).tolist() == [[3, 3], [2, 2]]


def test_round_without_answers_does_not_count() -> None:
    sums = np.array([[[1.0, 1.0], [0.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]])
    assert everything(sums) == 0.5
    assert math.isnan(spread_of_rounds(sums))


def test_nothing_has_no_mean_and_no_spread() -> None:
    assert math.isnan(everything(np.zeros((3, 2, 2))))
    assert math.isnan(everything(np.zeros((0, 5, 2))))
    assert math.isnan(spread_of_rounds(np.zeros((0, 5, 2))))


@pytest.mark.parametrize(
    ("ended", "found"),
    [
        pytest.param([[1, 1, 0], [1, 0, 0]], (1, 1), id="done-begun-open"),
        pytest.param([[1, 1], [1, 1]], (2, 0), id="all-done"),
        pytest.param(np.zeros((0, 3)), (0, 0), id="no-pairs"),
    ],
)
def test_round_is_done_when_all_of_it_has_ended(ended: object, found: tuple[int, int]) -> None:
    assert rounds_ended(ended) == found  # type: ignore[arg-type]


def test_rounds_are_counted_in_a_table_of_pairs_and_rounds() -> None:
    with pytest.raises(ShapeError):
        rounds_ended([True, False])


def test_difference_pairs_by_hand() -> None:
    one = round_sums([[-1, -1], [1, -1], [1, 1]], [-1, 1, 0], np.ones((3, 2), bool))  # 1, 1/2, 0
    reference = round_sums([[1], [1], [N]], [-1, 1, 0], [[True], [True], [False]])  # 0, 1, not answered
    assert difference_sums(one, reference).tolist() == [[1, 1], [-0.5, 1], [0, 0]]


@pytest.mark.parametrize(
    ("verdict", "gold", "answered", "error"),
    [
        pytest.param([[1, 1]], [1, 1], [[True, True]], ShapeError, id="golds"),
        pytest.param([1, 1], [1, 1], [True, True], ShapeError, id="rounds"),
        pytest.param([[1, 1]], [1], [[True]], ShapeError, id="answers"),
        pytest.param([[1, 1]], [1], [[True, False]], UnknownValue, id="verdict-without-answer"),
        pytest.param([[2, 1]], [1], [[True, True]], UnknownValue, id="verdict"),
    ],
)
def test_what_makes_no_sense_is_refused(verdict: object, gold: object, answered: object, error: type) -> None:
    with pytest.raises(error):
        round_sums(verdict, gold, answered)  # type: ignore[arg-type]


def test_difference_needs_the_same_pairs() -> None:
    with pytest.raises(ShapeError):
        difference_sums(np.zeros((2, 1, 2)), np.zeros((3, 1, 2)))


def plainly(verdict: FloatArray, gold: FloatArray) -> float:
    """Go through it round by round."""
    rounds = []
    for column in verdict.T:
        pairs = [(said, right) for said, right in zip(column, gold, strict=True) if not np.isnan(right)]
        if pairs:
            rounds.append(sum(said == right for said, right in pairs) / len(pairs))
    return sum(rounds) / len(rounds) if rounds else math.nan


verdicts = st.sampled_from([-1.0, 0.0, 1.0, N])
tables = st.tuples(st.integers(1, 8), st.integers(1, 5)).flatmap(
    lambda shape: st.tuples(arrays(float, shape, elements=verdicts), arrays(float, shape[0], elements=verdicts))
)


@given(tables)
def test_mean_of_rounds_is_what_a_plain_loop_finds(made: tuple[FloatArray, FloatArray]) -> None:
    verdict, gold = made
    found = everything(round_sums(verdict, gold, np.ones(verdict.shape, bool)))
    assert found == pytest.approx(plainly(verdict, gold), nan_ok=True)
    assert math.isnan(found) or 0 <= found <= 1


@pytest.mark.slow
@given(tables)
def test_order_of_pairs_and_of_rounds_and_the_sides_do_not_matter(
    made: tuple[FloatArray, FloatArray],
) -> None:
    verdict, gold = made
    plain = everything(round_sums(verdict, gold, np.ones(verdict.shape, bool)))
    pairs, rounds = np.random.default_rng(0).permutation(len(gold)), np.arange(verdict.shape[1])[::-1]
    turned = everything(round_sums(-verdict[pairs][:, rounds], -gold[pairs], np.ones(verdict.shape, bool)))
    assert turned == pytest.approx(plain, nan_ok=True)


@pytest.mark.slow
@given(tables, st.integers(0, 2**32 - 1))
def test_difference_is_that_of_the_means_where_everything_was_answered(
    made: tuple[FloatArray, FloatArray], seed: int
) -> None:
    verdict, gold = made
    other = np.random.default_rng(seed).choice([-1.0, 0.0, 1.0], size=(len(gold), 3))
    answered = np.ones(verdict.shape, bool)
    one, reference = round_sums(verdict, gold, answered), round_sums(other, gold, np.ones(other.shape, bool))
    above, below = difference_sums(one, reference).sum(axis=0)
    if below:
        assert above / below == pytest.approx(everything(one) - everything(reference))
        assert difference_sums(reference, one).sum(axis=0)[0] == pytest.approx(-above)
