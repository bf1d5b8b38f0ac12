"""One rater's verdicts over all configurations as comparisons of systems, for rankings and tests between systems."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from analysis.grouping import first_rows, groups_of_rows, joint_codes
from analysis.ranking.comparisons import WinMatrix, components, win_matrix
from analysis.ranking.spread import Differences, ranks
from analysis.types import FloatArray, IntArray, Outcomes
from annotation.core.reasons import Reason
from reporting.core.estimates import Estimate, IntervalSettings
from reporting.core.raters import PEOPLE
from reporting.findings.data.vote_table import VoteTable
from reporting.findings.pooled.pooled import StudyScale
from reporting.findings.reasons import (
    NOTHING_COMPARED,
    SEVERAL_GROUPS,
    SHARED_FIRST,
    TESTS_PENDING,
    UNEQUAL,
    not_tested,
)

DISCONNECTED_NOTE = (
    "the groups were never compared, not even through a third system, so systems are ranked within their group only"
)


@dataclass(frozen=True, eq=False)
class RaterComparisons:
    """The verdicts that a rater gave, in an order that no database decides: by instance, systems, rater and pair.

    names    : the systems that `outcomes.a` and `outcomes.b` are codes of, ascending
    outcomes : without missing verdicts; codes of instances, systems and raters are study-wide
    cluster  : (n,) code of the instance's cluster, over which intervals and tests are
    matchup  : (n,) code of the instance with the two systems
    delta    : (n,) study-wide separability; NaN where there is none
    excluded : verdicts that are missing or left out
    """

    rater: str
    kind: str
    names: tuple[str, ...]
    outcomes: Outcomes
    cluster: IntArray
    matchup: IntArray
    delta: FloatArray
    excluded: int

    @cached_property
    def columns(self) -> tuple[IntArray, IntArray, FloatArray]:
        """The two systems, and the score of the first: 1, ½ or 0."""
        return self.outcomes.a, self.outcomes.b, (1 - self.outcomes.verdict) / 2

    @cached_property
    def matrix(self) -> WinMatrix:
        """Wins and ties of each system against each other one."""
        return win_matrix(*self.columns, n_systems=len(self.names))

    @cached_property
    def component(self) -> IntArray:
        """(n_systems,) the lowest code of the systems that comparisons connect, or -1 for one never compared."""
        return components(self.matrix)

    @cached_property
    def met_on(self) -> IntArray:
        """(n_systems, n_systems) the number of instances on which each two systems were compared with each other."""
        met = np.zeros((len(self.names), len(self.names)), dtype=np.int64)
        np.add.at(met, (self.outcomes.a[self._first], self.outcomes.b[self._first]), 1)
        both: IntArray = met + met.T
        return both

    @cached_property
    def instances(self) -> IntArray:
        """(n_systems,) the number of instances on which each system was compared."""
        return self._count_different(self.outcomes.instance)

    @cached_property
    def clusters(self) -> IntArray:
        """(n_systems,) the number of clusters of instances on which each system was compared."""
        return self._count_different(self.cluster)

    @cached_property
    def matchups(self) -> IntArray:
        """(n_systems,) the number of matchups of each system."""
        return self._count(self.outcomes.a[self._first], self.outcomes.b[self._first])

    @cached_property
    def compared(self) -> IntArray:
        """(n_systems,) the number of comparisons of each system."""
        return self._count(self.outcomes.a, self.outcomes.b)

    @cached_property
    def _first(self) -> IntArray:
        """The first comparison of each matchup."""
        return first_rows(self.matchup)

    def _count_different(self, codes: IntArray) -> IntArray:
        first, (a, b) = self._first, (self.outcomes.a, self.outcomes.b)
        (_, met), _ = groups_of_rows(np.tile(codes[first], 2), np.concatenate([a[first], b[first]]))
        return self._count(met)

    def _count(self, *systems: IntArray) -> IntArray:
        values: IntArray = np.bincount(np.concatenate(systems), minlength=len(self.names))
        return values


def comparisons_of_raters(votes: VoteTable, scale: StudyScale, *, in_order: bool = True) -> list[RaterComparisons]:
    """Return the comparisons of every rater, people first. Those that nothing is drawn from need no order."""
    a, b = votes.system_a[votes.configuration], votes.system_b[votes.configuration]
    delta = np.concatenate(scale.values)[votes.matchup] if scale.values else np.full(len(a), np.nan)
    every = {PEOPLE: (votes.unit, votes.verdict, votes.person)}
    for name, verdict in votes.judges.items():
        units = np.flatnonzero(~np.isnan(verdict))
        every[name] = units, verdict[units], np.zeros(len(units), dtype=np.int64)
    results = []
    for name, missing in votes.missing.items():
        unit, verdict, rater = every[name]
        of_units = [column[unit] for column in (votes.instance, np.minimum(a, b), np.maximum(a, b))]
        matchup = groups_of_rows(*of_units)[1]
        if in_order:
            rows = np.argsort(joint_codes(matchup, rater, unit), kind="stable")
            unit, verdict, rater, matchup = unit[rows], verdict[rows], rater[rows], matchup[rows]
        outcomes = Outcomes(votes.instance[unit], unit, a[unit], b[unit], verdict, rater)
        kind = "person" if name == PEOPLE else "judge"
        results.append(
            RaterComparisons(name, kind, votes.systems, outcomes, votes.cluster[unit], matchup, delta[unit], missing)
        )
    return results


@dataclass(frozen=True, eq=False)
class RankBasis:
    """The basis of ranks.

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
        """True if all systems with a score met the same opponents equally often, where scores depend on that."""
        if self.met is None:
            return True
        scored = np.flatnonzero(~np.isnan(self.value))
        met = self.met[np.ix_(scored, scored)][~np.eye(len(scored), dtype=bool)]
        return bool((met == met[:1]).all() and met.all())


