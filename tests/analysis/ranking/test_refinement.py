"""REPAIR: the ranking of noisy preferences, and what it implies."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import ShapeError, UnknownValue
from analysis.logic.transitivity import transitivity
from analysis.ranking.bradley_terry import bradley_terry
from analysis.ranking.refinement import augment, connected_items, ranking_levels, repair, win_loss_rate

CASES = json.loads((Path(__file__).parent.parent.parent / "golden" / "repair_cases.json").read_text(encoding="utf-8"))
METHODS = ["win_loss", "elo", "bradley_terry"]
preferences = st.lists(st.permutations(range(7)).map(lambda order: order[:2]), min_size=1, max_size=25)


def columns(pairs: list[list[int]]) -> tuple[list[int], list[int]]:
    return [better for better, _ in pairs], [worse for _, worse in pairs]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_golden_repair(case: dict[str, Any]) -> None:
    given_pairs, n = case["given"], case["n"]
    won, lost = columns(given_pairs)
    rates = win_loss_rate(won, lost, n_items=n)
    assert rates == pytest.approx(case["rates"], abs=1e-12)
    levels = ranking_levels(rates)
    assert levels == case["levels"]
    assert augment(levels).tolist() == case["augmented"]
    component = connected_items(won, lost, n_items=n)
    assert augment(levels, component=component).tolist() == case["within_components"]
    found = repair(won, lost, n_items=n)
    assert sorted(found.pairs.tolist()) == sorted(case["within_components"])
    by_outcome = {
        kind: sorted(pair for pair, one in zip(given_pairs, found.outcome.tolist(), strict=True) if one == kind)
        for kind in (-1, 0, 1)
    }
    assert by_outcome[-1] == sorted(case["reversed"])
    assert by_outcome[0] == sorted(case["dropped"])


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@given(preferences)
def test_a_repaired_set_has_no_cycle_and_each_pair_once(method: Any, pairs: list[list[int]]) -> None:
    won, lost = columns(pairs)
    found = repair(won, lost, n_items=7, method=method)
    graph = np.zeros((7, 7), dtype=bool)
    graph[found.pairs[:, 0], found.pairs[:, 1]] = True
    assert graph.sum() == len(found.pairs)
    assert not (graph & graph.T).any()
    assert all(transitivity(graph, k) == 1 for k in range(3, 8))
    known = {frozenset(pair) for pair in pairs}
    assert found.added.tolist() == [frozenset(pair) not in known for pair in found.pairs.tolist()]
    assert (found.component[found.pairs[:, 0]] == found.component[found.pairs[:, 1]]).all()


@pytest.mark.parametrize("method", METHODS)
def test_instances_side_by_side_are_repaired_as_each_alone(method: Any) -> None:
    rng = np.random.default_rng(8)
    parts = [np.array([rng.permutation(size)[:2] for _ in range(9)]) for size in (3, 5, 5, 4)]
    starts = np.cumsum([0, 3, 5, 5, 4])
    together = np.concatenate([part + start for part, start in zip(parts, starts[:-1], strict=True)])
    found = repair(together[:, 0], together[:, 1], n_items=int(starts[-1]), method=method)
    alone = [
        pair
        for part, start, stop in zip(parts, starts[:-1], starts[1:], strict=True)
        for pair in (repair(part[:, 0], part[:, 1], n_items=int(stop - start), method=method).pairs + start).tolist()
    ]
    assert sorted(found.pairs.tolist()) == sorted(alone)


def test_a_tie_counts_as_a_comparison_and_connects_nothing() -> None:
    # Item 0 won one of two comparisons, item 2 has a tie alone.
    rates = win_loss_rate([0], [1], n_items=4, ties=[[0, 2]])
    assert rates[:3].tolist() == [0.5, -1, 0]
    assert np.isnan(rates[3])
    found = repair([0], [1], n_items=4, ties=[[0, 2]])
    assert found.pairs.tolist() == [[0, 1]]
    assert found.component.tolist() == [0, 0, 2, 3]
    assert repair([0, 1], [1, 0], n_items=3, ties=[[0, 2]]).added.size == 0


def test_a_noisy_order_is_found_again_by_every_method() -> None:
    rng = np.random.default_rng(4)
    better, worse = np.triu_indices(10, 1)
    flipped = rng.random(len(better)) < 0.1
    won, lost = np.where(flipped, worse, better), np.where(flipped, better, worse)
    for method in METHODS:
        found = repair(won, lost, n_items=10, method=method)
        assert (found.pairs[:, 0] < found.pairs[:, 1]).mean() > 0.9
        assert (found.outcome == -1).sum() > 0


def test_elo_takes_its_orders_from_the_generator() -> None:
    won, lost = [0, 1, 2, 0], [1, 2, 0, 3]
    scores = [
        repair(won, lost, n_items=4, method="elo", rng=np.random.default_rng(seed)).scores.tolist()
        for seed in (1, 1, 2)
    ]
    assert scores[0] == scores[1] != scores[2]


def test_no_preference_gives_none() -> None:
    found = repair([], [], n_items=3)
    assert found.pairs.shape == (0, 2)
    assert np.isnan(found.scores).all()
    assert ranking_levels([np.nan]) == []


def test_scores_within_the_tolerance_of_the_best_share_a_level() -> None:
    assert ranking_levels([3.0, 2.1, 1.2], tolerance=1.0) == [[0, 1], [2]]
    assert ranking_levels([1.0, 0.5, 0.25], tolerance=0.5) == [[0, 1], [2]]  # by just as much


def test_bad_input_is_refused() -> None:
    with pytest.raises(UnknownValue):
        win_loss_rate([0, 1], [1, 1], n_items=2)
    with pytest.raises(UnknownValue):
        repair([0], [2], n_items=2)
    with pytest.raises(ShapeError):
        repair([0, 1], [1], n_items=2)
    with pytest.raises(ShapeError):
        win_loss_rate([0], [1], n_items=2, ties=[0, 1])
    with pytest.raises(UnknownValue):
        augment([[0], [0, 1]])
    with pytest.raises(UnknownValue):
        repair([0], [1], n_items=2, method="best")  # type: ignore[arg-type]


def test_bradley_terry_counts_each_tie_once_and_for_both() -> None:
    won, lost, ties = [0, 0, 1, 1, 2, 0], [1, 1, 0, 2, 1, 2], [[0, 2], [2, 1]]
    found = repair(won, lost, n_items=3, ties=ties, method="bradley_terry").scores
    a, b = [*won, 0, 2], [*lost, 2, 1]
    fitted = bradley_terry(a, b, [1.0] * 6 + [0.5] * 2, n_systems=3).strengths
    np.testing.assert_allclose(found, fitted, atol=1e-9)
