"""Designs over several systems: balance, connectedness, seeds, neighbours, and which pair comes next."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import NotEnough, ShapeError, UnknownValue
from analysis.planning.designs import balanced_design, neighbour_design, settled_places

NAN = np.nan


def all_pairs(systems):
    return np.array(list(combinations(range(systems), 2)), dtype=np.int64).reshape(-1, 2)


def balanced(instances, systems, per_instance, seed=0):
    pairs = all_pairs(systems)
    has = np.ones((instances, len(pairs)), dtype=bool)
    return balanced_design(has, pairs, per_instance, np.random.default_rng(seed)), pairs


def parts_connected(pairs, systems):
    """Numbers of systems that pairs connect with the first one, by walking from it."""
    reached, grown = set(), {0}
    while grown != reached:
        reached = grown
        grown = reached | {other for pair in pairs for other in pair if reached & set(pair)}
    return len(reached)


@pytest.mark.slow
@given(st.integers(0, 30), st.integers(3, 7), st.integers(1, 25), st.integers(0, 5))
def test_pairs_are_used_equally_often_and_connect_the_systems(instances, systems, per_instance, seed):
    chosen, pairs = balanced(instances, systems, per_instance, seed)
    uses = chosen.sum(axis=0)

    assert (chosen.sum(axis=1) == min(per_instance, len(pairs))).all()
    assert uses.max(initial=0) - uses.min(initial=uses.max(initial=0)) <= 1
    if chosen.sum() >= systems - 1:
        assert parts_connected(pairs[uses > 0].tolist(), systems) == systems


@given(st.integers(1, 40), st.integers(3, 7), st.integers(0, 5))
def test_systems_are_used_about_equally_often(instances, systems, seed):
    chosen, pairs = balanced(instances, systems, 2, seed)
    uses = np.bincount(pairs[np.nonzero(chosen)[1]].ravel(), minlength=systems)
    assert uses.max() - uses.min() <= 3
    if chosen.sum() % len(pairs) == 0:
        assert uses.max() == uses.min()


@given(st.integers(0, 2**31), st.integers(1, 4))
def test_an_instance_gets_only_pairs_that_it_has(seed, per_instance):
    rng = np.random.default_rng(seed)
    pairs, has = all_pairs(4), rng.random((8, 6)) < 0.5
    chosen = balanced_design(has, pairs, per_instance, rng)
    assert not (chosen & ~has).any()
    np.testing.assert_array_equal(chosen.sum(axis=1), np.minimum(has.sum(axis=1), per_instance))


def test_neighbours_meet_on_every_other_instance():
    # The ranking 2 > 0 > 3 > 1: first 2-0 and 3-1, then 0-3, and so on.
    pairs = all_pairs(4)
    chosen = neighbour_design(np.ones((3, 6), dtype=bool), pairs, [2, 0, 3, 1])
    met = [{tuple(pair) for pair in pairs[row].tolist()} for row in chosen]
    assert met == [{(0, 2), (1, 3)}, {(0, 3)}, {(0, 2), (1, 3)}]
    assert neighbour_design(np.ones((3, 1), dtype=bool), [[0, 1]], [1, 0]).all()


@given(st.permutations(range(6)), st.integers(2, 9))
def test_no_system_meets_twice_on_an_instance_and_all_neighbours_meet(order, instances):
    pairs = all_pairs(6)
    chosen = neighbour_design(np.ones((instances, 15), dtype=bool), pairs, order)
    assert all(np.bincount(pairs[row].ravel(), minlength=6).max() == 1 for row in chosen)
    met = {frozenset(pair) for pair in pairs[chosen.any(axis=0)].tolist()}
    assert met == {frozenset(order[place : place + 2]) for place in range(5)}


def test_bad_designs_are_refused():
    has = np.ones((2, 3), dtype=bool)
    with pytest.raises(NotEnough):
        balanced(2, 3, 0)
    with pytest.raises(ShapeError):
        neighbour_design(has, [[0, 1]], [0, 1])
    for pairs, message in (([[0, 1], [1, 0], [0, 2]], "twice"), ([[0, 0], [0, 1], [1, 2]], "two systems")):
        with pytest.raises(UnknownValue, match=message):
            balanced_design(has, pairs, 1, np.random.default_rng(0))
    with pytest.raises(UnknownValue):
        neighbour_design(has, all_pairs(3), [0, 1])


def test_places_are_settled_from_the_first_on():
    assert settled_places([1, 2, 3], [1, 2, 3]) == 3
    assert settled_places([1, 2, 2, 4], [1, 3, 3, 4]) == 1  # the fourth is sure, but the second is not
    assert settled_places([1, 1], [2, 2]) == 0
    assert settled_places([0, 1], [0, 1]) == 1
    assert settled_places([], []) == 0


@pytest.mark.parametrize("systems", [5, 6, 7, 8])
def test_one_comparison_fewer_than_systems_connects_them(systems):
    for seed in range(10):
        chosen, pairs = balanced(systems - 1, systems, 1, seed)
        assert parts_connected(pairs[np.nonzero(chosen)[1]].tolist(), systems) == systems
    np.testing.assert_array_equal(chosen, balanced(systems - 1, systems, 1, seed)[0])
    assert (chosen != balanced(systems - 1, systems, 1, seed + 1)[0]).any()
