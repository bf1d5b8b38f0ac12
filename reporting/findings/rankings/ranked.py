"""A ranking as JSON: scores of systems with their ranks, and whether the first is first by more than chance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.ranking import Differences, ranks
from analysis.types import FloatArray, IntArray
from annotation.core.reasons import Reason
from reporting.core.estimates import Estimate, IntervalSettings
from reporting.findings.rankings.comparisons import RaterComparisons
from reporting.findings.reasons import (
    NOT_TESTED,
    NOTHING_COMPARED,
    SEVERAL_GROUPS,
    SHARED_FIRST,
    TESTS_PENDING,
    UNEQUAL,
)

DISCONNECTED_NOTE = (
    "the groups were never compared, not even through a third system: systems are ranked within their group, and nothing "
    "is said across groups"
)


@dataclass(frozen=True, eq=False)
class RankBasis:
    """What ranks follow from.

    value     : (n_systems,) NaN for a system without a score
    component : (n_systems,) systems of unlike codes don't compare; -1 for one never compared
    tests     : of the differences between systems, for which each needs `least` instances
    met       : (n_systems, n_systems) how often each two systems met; None for scores that do not depend on it
    """

    value: FloatArray
    component: IntArray
    tests: Differences
    least: int
    met: FloatArray | IntArray | None = None

    @property
    def is_fair(self) -> bool:
        """Whether all systems with a score met the same opponents equally often, where scores depend on that."""
        if self.met is None:
            return True
        scored = np.flatnonzero(~np.isnan(self.value))
        met = self.met[np.ix_(scored, scored)][~np.eye(len(scored), dtype=bool)]
        return bool((met == met[:1]).all() and met.all())


def ranking(
    about: RaterComparisons,
    measure: str,
    tie_rule: str,
    estimates: Sequence[Estimate],
    standing: RankBasis,
    settings: IntervalSettings,
) -> dict[str, Any]:
    """Return a ranking, group by group, the best system first; those without a score last, equal ones by name.

    Ranks are within a system's group. A system is surely better than another if their paired difference says so by
    Student's t, adjusted by Holm's method over all pairs of the ranking. Without intervals ranks have no range yet. Nor
    have they one, and no system is first, where the scores depend on opponents whom not all systems met equally often.
    """
    level = settings.level
    component = standing.component.tolist()
    codes = sorted(set(component) - {-1})
    several = len(codes) > 1
    rank, low, high = ranks(standing.value, standing.tests.better(len(about.names), level), standing.component)
    fair = standing.is_fair
    columns = (rank, low, high) if fair and settings.made else (rank, 0 * low, 0 * high)
    met, instances = opponents(about), about.instances.tolist()
    systems = [
        {
            "system": name,
            **estimates[at],
            "opponents": met[name],
            "n_instances": instances[at],
            **{
                key: int(column[at]) or None
                for key, column in zip(("rank", "rank_low", "rank_high"), columns, strict=True)
            },
            **({"group": codes.index(component[at])} if several and component[at] in codes else {}),
        }
        for at, name in enumerate(about.names)
    ]
    systems.sort(key=lambda row: (row["value"] is None, row.get("group", 0), -(row["value"] or 0.0), row["system"]))
    groups = [[name for name, own in zip(about.names, component, strict=True) if own == code] for code in codes]
    return {
        "rater": about.rater,
        "kind": about.kind,
        "measure": measure,
        "tie_rule": tie_rule,
        "systems": systems,
        "first": _first(about.names, standing, codes, settings)
        | ({"system": None, **SHARED_FIRST.as_json()} if fair and not several and (rank == 1).sum() > 1 else {}),
        "tests": {"adjustment": "Holm", "of": standing.tests.tested, "level": level},
        **({"groups": groups, "note": DISCONNECTED_NOTE} if several else {}),
    }


def _first(
    names: Sequence[str], standing: RankBasis, codes: Sequence[int], settings: IntervalSettings
) -> dict[str, Any]:
    if len(codes) != 1:
        return _untold(None, SEVERAL_GROUPS if codes else NOTHING_COMPARED)
    if not standing.is_fair:
        return _untold(None, UNEQUAL)
    best, tests = int(np.nanargmax(standing.value)), standing.tests
    if not settings.made:
        return _untold(names[best], TESTS_PENDING)
    own = np.flatnonzero((tests.first == best) | (tests.second == best))
    adjusted = tests.adjusted[own]
    if np.isnan(adjusted).any():
        return _untold(names[best], NOT_TESTED.with_values(least=standing.least))
    least = own[adjusted.argmax()]  # the test that leaves most doubt
    p_value, other = float(adjusted.max()), int(tests.first[least] + tests.second[least] - best)
    verdict = {"by_more_than_chance": p_value < 1 - settings.level, "p_value": p_value}
    return {"system": names[best], **verdict, "against": names[other]}


def _untold(system: str | None, why: Reason) -> dict[str, Any]:
    return {"system": system, "by_more_than_chance": None, **why.as_json()}


def opponents(comparisons: RaterComparisons) -> dict[str, dict[str, int]]:
    """Count each system's comparisons by opponent."""
    played = comparisons.matrix.played
    return {
        name: {other: int(n) for other, n in zip(comparisons.names, row, strict=True) if n}
        for name, row in zip(comparisons.names, played.tolist(), strict=True)
    }
