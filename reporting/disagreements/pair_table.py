"""Every pair of a study with people's votes and judges' verdicts, and how far they are apart, by kind of disagreement: arrays only."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.agreement.coefficients import VALUES
from analysis.intervals.bootstrap import ratio
from analysis.types import FloatArray, IntArray
from annotation.core.version import VERSION
from reporting.core.raters import Rater
from reporting.findings.data.inputs import ConfigurationData, StudyData


@dataclass(frozen=True)
class OfConfiguration:
    """The names of a configuration, the ids of its instances in the order of their codes, and the edges of its bins."""

    dataset: str
    systems: tuple[str, str]
    instance_ids: tuple[str, ...]
    edges: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class PairTable:
    """Pairs of all configurations, one row each, in the order of configurations, instances and pairs.

    configuration   : (n,) place among the configurations
    instance, index : (n,) code of the instance in its configuration, and the pair's index
    bin             : (n,) separability bin of its configuration, -1 without one
    row, person, verdict : people's first votes, one row each: the row of the pair, a code among `people`, -1, 0, +1
    revised         : as long as these; the same person's vote after the second stage, NaN without one
    judges          : name → (n,) verdicts, NaN for none
    """

    configurations: tuple[OfConfiguration, ...]
    configuration: IntArray
    instance: IntArray
    index: IntArray
    bin: IntArray
    people: tuple[str, ...]
    row: IntArray
    person: IntArray
    verdict: FloatArray
    revised: FloatArray
    judges: dict[str, FloatArray]

    def __len__(self) -> int:
        return len(self.index)

    @property
    def bins(self) -> int:
        """The most separability bins of a configuration."""
        return max(
            (len(configuration.edges) - 1 for configuration in self.configurations if configuration.edges), default=0
        )

    @property
    def counts(self) -> FloatArray:
        """(n, 3) people's votes for A, a tie and B."""
        column = (self.verdict + 1).astype(np.int64)
        counts = np.bincount(3 * self.row + column, minlength=3 * len(self)).astype(np.float64)
        return counts.reshape(-1, 3)


def pair_table(first: Sequence[ConfigurationData], revised: Sequence[ConfigurationData] | None = None) -> PairTable:
    """Join the pairs of all configurations. `revised` has people's votes after a second stage."""
    people = tuple(sorted({code for data in first for code in data.people.rated.raters}))
    code_of = {code: index for index, code in enumerate(people)}
    names = sorted({judge.name for data in first for judge in data.judges})
    parts: list[dict[str, np.ndarray]] = []
    start = 0
    for index, data in enumerate(first):
        pairs = data.pairs
        width = 1 + int(pairs.index.max(initial=0))
        keys = np.unique(pairs.instance * width + pairs.index)
        votes = _votes(data.people, keys, width, code_of)
        second_votes = None if revised is None else _votes(revised[index].people, keys, width, code_of)
        bins = data.separability.bins
        instance = keys // width
        judges = {judge.name: judge for judge in data.judges}
        parts.append(
            {
                "configuration": np.full(len(keys), index),
                "instance": instance,
                "index": keys % width,
                "bin": np.full(len(keys), -1) if bins is None else bins.of_instance[instance],
                "row": start + votes[0],
                "person": votes[1],
                "verdict": votes[2],
                "revised": _beside(votes, second_votes, len(people)),
                **{name: _verdicts(judges.get(name), keys, width) for name in names},
            }
        )
        start += len(keys)
    columns = {
        name: np.concatenate([np.zeros(0, dtype=kind), *(part[name] for part in parts)])
        for name, kind in ({**_KINDS, **dict.fromkeys(names, np.float64)}).items()
    }
    judged = {name: columns.pop(name) for name in names}
    return PairTable(configurations=tuple(map(_named, first)), people=people, judges=judged, **columns)


def _named(data: ConfigurationData) -> OfConfiguration:
    bins = data.separability.bins
    edges = () if bins is None else tuple(bins.edges.tolist())
    return OfConfiguration(data.dataset, data.systems, data.instance_ids, edges)


_KINDS: dict[str, type] = {
    **dict.fromkeys(("configuration", "instance", "index", "bin", "row", "person"), np.int64),
    **dict.fromkeys(("verdict", "revised"), np.float64),
}
Rows = tuple[IntArray, IntArray, FloatArray]


def _votes(people: Rater, keys: IntArray, width: int, code_of: dict[str, int]) -> Rows:
    """Return the row, the person and the verdict of each vote, by row and person."""
    outcomes = people.rated.outcomes
    person = np.array([code_of.get(code, -1) for code in people.rated.raters], dtype=np.int64)[outcomes.rater]
    at, is_known = _places(outcomes.instance * width + outcomes.pair, keys)
    is_kept = is_known & ~np.isnan(outcomes.verdict) & (person >= 0)
    order = np.lexsort((person[is_kept], at[is_kept]))
    return at[is_kept][order], person[is_kept][order], outcomes.verdict[is_kept][order]


def _beside(votes: Rows, second_votes: Rows | None, people: int) -> FloatArray:
    """Return the later verdict of each vote's person on its pair."""
    if second_votes is None:
        return np.full(len(votes[0]), np.nan)
    at, is_known = _places(votes[0] * people + votes[1], second_votes[0] * people + second_votes[1])
    verdicts = np.full(len(votes[0]), np.nan)
    verdicts[is_known] = second_votes[2][at[is_known]]
    return verdicts


