"""Transitivity, commutativity and negation invariance among several items."""

import json
from itertools import combinations, product
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from analysis.errors import ShapeError, UnknownValue
from analysis.logic.preferences import commutativity, commutativity_sums, negation_invariance, preference_graph
from analysis.logic.transitivity import (
    acyclic_counts,
    coin_transitivity,
    complete_set_sums,
    cyclic_triples,
    transitivity,
    transitivity_curve,
)

CASES = json.loads((Path(__file__).parent.parent.parent / "golden" / "logic_cases.json").read_text(encoding="utf-8"))
NAN = np.nan
graphs = st.integers(3, 7).flatmap(lambda n: hnp.arrays(bool, (n, n)))


def graph_of(case: dict[str, Any]) -> np.ndarray:
    graph = np.zeros((case["n"], case["n"]), dtype=bool)
    for better, worse in case["edges"]:
        graph[better, worse] = True
    return graph


def has_cycle(graph: np.ndarray) -> bool:
    """Walk every path: slow, and unlike the way under test."""

    def reaches(start: int, here: int, seen: frozenset[int]) -> bool:
        return any(
            other == start or (other not in seen and reaches(start, other, seen | {other}))
            for other in np.flatnonzero(graph[here]).tolist()
            if other != here
        )

    return any(reaches(item, item, frozenset([item])) for item in range(len(graph)))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_golden_preferences(case: dict[str, Any]) -> None:
    graph = graph_of(case)
    if "p" in case:
        assert (preference_graph(case["p"]) == graph).all()
        assert commutativity(case["p"]) == pytest.approx(case["commutativity"], abs=1e-12)
    if "q" in case:
        assert negation_invariance(case["p"], case["q"]) == pytest.approx(case["negation_invariance"], abs=1e-12)
    for size, value in case["transitivity"].items():
        assert transitivity(graph, int(size)) == pytest.approx(value, abs=1e-12)
        if "p" in case:  # each pair was judged, so that every set is complete
            acyclic, complete = complete_set_sums(graph, [int(size)])[0]
            assert acyclic / complete == pytest.approx(value, abs=1e-12)


@pytest.mark.slow
@given(graphs)
def test_transitivity_is_the_share_of_sets_without_a_cycle(graph: np.ndarray) -> None:
    n = len(graph)
    for k in range(3, n + 1):
        sets = list(combinations(range(n), k))
        expected = sum(not has_cycle(graph[np.ix_(one, one)]) for one in sets) / len(sets)
        assert transitivity(graph, k) == pytest.approx(expected, abs=1e-12)
    triples = cyclic_triples(graph & ~graph.T)
    assert len(triples) == sum(has_cycle((graph & ~graph.T)[np.ix_(t, t)]) for t in combinations(range(n), 3))


@pytest.mark.slow
def test_a_stack_is_as_its_instances_one_by_one_across_blocks_of_64() -> None:
    stack = preference_graph(np.random.default_rng(3).random((130, 6, 6)))
    together = transitivity_curve(stack, [3, 4, 6])
    assert together.shape == (130, 3)
    assert together.tolist() == [[float(transitivity(one, k)) for k in (3, 4, 6)] for one in stack]
    assert acyclic_counts(stack, 2)[:, 2].tolist() == [15] * 130  # of two items none can form a cycle


def test_more_than_16_items_are_exact_where_all_sets_fit_and_sampled_where_not() -> None:
    graph = preference_graph(np.random.default_rng(5).random((20, 20)))
    sets = [not has_cycle(graph[np.ix_(one, one)]) for one in combinations(range(20), 3)]
    assert transitivity(graph, 3) == pytest.approx(np.mean(sets), abs=1e-12)
    rng = np.random.default_rng
    sampled = [float(transitivity(graph, 3, max_subsets=400, rng=rng(seed))) for seed in (1, 1, 2)]
    assert sampled[0] == sampled[1] != sampled[2]
    assert sampled[0] == pytest.approx(np.mean(sets), abs=5 * 0.5 / 20)
    assert (sampled[0] * 400).is_integer()
    assert (transitivity(graph, 9, rng=rng(1)) * 1000).is_integer()  # the paper's 1,000 sets


def coin_graph(rng: np.random.Generator, n: int, share: float) -> np.ndarray:
    """Let a coin decide a share of the pairs."""
    upper = np.triu(rng.random((n, n)) < share, 1)
    heads = rng.random((n, n)) < 0.5
    return (upper & heads) | (upper & ~heads).T


@pytest.mark.slow
@pytest.mark.parametrize("n", [7, 17])
def test_complete_sets_are_those_of_a_slow_search(n: int) -> None:
    rng = np.random.default_rng(n)
    graphs = np.stack([coin_graph(rng, n, 0.8) for _ in range(3)])
    for graph, sums in zip(graphs, complete_set_sums(graphs, [3, 4]), strict=True):
        linked = graph | graph.T
        for k, found in zip([3, 4], sums.tolist(), strict=True):
            sets = [
                items for items in combinations(range(n), k) if all(linked[i, j] for i, j in combinations(items, 2))
            ]
            acyclic = sum(not has_cycle(graph[np.ix_(items, items)]) for items in sets)
            assert found == [acyclic, len(sets)]
            assert sets


