"""Components of connected systems, and circles of systems that beat each other."""

import numpy as np

from analysis.ranking.comparisons import WinMatrix
from analysis.types import BoolArray, IntArray

UNMET = -1  # component of a system without a comparison


def components(matrix: WinMatrix) -> IntArray:
    """The lowest code of the systems that comparisons connect with each one, directly or through others.

    returns : (..., n); -1 for a system without a comparison. Scores of systems with unlike numbers don't compare
    """
    played = matrix.played > 0
    n = played.shape[-1]
    lowest: IntArray = np.where(reachable(played), np.arange(n), n).min(axis=-1, initial=n)
    return np.where(played.any(axis=-1), lowest, UNMET)


def preference_cycles(matrix: WinMatrix) -> tuple[tuple[int, ...], ...]:
    """Sets of systems that no order by majority fits: each beats every other of its set, directly or through others.

    One system beats another if it has more than half of the points of their comparisons; an even score is no edge.

    matrix  : that of one round, (n, n)
    returns : the sets in ascending order, each ascending; none where the majorities form no cycle
    source  : Kendall and Babington Smith 1940, On the method of paired comparisons; the sets are the strong components
              of the majority graph (Moon 1968, Topics on Tournaments, §2)
    """
    beats = matrix.won > matrix.won.T  # ties give both sides half, and decide nothing
    path = reachable(beats)
    together = path & path.T
    sets = {tuple(np.flatnonzero(row).tolist()) for row in together}
    return tuple(sorted(component for component in sets if len(component) > 1))


def reachable(edges: BoolArray) -> BoolArray:
    """(..., n, n) whether a path leads from the row's node to the column's. Every node reaches itself."""
    n = edges.shape[-1]
    path: BoolArray = edges | np.eye(n, dtype=bool)
    for _ in range(n.bit_length()):  # paths of twice the length each time
        steps = path.astype(np.float32)
        path = steps @ steps > 0
    return path
