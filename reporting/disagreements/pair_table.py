"""Every pair of a study with people's votes and judges' verdicts, and how far they are apart on it: arrays only."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.agreement.coefficients import VALUES
from analysis.intervals.bootstrap import ratio
from analysis.types import FloatArray, IntArray
from reporting.core.raters import Rater
from reporting.findings.data.inputs import ConfigurationData


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
        return max((len(one.edges) - 1 for one in self.configurations if one.edges), default=0)

    @property
    def counts(self) -> FloatArray:
        """(n, 3) people's votes for A, a tie and B."""
        place = (self.verdict + 1).astype(np.int64)
        counts = np.bincount(3 * self.row + place, minlength=3 * len(self)).astype(np.float64)
        return counts.reshape(-1, 3)


def pair_table(first: Sequence[ConfigurationData], revised: Sequence[ConfigurationData] | None = None) -> PairTable:
    """Put the pairs of all configurations together; `revised` has people's votes after the second stage, if there is one."""
    people = tuple(sorted({code for data in first for code in data.people.rated.raters}))
    code_of = {code: place for place, code in enumerate(people)}
    names = sorted({judge.rater.name for data in first for judge in data.judges})
    parts: list[dict[str, np.ndarray]] = []
    start = 0
    for place, data in enumerate(first):
        pairs = data.selection.pairs
        width = 1 + int(pairs.index.max(initial=0))
        keys = np.unique(pairs.instance * width + pairs.index)
        votes = _votes(data.people, keys, width, code_of)
        later = None if revised is None else _votes(revised[place].people, keys, width, code_of)
        bins = data.separability.bins
        instance = keys // width
        judges = {judge.rater.name: judge.rater for judge in data.judges}
        parts.append(
            {
                "configuration": np.full(len(keys), place),
                "instance": instance,
                "index": keys % width,
                "bin": np.full(len(keys), -1) if bins is None else bins.of_instance[instance],
                "row": start + votes[0],
                "person": votes[1],
                "verdict": votes[2],
                "revised": _beside(votes, later, len(people)),
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
    return OfConfiguration(data.dataset, data.systems, data.selection.instance_ids, edges)


_KINDS: dict[str, type] = {
    **dict.fromkeys(("configuration", "instance", "index", "bin", "row", "person"), np.int64),
    **dict.fromkeys(("verdict", "revised"), np.float64),
}
Rows = tuple[IntArray, IntArray, FloatArray]


def _votes(people: Rater, keys: IntArray, width: int, code_of: dict[str, int]) -> Rows:
    """Return the row, the person and the verdict of each vote, by row and person."""
    outcomes = people.rated.outcomes
    person = np.array([code_of.get(code, -1) for code in people.rated.raters], dtype=np.int64)[outcomes.rater]
    at, there = _places(outcomes.instance * width + outcomes.pair, keys)
    kept = there & ~np.isnan(outcomes.verdict) & (person >= 0)
    order = np.lexsort((person[kept], at[kept]))
    return at[kept][order], person[kept][order], outcomes.verdict[kept][order]


def _beside(votes: Rows, later: Rows | None, people: int) -> FloatArray:
    """Return the later verdict of each vote's person on its pair."""
    if later is None:
        return np.full(len(votes[0]), np.nan)
    at, there = _places(votes[0] * people + votes[1], later[0] * people + later[1])
    found = np.full(len(votes[0]), np.nan)
    found[there] = later[2][at[there]]
    return found


def _verdicts(judge: Rater | None, keys: IntArray, width: int) -> FloatArray:
    found = np.full(len(keys), np.nan)
    if judge is not None:
        outcomes = judge.rated.outcomes
        at, there = _places(outcomes.instance * width + outcomes.pair, keys)
        found[at[there]] = outcomes.verdict[there]
    return found


def _places(wanted: IntArray, keys: IntArray) -> tuple[IntArray, np.ndarray]:
    """Return the place of each wanted key among ascending ones, and whether it is there."""
    if not len(keys):
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=bool)
    at = np.searchsorted(keys, wanted).clip(0, len(keys) - 1)
    return at, keys[at] == wanted


def between_people(table: PairTable) -> FloatArray:
    """(n,) mean distance of two people's votes, from 0 (all alike) to 1 (A and B); 0 for fewer than two votes."""
    a, tie, b = table.counts.T
    n = a + tie + b
    apart = a * b + (a + b) * tie / 2
    return np.nan_to_num(ratio(np.stack([apart, n * (n - 1) / 2], axis=1)))


def of_person(table: PairTable, code: str) -> FloatArray:
    """(n,) mean distance of one person's vote from the others' on the pair; NaN where they have no vote."""
    found = np.full(len(table), np.nan)
    if code in table.people:
        mine = table.person == table.people.index(code)
        rows, own = table.row[mine], table.verdict[mine]
        found[rows] = np.nan_to_num(_distance(own, table.counts[rows], own=True))
    return found


def from_majority(table: PairTable, judges: Collection[str]) -> FloatArray:
    """(n,) mean distance of people's votes from a judge's verdict, where it isn't people's majority; of the judges the largest.

    0 where no judge is against the majority, or there is none because the first place is shared.
    """
    counts = table.counts
    most = counts.max(axis=1, keepdims=True)
    alone = ((counts == most).sum(axis=1) == 1) & (most[:, 0] > 0)
    majority = np.where(alone, VALUES[counts.argmax(axis=1)], np.nan)
    found = np.zeros(len(table))
    for name in judges:
        verdict = table.judges[name]
        against = ~np.isnan(verdict) & alone & (verdict != majority)
        found[against] = np.maximum(found[against], _distance(verdict[against], counts[against]))
    return found


def before_and_after(table: PairTable) -> FloatArray:
    """(n,) mean distance of people's votes before and after the second stage; 0 where no person has both, or none changed."""
    both = ~np.isnan(table.revised)
    moved = np.abs(table.revised[both] - table.verdict[both]) / 2
    sums = [np.bincount(table.row[both], weights=weights, minlength=len(table)) for weights in (moved, None)]
    return np.nan_to_num(ratio(np.stack(sums, axis=1)))


def _distance(verdict: FloatArray, counts: FloatArray, *, own: bool = False) -> FloatArray:
    """Mean distance of a verdict from votes, half the difference; `own`: the verdict is one of them."""
    apart = np.abs(verdict[:, np.newaxis] - VALUES) / 2
    return ratio(np.stack([(apart * counts).sum(axis=1), counts.sum(axis=1) - own], axis=1))
