"""Transitivity of many instances beside a search for cycles in sampled sets, and the repair of a million preferences."""

import resource
import time
from collections.abc import Callable

import numpy as np

from analysis.logic.preferences import preference_graph
from analysis.logic.transitivity import transitivity, transitivity_curve
from analysis.ranking.refinement import repair
from analysis.types import BoolArray

INSTANCES, ITEMS = 100, 16
SIZES = range(3, 11)
SAMPLED = 1000
LARGE, LARGE_SIZE, LARGE_INSTANCES = 60, 10, 20
PREFERENCES, GROUPS, GROUP = 1_000_000, 100_000, 8
TURNS = 3  # ours and the search alternate, so that a slow moment of the machine slows both


def main() -> None:
    """Time ours and the published way on the same graphs, and print the ratios."""
    rng = np.random.default_rng(1)
    graphs = preference_graph(rng.random((INSTANCES, ITEMS, ITEMS)))
    ours, theirs = [], []
    for _ in range(TURNS):
        ours.append(_seconds(lambda: transitivity_curve(graphs, SIZES)))
        theirs.append(_seconds(lambda: [searched(graph, k) for graph in graphs for k in SIZES]))
    exact, sampled = min(ours), min(theirs)
    print(f"transitivity of {INSTANCES} instances of {ITEMS} items, K = {SIZES[0]} to {SIZES[-1]}")
    print(f"  exact, all sets: {exact:.3f} s; cycle search in {SAMPLED} sampled sets each: {sampled:.1f} s")
    print(f"  ratio 1/{sampled / exact:.0f} (at most 1/30 wanted)")
    large = preference_graph(rng.random((LARGE_INSTANCES, LARGE, LARGE)))
    alone = min(_seconds(lambda: [transitivity(one, LARGE_SIZE) for one in large]) for _ in range(TURNS))
    together = min(_seconds(lambda: transitivity(large, LARGE_SIZE)) for _ in range(TURNS))
    print(f"transitivity of {LARGE_SIZE} out of {LARGE} items, {SAMPLED} sampled sets, an instance:")
    print(
        f"  {alone / len(large) * 1000:.1f} ms one by one, {together / len(large) * 1000:.1f} ms together (under 10 wanted)"
    )
    instance = rng.integers(0, GROUPS, PREFERENCES) * GROUP
    won = rng.integers(0, GROUP, PREFERENCES)
    lost = (won + rng.integers(1, GROUP, PREFERENCES)) % GROUP
    took = _seconds(lambda: repair(instance + won, instance + lost, n_items=GROUPS * GROUP))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"repair of {PREFERENCES:,} preferences over {GROUPS:,} instances: {took:.1f} s (under 10 wanted)")
    print(f"largest memory of the process: {peak:.0f} MB")


def searched(graph: BoolArray, k: int) -> float:
    """Share of sampled sets in which a depth-first search, from every item in turn, meets no cycle."""
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(SAMPLED):
        items = rng.choice(len(graph), size=k, replace=False)
        among = graph[np.ix_(items, items)]
        found += not _has_cycle([np.flatnonzero(row).tolist() for row in among])
    return found / SAMPLED


def _has_cycle(after: list[list[int]]) -> bool:
    done: set[int] = set()
    path: set[int] = set()

    def visit(item: int) -> bool:
        if item in path:
            return True
        if item in done:
            return False
        path.add(item)
        if any(visit(other) for other in after[item]):
            return True
        path.remove(item)
        done.add(item)
        return False

    return any(visit(item) for item in range(len(after)))


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()  # others may load the machine
    work()
    return time.process_time() - start
