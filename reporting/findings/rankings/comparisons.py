"""One rater's verdicts over all configurations as comparisons of systems, for rankings and tests between systems."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from analysis.grouping import first_rows, groups, groups_of_rows, joint_codes
from analysis.ranking import WinMatrix, components, win_matrix
from analysis.types import FloatArray, IntArray, Outcomes
from annotation.studies.rated_pairs import rows_of
from reporting.core.raters import Rater
from reporting.findings.data.inputs import ConfigurationData
from reporting.findings.pooled.pooled import instance_codes, raters_by_name
from reporting.findings.pooled.study_scale import StudyScale


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


def comparisons_of_raters(
    everything: Sequence[ConfigurationData], scale: StudyScale, *, in_order: bool = True
) -> list[RaterComparisons]:
    """Return the comparisons of every rater, people first; those that nothing is drawn from need no order."""
    names = tuple(sorted({name for data in everything for name in data.systems}))
    codes = instance_codes(everything)
    deltas = scale.values or tuple(np.full(len(one), np.nan) for one in codes)
    return [
        _comparisons(
            names,
            [rater for _, rater in found],
            [everything[place].systems for place, _ in found],
            [codes[place] for place, _ in found],
            [deltas[place] for place, _ in found],
            in_order=in_order,
        )
        for found in raters_by_name(everything).values()
    ]


def _comparisons(
    names: tuple[str, ...],
    raters: Sequence[Rater],
    systems: Sequence[tuple[str, str]],
    codes: Sequence[IntArray],
    deltas: Sequence[FloatArray],
    *,
    in_order: bool,
) -> RaterComparisons:
    """Join what one rater said on several configurations."""
    asked = [rater.rated.outcomes for rater in raters]
    parts = [rows_of(part, np.flatnonzero(~np.isnan(part.verdict))) for part in asked]
    persons = sorted({person for rater in raters for person in rater.rated.raters})
    of_person = [np.searchsorted(persons, rater.rated.raters).astype(np.int64) for rater in raters]
    of_matchup = _matchup_codes(parts, [sorted(map(names.index, pair)) for pair in systems], codes)
    instance, matchup, delta = (
        np.concatenate([own[part.instance] for own, part in zip(column, parts, strict=True)])
        for column in (codes, of_matchup, deltas)
    )
    sizes = [len(part) for part in parts]
    a, b = (np.repeat([names.index(pair[side]) for pair in systems], sizes) for side in (0, 1))
    rater = np.concatenate([own[part.rater] for own, part in zip(of_person, parts, strict=True)])
    pair, verdict = (np.concatenate([getattr(part, name) for part in parts]) for name in ("pair", "verdict"))
    outcomes = Outcomes(instance, pair, a, b, verdict, rater)
    if in_order:
        rows = np.argsort(joint_codes(matchup, rater, pair), kind="stable")
        outcomes, matchup, delta = rows_of(outcomes, rows), matchup[rows], delta[rows]
    return RaterComparisons(
        rater=raters[0].name,
        kind=raters[0].kind,
        names=names,
        outcomes=outcomes,
        matchup=matchup,
        delta=delta,
        excluded=sum(map(len, asked)) - len(outcomes),
    )


def _matchup_codes(
    parts: Sequence[Outcomes], systems: Sequence[Sequence[int]], codes: Sequence[IntArray]
) -> list[IntArray]:
    """Return the code of each matchup that has a comparison, by configuration; they ascend by instance, then systems."""
    compared = [groups(part.instance)[0] for part in parts]
    sizes = [len(own) for own in compared]
    instance = np.concatenate([own[there] for own, there in zip(codes, compared, strict=True)])
    lower, upper = (np.repeat([pair[side] for pair in systems], sizes) for side in (0, 1))
    _, found = groups_of_rows(instance, lower, upper)
    of_matchup = [np.full(len(own), -1) for own in codes]
    for own, there, part in zip(of_matchup, compared, np.split(found, np.cumsum(sizes)[:-1]), strict=True):
        own[there] = part
    return of_matchup