def ranking(
    comparisons: RaterComparisons,
    measure: str,
    tie_rule: str,
    estimates: Sequence[Estimate],
    standing: RankBasis,
    settings: IntervalSettings,
) -> dict[str, Any]:
    """Return a ranking, group by group, the best system first. Those without a score last, equal ones by name.

    Ranks are within a system's group. A system is surely better than another if their paired difference says so by
    Student's t, adjusted by Holm's method over all pairs of the ranking. Without intervals ranks have no range yet. Nor
    have they one, and no system is first, where the scores depend on opponents whom not all systems met equally often.
    `settled` counts the systems with one rank only in their range.
    """
    level = settings.level
    component = standing.component.tolist()
    codes = sorted(set(component) - {-1})
    several = len(codes) > 1
    rank, low, high = ranks(standing.value, standing.tests.better(len(comparisons.names), level), standing.component)
    fair = standing.is_fair
    columns = (rank, low, high) if fair and settings.made else (rank, 0 * low, 0 * high)
    met, instances = opponents(comparisons), comparisons.instances.tolist()
    systems = [
        {
            "system": name,
            **estimates[at],
            "opponents": met[name],
            "n_instances": instances[at],
            **({} if settings.clusters is None else {"n_clusters": int(comparisons.clusters[at])}),
            **{
                key: int(column[at]) or None
                for key, column in zip(("rank", "rank_low", "rank_high"), columns, strict=True)
            },
            **({"group": codes.index(component[at])} if several and component[at] in codes else {}),
        }
        for at, name in enumerate(comparisons.names)
    ]
    places = [row["rank_low"] == row["rank_high"] for row in systems if row["rank_low"]]
    systems.sort(key=lambda row: (row["value"] is None, row.get("group", 0), -(row["value"] or 0.0), row["system"]))
    groups = [[name for name, own in zip(comparisons.names, component, strict=True) if own == code] for code in codes]
    return {
        "rater": comparisons.rater,
        "kind": comparisons.kind,
        "measure": measure,
        "tie_rule": tie_rule,
        "systems": systems,
        "settled": sum(places) if places else None,
        "first": _first(comparisons, standing, codes, settings)
        | ({"system": None, **SHARED_FIRST.as_json()} if fair and not several and (rank == 1).sum() > 1 else {}),
        "tests": {"adjustment": "Holm", "of": standing.tests.tested, "level": level},
        **({"groups": groups, "note": DISCONNECTED_NOTE} if several else {}),
    }


def _first(
    comparisons: RaterComparisons, standing: RankBasis, codes: Sequence[int], settings: IntervalSettings
) -> dict[str, Any]:
    names = comparisons.names
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
        clusters = comparisons.clusters[standing.component == codes[0]].tolist()
        return _untold(names[best], not_tested(clusters, standing.least))
    weakest = own[adjusted.argmax()]  # the test that leaves most doubt
    p_value, opponent = float(adjusted.max()), int(tests.first[weakest] + tests.second[weakest] - best)
    verdict = {"by_more_than_chance": p_value < 1 - settings.level, "p_value": p_value}
    return {"system": names[best], **verdict, "against": names[opponent]}


def _untold(system: str | None, why: Reason) -> dict[str, Any]:
    return {"system": system, "by_more_than_chance": None, **why.as_json()}


def opponents(comparisons: RaterComparisons) -> dict[str, dict[str, int]]:
    """Count each system's comparisons by opponent."""
    played = comparisons.matrix.played
    return {
        name: {name: int(n) for name, n in zip(comparisons.names, row, strict=True) if n}
        for name, row in zip(comparisons.names, played.tolist(), strict=True)
    }
