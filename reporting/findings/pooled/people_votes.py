"""People's votes on all configurations in one table, with codes over the study."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from analysis.agreement.leave_one_out import Votes
from analysis.types import FloatArray, IntArray
from reporting.core.votes import by_position
from reporting.findings.data.inputs import ConfigurationData
from reporting.findings.pooled.pooled import instance_codes


@dataclass(frozen=True, eq=False)
class PeopleVotes:
    """One row per vote, each person's in the order in which they were shown the pairs.

    people, systems : codes of the persons, and names of the systems, in alphabetical order
    person, configuration, instance, unit, a, b : (n,) codes; a unit is a pair of an instance, and units of one
                      configuration follow one another
    verdict         : (n,) -1, 0, +1
    on_left         : (n,) -1 where the left text was preferred, +1 the right one, 0 neither; NaN where the sides are not known
    a_is_left       : (n,) 1 or 0; NaN where not known
    seconds         : (n,) active seconds on the pair, NaN where not recorded
    characters      : (n,) length of the two texts together
    unit_configuration, unit_instance : (n_units,) codes
    """

    people: tuple[str, ...]
    systems: tuple[str, ...]
    person: IntArray
    configuration: IntArray
    instance: IntArray
    unit: IntArray
    a: IntArray
    b: IntArray
    verdict: FloatArray
    on_left: FloatArray
    a_is_left: FloatArray
    seconds: FloatArray
    characters: FloatArray
    unit_configuration: IntArray
    unit_instance: IntArray

    @cached_property
    def by_unit(self) -> Votes:
        """The votes by unit and person."""
        return Votes(self.unit, self.person, self.verdict, len(self.unit_configuration), len(self.people))

    @cached_property
    def class_counts(self) -> IntArray:
        """(n_units, 3) votes for A, for a tie and for B."""
        counts: IntArray = np.bincount(3 * self.unit + self.place, minlength=3 * len(self.unit_configuration))
        return counts.reshape(-1, 3)

    @cached_property
    def place(self) -> IntArray:
        """(n,) verdicts as columns: 0 for A, 1 for a tie, 2 for B."""
        return (self.verdict + 1).astype(np.int64)

    def rows_by_person(self) -> list[IntArray]:
        """Return the rows of each person, in the order of the votes."""
        return rows_by_code(self.person, len(self.people))


def rows_by_code(codes: IntArray, n: int) -> list[IntArray]:
    """Return the places of each code from 0 to n - 1, ascending."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes, minlength=n))[:-1]) if n else []


def people_votes(everything: Sequence[ConfigurationData]) -> PeopleVotes:
    """Pool people's votes over all configurations; pairs without a verdict are left out."""
    people = tuple(sorted({code for data in everything for code in data.people.rated.raters}))
    systems = tuple(sorted({name for data in everything for name in data.systems}))
    of_person, of_system = ({name: code for code, name in enumerate(names)} for names in (people, systems))
    instances = instance_codes(everything)
    parts, units = [_NOTHING], 0
    for number, data in enumerate(everything):
        rated, pairs = data.people.rated, data.selection.pairs
        known = np.flatnonzero(~np.isnan(rated.outcomes.verdict))
        rated = rated.at(known)
        outcomes, n = rated.outcomes, len(known)
        width = 1 + max(int(pairs.index.max(initial=0)), int(outcomes.pair.max(initial=0)))
        keys, unit = np.unique(outcomes.instance * width + outcomes.pair, return_inverse=True)
        a, b = (of_system[name] for name in data.systems)
        columns = {
            "person": np.array([of_person[code] for code in rated.raters], dtype=np.int64)[outcomes.rater],
            "configuration": np.full(n, number),
            "instance": instances[number][outcomes.instance],
            "unit": units + unit,
            "a": np.full(n, a),
            "b": np.full(n, b),
            "verdict": outcomes.verdict,
            "on_left": by_position(outcomes.verdict, rated.first_is_a),
            "a_is_left": rated.first_is_a,
            "seconds": rated.seconds,
            "shown": rated.shown,
            "characters": _looked_up(keys, pairs.instance * width + pairs.index, pairs.length_a + pairs.length_b)[unit],
            "unit_configuration": np.full(len(keys), number),
            "unit_instance": instances[number][keys // width],
        }
        parts.append(columns)
        units += len(keys)
    together = {name: np.concatenate([part[name] for part in parts]) for name in _NOTHING}
    order = np.argsort(together.pop("shown"), kind="stable")
    return PeopleVotes(
        people,
        systems,
        **{name: values if name in _OF_UNITS else values[order] for name, values in together.items()},
    )


_OF_UNITS = ("unit_configuration", "unit_instance")
_NOTHING: dict[str, np.ndarray] = {
    **{name: np.zeros(0, dtype=np.int64) for name in ("person", "configuration", "instance", "unit", "a", "b")},
    **{name: np.zeros(0) for name in ("verdict", "on_left", "a_is_left", "seconds", "characters", "shown")},
    **{name: np.zeros(0, dtype=np.int64) for name in _OF_UNITS},
}


def _looked_up(keys: IntArray, known: IntArray, values: FloatArray) -> FloatArray:
    """Return the value of each key, NaN for an unknown one."""
    order = np.argsort(known)
    ordered = known[order]
    if not len(ordered):
        return np.full(len(keys), np.nan)
    at = np.searchsorted(ordered, keys).clip(0, len(ordered) - 1)
    return np.where(ordered[at] == keys, values[order][at], np.nan)
