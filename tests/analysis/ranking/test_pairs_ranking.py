"""PairS: rankings by merge sort with a rater as the comparator."""

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import UnknownValue
from analysis.ranking.pairs_ranking import (
    Rounds,
    all_pairs,
    merge_beam,
    merge_greedy,
    merge_rounds,
    pairs_beam,
    pairs_greedy,
    swiss,
)
from analysis.types import FloatArray

CASES = json.loads((Path(__file__).parent.parent.parent / "golden" / "pairs_cases.json").read_text(encoding="utf-8"))
RUNS = [(case["name"], case["p"], run) for case in CASES for run in case["runs"]]


@pytest.mark.parametrize(("name", "p", "run"), RUNS, ids=lambda value: value if isinstance(value, str) else "")
def test_golden_rankings_and_their_comparisons(name: str, p: list[list[float]], run: dict[str, Any]) -> None:
    compared: list[list[int]] = []

    def compare(i: int, j: int) -> float:
        compared.append([i, j])
        return p[i][j]

    if run["beam"] is None:
        found = pairs_greedy(compare, len(p), calibrate=run["calibrate"])
    else:
        size, gap = run["beam"]
        found = pairs_beam(compare, len(p), beam_size=size, prob_gap=gap, calibrate=run["calibrate"])
    assert found == run["ranking"]
    assert compared == run["compared"]


@pytest.mark.slow
@given(st.lists(st.integers(-50, 50), min_size=0, max_size=12, unique=True), st.integers(1, 4))
def test_a_comparator_without_contradictions_is_sorted_exactly(scores: list[int], beam_size: int) -> None:
    n, asked = len(scores), 0

    def compare(i: int, j: int) -> float:
        nonlocal asked
        asked += 1
        return 1 / (1 + math.exp(scores[j] - scores[i]))

    best_first = sorted(range(n), key=lambda item: -scores[item])
    assert pairs_greedy(compare, n) == best_first
    assert asked <= n * math.ceil(math.log2(max(n, 2)))
    assert pairs_beam(compare, n, beam_size=beam_size, prob_gap=0.0) == best_first
    asked = 0
    assert all_pairs(compare, n) == best_first
    assert asked == n * (n - 1) // 2
    asked = 0
    assert sorted(swiss(compare, n)) == list(range(n))
    assert asked <= n // 2 * math.ceil(math.log2(max(n, 1)))


def test_swiss_rounds_let_items_of_like_score_meet_once() -> None:
    met: list[frozenset[int]] = []

    def compare(i: int, j: int) -> float:
        met.append(frozenset((i, j)))
        return float(i < j)

    assert swiss(compare, 4) == [0, 1, 2, 3]
    # Round one: 0-1 and 2-3; round two: the winners 0-2, the losers 1-3.
    assert met == [frozenset(pair) for pair in ((0, 1), (2, 3), (0, 2), (1, 3))]
    met.clear()
    swiss(compare, 5, rounds=10)  # all that can meet have met
    assert len(met) == len(set(met)) == 10
    assert swiss(compare, 3, rounds=0) == [0, 1, 2]


def test_calibration_takes_out_a_preference_for_the_first_place() -> None:
    strengths = np.array([0.1, 0.4, 0.2, 0.3])

    def compare(i: int, j: int) -> float:  # always for the first, by more for the better item
        return float(0.7 + (strengths[i] - strengths[j]) / 2)

    assert pairs_greedy(compare, 4, calibrate=True) == [1, 3, 2, 0]
    assert pairs_greedy(compare, 4) != [1, 3, 2, 0]


def test_a_beam_can_undo_what_a_greedy_merge_gets_wrong() -> None:
    # Item 1 is nearly even with 2 and clearly better than 3; one weak answer misleads the greedy merge.
    p = np.array([[0.5, 0.1, 0.3, 0.45], [0.9, 0.5, 0.5, 0.99], [0.7, 0.5, 0.5, 0.05], [0.55, 0.01, 0.95, 0.5]])
    wide = pairs_beam(lambda i, j: float(p[i, j]), 4, beam_size=20, prob_gap=0.5)
    narrow = pairs_beam(lambda i, j: float(p[i, j]), 4, beam_size=1, prob_gap=0.0)
    assert narrow == pairs_greedy(lambda i, j: float(p[i, j]), 4)
    assert sorted(wide) == [0, 1, 2, 3]
    assert wide != narrow


def test_bad_input_is_refused() -> None:
    for answer in (1.5, math.nan):
        with pytest.raises(UnknownValue):
            pairs_greedy(lambda i, j, answer=answer: answer, 2)  # type: ignore[misc]
    with pytest.raises(UnknownValue):
        pairs_greedy(lambda i, j: 0.5, -1)
    with pytest.raises(UnknownValue):
        swiss(lambda i, j: 0.5, 2, rounds=-1)
    for beam_size, prob_gap in ((0, 0.1), (1, math.nan)):
        with pytest.raises(UnknownValue):
            pairs_beam(lambda i, j: 0.5, 2, beam_size=beam_size, prob_gap=prob_gap)


def _played(rounds: Rounds, table: FloatArray, asked: list[list[tuple[int, int]]]) -> list[int]:
    try:
        asked.append(next(rounds))
        while True:
            asked.append(rounds.send([float(table[pair]) for pair in asked[-1]]))
    except StopIteration as done:
        ranking: list[int] = done.value
        return ranking


@given(st.integers(0, 17), st.integers(0, 10_000))
def test_merges_side_by_side_give_the_ranking_of_one_after_another(n: int, seed: int) -> None:
    table = np.random.default_rng(seed).random((n, n))
    for merge, alone in (
        (merge_greedy, pairs_greedy),
        (partial(merge_beam, beam_size=3, prob_gap=0.2), partial(pairs_beam, beam_size=3, prob_gap=0.2)),
    ):
        one_by_one: list[tuple[int, int]] = []

        def compare(i: int, j: int, log: list[tuple[int, int]] = one_by_one) -> float:
            log.append((i, j))
            return float(table[i, j])

        ranking = alone(compare, n)
        asked: list[list[tuple[int, int]]] = []
        assert _played(merge_rounds(n, merge), table, asked) == ranking
        assert all(len({item for pair in pairs for item in pair}) == 2 * len(pairs) for pairs in asked)
        assert sorted(pair for pairs in asked for pair in pairs) == sorted(one_by_one)
        if n > 3:
            assert len(asked) < len(one_by_one)
