"""The repair of a study's preferences, and what it changed."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.bootstrap import ratio
from analysis.logic import transitivity
from analysis.refinement import Method, Repaired, repair
from analysis.types import BoolArray, FloatArray, IntArray
from reporting.logic.preferences import Preferences

SIZES = (3, 4, 5)  # K of the transitivity


@dataclass(frozen=True, eq=False)
class RepairedStudy:
    """A study's preferences, and what their ranking implies."""

    given: Preferences
    found: Repaired
    method: Method

    has_margins = True

    @property
    def how(self) -> str:
        """Say how the pairs were made, for the card of a data set."""
        preferences = int(self.given.decided.sum())
        return (
            f"They were implied by a ranking of each\ninstance's texts, which {preferences} preferences gave "
            f"(REPAIR of Liu et al. 2024, *Aligning with Logic*; scores: {self.method})."
        )

    @property
    def scores(self) -> FloatArray:
        """(n_items,) by which they are ranked."""
        return self.found.scores

    @property
    def pairs(self) -> IntArray:
        """(m, 2) items, the better one first, by instance."""
        return self.found.pairs[np.argsort(self.given.instance[self.found.pairs[:, 0]], kind="stable")]


def repair_study(given: Preferences, *, method: Method = "win_loss", seed: int = 0) -> RepairedStudy:
    """Rank the texts of each instance and imply preferences; `seed` draws the orders of Elo."""
    found = repair(
        given.winners,
        given.losers,
        n_items=len(given.generation),
        ties=given.ties,
        method=method,
        rng=np.random.default_rng(seed),
    )
    return RepairedStudy(given, found, method)


def report(one: RepairedStudy) -> dict[str, Any]:
    """Count what was given, reversed, dropped and added, with transitivity and commutativity before and after."""
    given, outcome = one.given, one.found.outcome
    before = _majorities(given)
    after = np.column_stack([one.pairs, np.ones(len(one.pairs), dtype=np.int64)])
    same = _same_in_both_orders(given)
    return {
        "method": one.method,
        "equal_within": one.found.tolerance,
        "instances": len(given.instances),
        "texts": len(given.generation),
        "verdicts": len(given),
        "verdicts_missing": given.missing,
        "ties": int((~given.decided).sum()),
        "preferences": int(given.decided.sum()),
        "kept": int((outcome == 1).sum()),
        "reversed": int((outcome == -1).sum()),
        "dropped_as_equal": int((outcome == 0).sum()),
        "pairs": len(one.pairs),
        "added": int(one.found.added.sum()),
        "transitivity": {str(k): {"before": _mean(given, before, k), "after": _mean(given, after, k)} for k in SIZES},
        "commutativity": {
            "before": _value(same, "no pair has verdicts in both orders that are no ties"),
            "after": {"value": 1.0 if len(one.pairs) else None, "n": len(one.pairs), "of": "pairs"}
            | ({} if len(one.pairs) else {"why": "no pair"}),
        },
    }


def _majorities(given: Preferences) -> IntArray:
    """(m, 3) of two items, the lower first, and whether most verdicts prefer the first (1) or the second (-1)."""
    pairs, balance = _balance(given, np.ones(len(given), dtype=bool))
    found: IntArray = np.column_stack([pairs, np.sign(balance)])[balance != 0]
    return found


def _balance(given: Preferences, counted: BoolArray) -> tuple[IntArray, IntArray]:
    """Return all pairs of items that have a verdict, the lower one first, and verdicts for it less those for the other."""
    low, high = np.minimum(given.first, given.second), np.maximum(given.first, given.second)
    for_low = np.where(given.first == low, -given.verdict, given.verdict) * counted
    pairs, row = np.unique(np.stack([low, high], axis=1), axis=0, return_inverse=True)
    return pairs, np.bincount(row, weights=for_low, minlength=len(pairs)).astype(np.int64)


def _mean(given: Preferences, preferred: IntArray, k: int) -> dict[str, Any]:
    """Mean transitivity of the instances with at least k texts that were compared."""
    values = _by_instance(given, preferred, k)
    return _value(np.stack([values, np.ones(len(values))], axis=1), f"no instance has {k} texts", "instances")


def _by_instance(given: Preferences, preferred: IntArray, k: int) -> FloatArray:
    """s_tran(k) of each instance with at least k texts; instances with equally many are computed together."""
    sizes = np.bincount(given.instance, minlength=len(given.instances))
    place = np.arange(len(given.instance)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    better = np.where(preferred[:, 2] > 0, preferred[:, 0], preferred[:, 1])
    worse = np.where(preferred[:, 2] > 0, preferred[:, 1], preferred[:, 0])
    found = []
    for size in np.unique(sizes[sizes >= k]).tolist():
        row = np.cumsum(sizes == size) - 1
        here = sizes[given.instance[better]] == size
        graph: BoolArray = np.zeros((int((sizes == size).sum()), size, size), dtype=bool)
        graph[row[given.instance[better[here]]], place[better[here]], place[worse[here]]] = True
        found.append(np.atleast_1d(transitivity(graph, k)))
    return np.concatenate([np.zeros(0), *found])


def _same_in_both_orders(given: Preferences) -> FloatArray:
    """(m, 2) of each pair with a majority in both orders: whether they name the same text, and 1."""
    low_first = given.first < given.second
    one, other = (np.sign(_balance(given, chosen)[1]) for chosen in (low_first, ~low_first))
    both = (one != 0) & (other != 0)
    return np.stack([(one == other)[both], np.ones(int(both.sum()))], axis=1).astype(np.float64)


def _value(rows: FloatArray, why: str, of: str = "pairs") -> dict[str, Any]:
    value = float(ratio(rows.sum(axis=0)))
    return (
        {"value": None, "n": 0, "of": of, "why": why} if np.isnan(value) else {"value": value, "n": len(rows), "of": of}
    )
