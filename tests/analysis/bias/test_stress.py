"""Verdicts that turn, and units on which all agree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.bias.stress import TURNS, turn_sums, unanimity
from analysis.errors import ShapeError

NAN = np.nan
verdicts = st.sampled_from([-1.0, 0.0, 1.0, NAN])
both = st.lists(st.tuples(verdicts, verdicts), max_size=20).map(
    lambda rows: np.array(rows, dtype=float).reshape(-1, 2).T
)


def test_turns_by_hand() -> None:
    # Kept, towards from the other, towards from a tie, away, to a tie, and two without a verdict on one side.
    found = turn_sums([1, -1, 0, 1, -1, NAN, 1], [1, 1, 1, -1, 0, 1, NAN])
    sums = {name: rows.sum(axis=0).tolist() for name, rows in found.items()}
    assert sums == {"turned": [4, 5], "towards": [2, 5], "away": [1, 5], "to_tie": [1, 5]}
    assert turn_sums([], [])["turned"].shape == (0, 2)


def test_two_lengths_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"\(1,\), \(2,\)"):
        turn_sums([1], [1, 0])


@given(both)
def test_what_verdicts_turn_to_adds_up_and_other_sides_mirror_it(rows: np.ndarray) -> None:
    found, turned_round = turn_sums(*rows), turn_sums(*-rows)
    parts = sum(found[name][:, 0] for name in TURNS[1:])
    assert np.array_equal(parts, found["turned"][:, 0])
    assert all(np.all(found[name][:, 0] <= found[name][:, 1]) for name in TURNS)
    assert np.array_equal(found["towards"], turned_round["away"])
    assert np.array_equal(found["to_tie"], turned_round["to_tie"])


def test_unanimity_by_hand() -> None:
    # Unit 0: 1, 1; unit 1: 1, 0; unit 2: one vote beside a missing one; unit 3: none.
    unit = np.array([0, 0, 1, 1, 2, 2])
    assert np.array_equal(unanimity(unit, [1, 1, 1, 0, -1, NAN], 4), [1, 0, NAN, NAN], equal_nan=True)


@given(st.lists(st.tuples(st.integers(0, 4), verdicts), max_size=30))
def test_unanimity_as_a_plain_loop_has_it(rows: list[tuple[int, float]]) -> None:
    unit, verdict = np.array([one for one, _ in rows], dtype=np.int64), [value for _, value in rows]
    for place, found in enumerate(unanimity(unit, verdict, 5)):
        votes = [value for one, value in rows if one == place and not np.isnan(value)]
        assert np.isnan(found) if len(votes) < 2 else found == (len(set(votes)) == 1)
