"""One rater's verdicts over all configurations as comparisons of systems, for rankings and tests between systems."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from analysis.grouping import first_rows, groups_of_rows, joint_codes
from analysis.ranking import WinMatrix, components, win_matrix
from analysis.types import FloatArray, IntArray, Outcomes
from reporting.core.raters import PEOPLE
from reporting.findings.pooled.study_scale import StudyScale
from reporting.findings.pooled.vote_table import VoteTable


@dataclass(frozen=True, eq=False)
class RaterComparisons:
    """The verdicts that a rater gave, in an order that no database decides: by instance, systems, rater and pair.

    names    : the systems that `outcomes.a` and `outcomes.b` are codes of, ascending
    outcomes : without missing verdicts; codes of instances, systems and raters are study-wide
    matchup  : (n,) code of the instance with the two systems
    delta    : (n,) study-wide separability; NaN where there is none
    excluded : verdicts that are missing or left out
    """

    rater: str
    kind: str
    names: tuple[str, ...]
    outcomes: Outcomes
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
        """(n_systems,) the lowest code of the systems that comparisons connect; -1 for one never compared."""
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
        first, (one, other) = self._first, (self.outcomes.a, self.outcomes.b)
        (_, met), _ = groups_of_rows(
            np.tile(self.outcomes.instance[first], 2), np.concatenate([one[first], other[first]])
        )
        return self._count(met)

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

    def _count(self, *systems: IntArray) -> IntArray:
        found: IntArray = np.bincount(np.concatenate(systems), minlength=len(self.names))
        return found


def comparisons_of_raters(votes: VoteTable, scale: StudyScale, *, in_order: bool = True) -> list[RaterComparisons]:
    """Return the comparisons of every rater, people first; those that nothing is drawn from need no order."""
    a, b = votes.system_a[votes.configuration], votes.system_b[votes.configuration]
    delta = np.concatenate(scale.values)[votes.matchup] if scale.values else np.full(len(a), np.nan)
    every = {PEOPLE: (votes.unit, votes.verdict, votes.person)}
    for name, verdict in votes.judges.items():
        units = np.flatnonzero(~np.isnan(verdict))
        every[name] = units, verdict[units], np.zeros(len(units), dtype=np.int64)
    found = []
    for name, missing in votes.missing.items():
        unit, verdict, rater = every[name]
        of_units = [column[unit] for column in (votes.instance, np.minimum(a, b), np.maximum(a, b))]
        matchup = groups_of_rows(*of_units)[1]
        if in_order:
            rows = np.argsort(joint_codes(matchup, rater, unit), kind="stable")
            unit, verdict, rater, matchup = unit[rows], verdict[rows], rater[rows], matchup[rows]
        outcomes = Outcomes(votes.instance[unit], unit, a[unit], b[unit], verdict, rater)
        kind = "person" if name == PEOPLE else "judge"
        found.append(RaterComparisons(name, kind, votes.systems, outcomes, matchup, delta[unit], missing))
    return found