@pytest.mark.parametrize("k", [3, 4])
def test_a_coin_has_the_share_of_all_graphs(k: int) -> None:
    pairs = np.triu_indices(k, 1)
    graphs = np.zeros((2 ** len(pairs[0]), k, k), dtype=bool)
    for graph, heads in zip(graphs, product([False, True], repeat=len(pairs[0])), strict=True):
        graph[pairs] = heads
        graph[pairs[::-1]] = ~np.array(heads)
    assert transitivity(graphs, k).mean() == coin_transitivity(k)


def test_many_sets_are_sampled_and_none_has_no_share() -> None:
    order, circle = np.triu(np.ones((60, 60), dtype=bool), 1), np.roll(np.eye(5, dtype=bool), 1, axis=1)
    assert transitivity(order, 10) == 1
    assert transitivity_curve(circle, [3, 4, 5]).tolist() == [1, 1, 0]
    assert cyclic_triples(np.roll(np.eye(3, dtype=bool), 1, axis=1)).tolist() == [[0, 1, 2]]
    assert complete_set_sums(order, [3, 8]).tolist() == [[comb(60, 3)] * 2, [1000] * 2]
    triples = np.kron(np.eye(20, dtype=bool), np.ones((3, 3), dtype=bool))  # nothing across
    assert complete_set_sums(np.triu(triples, 1), [3, 4]).tolist() == [[20, 20], [0, 0]]
    tied = np.triu(triples, 1)
    tied[0, 1] = False
    assert complete_set_sums(tied, [3]).tolist() == [[19, 19]]


def test_fewer_items_than_k_have_no_transitivity() -> None:
    for n in (0, 1, 3):
        assert np.isnan(transitivity(np.zeros((n, n), dtype=bool), 4))
        assert np.isnan(transitivity(np.zeros((2, n, n), dtype=bool), 4)).tolist() == [True, True]
    assert transitivity(np.zeros((0, 5, 5), dtype=bool), 3).shape == (0,)


def test_pairs_asked_in_one_order_are_left_out() -> None:
    p = [[0.5, 0.9, 0.2], [0.1, 0.5, NAN], [0.9, 0.3, 0.5]]
    assert commutativity_sums(p).tolist() == [2, 2]
    p[2][0] = 0.1  # now each time the one shown second
    assert commutativity_sums(p).tolist() == [1, 2]
    assert preference_graph(p).tolist() == [[False, True, False], [False, False, False], [True, False, False]]
    assert np.isnan(commutativity(np.full((3, 3), NAN)))


def test_ties_are_no_edge_and_commute_with_ties_only() -> None:
    p, ties = np.full((2, 2), 0.9), np.array([[False, True], [True, False]])
    assert not preference_graph(p, ties=ties).any()
    assert commutativity(p, ties=ties) == 1
    ties[1, 0] = False
    assert commutativity(p, ties=ties) == 0
    assert not preference_graph(p, ties=ties, both_orders=True).any()


def test_the_mean_of_both_orders_takes_out_a_preference_for_the_first_place() -> None:
    p = np.array([[0.5, 0.6], [0.9, 0.5]])  # by the mean item 1 is preferred: (0.6 + 1 - 0.9) / 2 = 0.35
    assert preference_graph(p).tolist() == [[False, True], [False, False]]
    assert preference_graph(p, both_orders=True).tolist() == [[False, False], [True, False]]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        pytest.param(lambda: transitivity(np.zeros((2, 3), dtype=bool), 3), ShapeError, id="not-square"),
        pytest.param(lambda: transitivity(np.full((3, 3), 0.9), 3), UnknownValue, id="no-graph"),
        pytest.param(lambda: transitivity(np.zeros((4, 4), dtype=bool), 2), UnknownValue, id="sets-of-two"),
        pytest.param(lambda: transitivity(np.zeros((4, 4), dtype=bool), 63), UnknownValue, id="sets-of-too-many"),
        pytest.param(
            lambda: transitivity(np.zeros((4, 4), dtype=bool), 3, max_subsets=0), UnknownValue, id="no-subsets"
        ),
        pytest.param(lambda: complete_set_sums(np.ones((3, 3), dtype=bool), [3]), UnknownValue, id="both-ways"),
        pytest.param(lambda: commutativity([[0.5, 1.5], [0.5, 0.5]]), UnknownValue, id="no-probability"),
        pytest.param(lambda: negation_invariance(np.full((2, 2), 0.5), np.full((3, 3), 0.5)), ShapeError, id="shapes"),
    ],
)
def test_bad_input_is_refused(call, error) -> None:
    with pytest.raises(error):
        call()


def test_negations_of_stacks_of_stacks_are_those_of_each() -> None:
    plain, negated = np.random.default_rng(1).random((2, 2, 3, 4, 4))
    each = [
        [negation_invariance(p, q) for p, q in zip(*rows, strict=True)] for rows in zip(plain, negated, strict=True)
    ]
    np.testing.assert_allclose(negation_invariance(plain, negated), each)