def _verdicts(judge: Rater | None, keys: IntArray, width: int) -> FloatArray:
    verdicts = np.full(len(keys), np.nan)
    if judge is not None:
        outcomes = judge.rated.outcomes
        at, is_known = _places(outcomes.instance * width + outcomes.pair, keys)
        verdicts[at[is_known]] = outcomes.verdict[is_known]
    return verdicts


def _places(values: IntArray, keys: IntArray) -> tuple[IntArray, np.ndarray]:
    """Return the place of each wanted key among ascending ones, and whether it is there."""
    if not len(keys):
        return np.zeros(len(values), dtype=np.int64), np.zeros(len(values), dtype=bool)
    at = np.searchsorted(keys, values).clip(0, len(keys) - 1)
    return at, keys[at] == values


def between_people(table: PairTable) -> FloatArray:
    """(n,) mean distance of two people's votes, from 0 (all alike) to 1 (A and B). Fewer than two votes are 0."""
    a, tie, b = table.counts.T
    n = a + tie + b
    weighted = a * b + (a + b) * tie / 2
    return np.nan_to_num(ratio(np.stack([weighted, n * (n - 1) / 2], axis=1)))


def of_person(table: PairTable, code: str) -> FloatArray:
    """(n,) mean distance of one person's vote from the others' on the pair, NaN without votes."""
    distances = np.full(len(table), np.nan)
    if code in table.people:
        mine = table.person == table.people.index(code)
        rows, own = table.row[mine], table.verdict[mine]
        distances[rows] = np.nan_to_num(_distance(own, table.counts[rows], own=True))
    return distances


def from_majority(table: PairTable, judges: Collection[str]) -> FloatArray:
    """(n,) largest mean distance of people's votes from a judge's verdict that isn't people's majority.

    0 where no judge is against the majority, or there is none because the first place is shared.
    """
    counts = table.counts
    highest = counts.max(axis=1, keepdims=True)
    alone = ((counts == highest).sum(axis=1) == 1) & (highest[:, 0] > 0)
    majority = np.where(alone, VALUES[counts.argmax(axis=1)], np.nan)
    distances = np.zeros(len(table))
    for name in judges:
        verdict = table.judges[name]
        against = ~np.isnan(verdict) & alone & (verdict != majority)
        distances[against] = np.maximum(distances[against], _distance(verdict[against], counts[against]))
    return distances


def before_and_after(table: PairTable) -> FloatArray:
    """(n,) mean distance of people's votes before and after the second stage, 0 without changes."""
    both = ~np.isnan(table.revised)
    moved = np.abs(table.revised[both] - table.verdict[both]) / 2
    sums = [np.bincount(table.row[both], weights=weights, minlength=len(table)) for weights in (moved, None)]
    return np.nan_to_num(ratio(np.stack(sums, axis=1)))


def _distance(verdict: FloatArray, counts: FloatArray, *, own: bool = False) -> FloatArray:
    """Mean distance (half the difference) of a verdict from votes. `own` means that it is one of them."""
    distances = np.abs(verdict[:, np.newaxis] - VALUES) / 2
    return ratio(np.stack([(distances * counts).sum(axis=1), counts.sum(axis=1) - own], axis=1))


JUDGE, PEOPLE, REVISED = KINDS = ("judge", "people", "revised")


def sizes_between(table: PairTable, judges: Collection[str]) -> dict[str, FloatArray]:
    """Return how far people and some judges are apart on each pair, from 0 to 1, by kind."""
    return {JUDGE: from_majority(table, judges), PEOPLE: between_people(table), REVISED: before_and_after(table)}


def disagreements(first: StudyData, revised: StudyData | None = None) -> dict[str, Any]:
    """Return all that the page lists when it is opened, in columns: an entry for each pair of a configuration.

    Pairs are in the order of instances; on those that are left out, all agree. Edges are those of the separability bins,
    which are numbered from 1.

    revised : people's votes after the second stage, if there is one
    """
    table = pair_table(first.configurations, None if revised is None else revised.configurations)
    sizes = sizes_between(table, table.judges)
    listed = np.max(list(sizes.values()), axis=0) > 0
    counts = dict(zip(("a", "tie", "b"), table.counts.astype(np.int64).T, strict=True))
    configurations = []
    for number, configuration in enumerate(table.configurations):
        rows = np.flatnonzero(listed & (table.configuration == number))
        configurations.append(
            {
                "dataset": configuration.dataset,
                "system_a": configuration.systems[0],
                "system_b": configuration.systems[1],
                "edges": list(configuration.edges),
                "instance": [configuration.instance_ids[code] for code in table.instance[rows].tolist()],
                "pair": table.index[rows].tolist(),
                "bin": [bin_index + 1 or None for bin_index in table.bin[rows].tolist()],
                "votes": {name: column[rows].tolist() for name, column in counts.items()},
                "sizes": {kind: size[rows].tolist() for kind, size in sizes.items()},
                "judges": {
                    name: [None if np.isnan(value) else int(value) for value in verdict[rows].tolist()]
                    for name, verdict in table.judges.items()
                },
            }
        )
    return {"study": first.slug, "version": VERSION, "count": int(listed.sum()), "configurations": configurations}
