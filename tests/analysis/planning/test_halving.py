"""Splits by instance, and rounds of successive halving within a budget."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import NotEnough, UnknownValue
from analysis.planning.halving import Round, halving_rounds, least_budget, split_instances


def test_rounds_by_hand():
    # A budget for everything is a grid.
    assert halving_rounds([2] * 10, 4, 80, least=5) == (Round(4, 10),)
    # Two rounds of 40 each: 4 candidates on 5 instances cost 4 * 5 * 2 = 40; then 2 on 10 more cost 2 * 10 * 2 = 40.
    assert halving_rounds([2] * 30, 4, 80, least=5) == (Round(4, 5), Round(2, 15))
    # Of uneven instances the first five cost 9 of 10 a candidate.
    assert halving_rounds([1, 2, 1, 3, 2, 4, 1, 1], 2, 20, least=5) == (Round(2, 5),)


@pytest.mark.slow
@given(
    st.lists(st.integers(1, 6), min_size=5, max_size=40), st.integers(2, 20), st.integers(1, 2000), st.integers(1, 5)
)
def test_plans_keep_the_budget_and_grow(costs, candidates, budget, least):
    needed = least_budget(costs, candidates, least=least)
    if budget < needed:
        with pytest.raises(NotEnough, match=f"too small for {candidates} candidates: {needed} is the least"):
            halving_rounds(costs, candidates, budget, least=least)
        return
    rounds = halving_rounds(costs, candidates, budget, least=least)
    spent, before = 0, 0
    for one in rounds:
        assert one.instances >= max(before, least)
        spent += one.candidates * sum(costs[before : one.instances])
        before = one.instances
    assert spent <= budget
    assert rounds[0].candidates == candidates
    assert [later.candidates for later in rounds[1:]] == [-(-one.candidates // 2) for one in rounds[:-1]] or len(
        rounds
    ) > 2


def test_a_split_uses_each_instance_once_and_depends_on_its_seed_alone():
    chosen, held = split_instances(11, 0.4, np.random.default_rng(3))
    assert (len(chosen), len(held)) == (7, 4)
    assert sorted([*chosen.tolist(), *held.tolist()]) == list(range(11))
    again = split_instances(11, 0.4, np.random.default_rng(3))
    np.testing.assert_equal(again[1], held)


def test_too_few_instances_or_candidates_and_splits_of_all_or_none_are_refused():
    with pytest.raises(NotEnough):
        halving_rounds([1] * 4, 2, 100, least=5)
    with pytest.raises(UnknownValue):
        halving_rounds([1] * 9, 1, 100, least=5)
    for share in (0.0, 1.0, -0.5, float("nan")):
        with pytest.raises(UnknownValue):
            split_instances(10, share, np.random.default_rng(0))
