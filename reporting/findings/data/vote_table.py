"""All verdicts on a study's pairs in one table, with codes over the study."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from analysis.agreement.leave_one_out import Votes
from analysis.grouping import count_groups, groups
from analysis.types import BoolArray, FloatArray, IntArray
from annotation.core.database.aggregates import grouped
from annotation.core.database.columns import places
from reporting.core.raters import PEOPLE, Rater, by_position
from reporting.findings.data.inputs import ConfigurationData
from reporting.findings.data.separability_bins import Bins


@dataclass(frozen=True, eq=False)
class VoteTable:
    """The pairs on which anyone gave a verdict, and people's votes on them.

    people, systems    : codes of the persons, and names of the systems, in alphabetical order
    system_a, system_b : (n_configurations,) codes
    instances          : the codes of each configuration's selected instances. They ascend by (data set, instance's id), so that
                         draws don't depend on the order in which a database has them
    clusters           : the cluster of each instance by its code; None where each instance is its own
    configuration, instance, matchup : (n_units,) codes; a unit is a pair of a matchup. Units ascend by configuration and
                         matchup; configurations may share instances, never matchups
    bin                : (n_units,) pooled bin of separability, -1 without one
    characters         : (n_units,) length of the two texts together; NaN where not known
    judges             : (n_units,) verdicts of each judge by its name as a rater; NaN for none
    probabilities      : (n_units,) probability of B by each judge that has any; NaN for none
    person, unit       : (n,) codes of each vote; a person's votes are in the order in which they were shown the pairs
    verdict            : (n,) -1, 0, +1
    on_left            : (n,) -1 where the left text was preferred, +1 the right one, 0 neither; NaN where sides are not known
    a_is_left          : (n,) 1 or 0; NaN where not known
    seconds            : (n,) active seconds on the pair; NaN where not recorded
    missing            : number of missing verdicts by the rater's name, people first
    cluster            : (n_units,) the cluster of each unit's instance, or the instance where it is its own
    place              : (n,) verdicts as columns: 0 for A, 1 for a tie, 2 for B
    class_counts       : (n_units, 3) people's votes for A, for a tie and for B
    is_rated           : (n_units,) whether people voted on the pair
    compares_two       : whether all configurations compare the same two systems
    direction          : (n_units,) -1 where two systems stand the other way round than in the first configuration, else 1
    votes              : people's votes by unit and person
    """

    people: tuple[str, ...]
    systems: tuple[str, ...]
    system_a: IntArray
    system_b: IntArray
    instances: tuple[IntArray, ...]
    clusters: IntArray | None
    configuration: IntArray
    instance: IntArray
    matchup: IntArray
    bin: IntArray
    characters: FloatArray
    judges: dict[str, FloatArray]
    probabilities: dict[str, FloatArray]
    person: IntArray
    unit: IntArray
    verdict: FloatArray
    on_left: FloatArray
    a_is_left: FloatArray
    seconds: FloatArray
    missing: dict[str, int]
    cluster: IntArray = field(init=False)
    place: IntArray = field(init=False)
    class_counts: IntArray = field(init=False)
    is_rated: BoolArray = field(init=False)
    compares_two: bool = field(init=False)
    direction: FloatArray = field(init=False)
    votes: Votes = field(init=False)

    def __post_init__(self) -> None:
        """Derive the last columns from the others."""
        n, place = len(self.instance), (self.verdict + 1).astype(np.int64)
        class_counts = np.bincount(3 * self.unit + place, minlength=3 * n).reshape(-1, 3)
        compares_two = len({frozenset(pair) for pair in zip(self.system_a, self.system_b, strict=True)}) < 2
        is_turned = (self.system_a != self.system_a[:1]) & compares_two
        derived = {
            "cluster": self.instance if self.clusters is None else self.clusters[self.instance],
            "place": place,
            "class_counts": class_counts,
            "is_rated": class_counts.sum(axis=1) > 0,
            "compares_two": compares_two,
            "direction": np.where(is_turned, -1.0, 1.0)[self.configuration],
            "votes": Votes(self.unit, self.person, self.verdict, n, len(self.people)),
        }
        for name, column in derived.items():
            object.__setattr__(self, name, column)

    def directed(self, shares: FloatArray, unit: IntArray | slice = slice(None)) -> FloatArray:
        """Return (n, 3) counts or shares of A, of ties and of B in the `direction` of their units, all units by default."""
        return np.where(self.direction[unit][:, np.newaxis] < 0, shares[:, ::-1], shares)

    def both_ways(self, tables: FloatArray) -> list[FloatArray]:
        """Return tables over directed votes for A, for ties and for B such that no sum depends on what a configuration calls A.

        tables  : (n, 3) or (n, 3, 3)
        returns : these, and where several pairs of systems are compared, so that A means nothing, the same with A and B exchanged
        """
        return [tables] if self.compares_two else [tables, np.flip(tables, axis=tuple(range(1, tables.ndim)))]


def vote_table(everything: Sequence[ConfigurationData], bins: Bins | None = None) -> VoteTable:
    """Join all configurations. `bins` are those of all their instances, see `pooled.pooled_bins`."""
    raters = raters_by_name(everything)
    starts = np.cumsum([0, *(len(data.instance_ids) for data in everything)])
    pairs = [data.pairs for data in everything]
    numbers = [rater.rated.outcomes.pair for parts in raters.values() for _, rater in parts]
    width = 1 + max((int(own.max(initial=0)) for own in (*numbers, *(pair.index for pair in pairs))), default=0)
    keys = {
        name: _joined(
            (starts[at] + rater.rated.outcomes.instance) * width + rater.rated.outcomes.pair for at, rater in parts
        )
        for name, parts in raters.items()
    }
    verdicts = {name: _joined(rater.rated.outcomes.verdict for _, rater in parts) for name, parts in raters.items()}
    rows_of_verdicts = {name: np.flatnonzero(~np.isnan(verdict)) for name, verdict in verdicts.items()}
    units = groups(_joined(keys[name][rows] for name, rows in rows_of_verdicts.items()))[0]
    judges = {name: np.full(len(units), np.nan) for name in raters if name != PEOPLE}
    for name, of_units in judges.items():
        of_units[places(units, keys[name][rows_of_verdicts[name]])] = verdicts[name][rows_of_verdicts[name]]
    probabilities = {}
    for name, parts in raters.items():
        if any(rater.p_b is not None for _, rater in parts):
            stated = (
                np.full(len(rater.rated.outcomes), np.nan) if rater.p_b is None else rater.p_b for _, rater in parts
            )
            probabilities[name] = np.full(len(units) + 1, np.nan)  # as of `characters`
            probabilities[name][places(units, keys[name])] = _joined(stated)
    characters = np.full(len(units) + 1, np.nan)  # the last one for pairs without a verdict, whose place is -1
    texts = _joined((at + pair.instance) * width + pair.index for at, pair in zip(starts, pairs, strict=False))
    characters[places(units, texts)] = _joined(pair.length_a + pair.length_b for pair in pairs)
    matchup, instances = units // width, _instance_codes(everything)
    rated = [data.people.rated for data in everything]
    people, systems = (
        tuple(sorted({name for of_configuration in names for name in of_configuration}))
        for names in ((rated_pairs.raters for rated_pairs in rated), (data.systems for data in everything))
    )
    code = {name: number for number, name in enumerate(people)}
    person = _joined(
        np.array([code[name] for name in rated_pairs.raters], dtype=np.int64)[rated_pairs.outcomes.rater]
        for rated_pairs in rated
    )
    rows = rows_of_verdicts.get(PEOPLE, np.empty(0, dtype=np.int64))
    rows = rows[np.argsort(_joined(rated_pairs.shown for rated_pairs in rated)[rows], kind="stable")]
    verdict, a_is_left = (
        verdicts.get(PEOPLE, np.empty(0))[rows],
        _joined(rated_pairs.first_is_a for rated_pairs in rated)[rows],
    )
    return VoteTable(
        people=people,
        systems=systems,
        system_a=np.array([systems.index(data.systems[0]) for data in everything], dtype=np.int64),
        system_b=np.array([systems.index(data.systems[1]) for data in everything], dtype=np.int64),
        configuration=np.searchsorted(starts, matchup, side="right") - 1,
        instances=instances,
        clusters=_clusters(everything, instances),
        instance=_joined(instances)[matchup],
        matchup=matchup,
        bin=np.full(len(units), -1) if bins is None else bins.of_instance[matchup],
        characters=characters[:-1],
        judges=judges,
        probabilities={name: of_units[:-1] for name, of_units in probabilities.items()},
        person=person[rows],
        unit=places(units, keys[PEOPLE][rows]) if len(rows) else rows,
        verdict=verdict,
        on_left=by_position(verdict, a_is_left),
        a_is_left=a_is_left,
        seconds=_joined(rated_pairs.seconds for rated_pairs in rated)[rows],
        missing={name: len(verdicts[name]) - len(rows_of_verdicts[name]) for name in raters},
    )


def _instance_codes(everything: Sequence[ConfigurationData]) -> tuple[IntArray, ...]:
    named = [(data.dataset, data.instance_ids) for data in everything]
    names: dict[str, set[str]] = {}
    for dataset, ids in named:
        names.setdefault(dataset, set()).update(ids)
    number = count()
    codes = {dataset: dict(zip(sorted(names[dataset]), number, strict=False)) for dataset in sorted(names)}
    return tuple(np.fromiter(map(codes[dataset].__getitem__, ids), np.int64, len(ids)) for dataset, ids in named)


def _clusters(everything: Sequence[ConfigurationData], instances: Sequence[IntArray]) -> IntArray | None:
    selected = [(codes, data.clusters) for codes, data in zip(instances, everything, strict=True)]
    if all(clusters is None for _, clusters in selected):
        return None
    of_instance = np.zeros(1 + max(int(codes.max(initial=0)) for codes in instances), dtype=np.int64)
    for codes, clusters in selected:
        if clusters is not None:
            of_instance[codes] = clusters
    return of_instance


def cluster_counts(votes: VoteTable) -> dict[str, int] | None:
    """Count the selected instances and their clusters, or return None where each instance is its own."""
    if votes.clusters is None:
        return None
    instances = np.unique(_joined(votes.instances))
    return {"instances": len(instances), "clusters": count_groups(votes.clusters[instances])}


def horizon(votes: VoteTable, *, collecting: bool) -> int | None:
    """Return half of the clusters selected for people's votes while these come in, or None when they are complete.

    A sequence that is narrowest there decides a clear preference early, and loses little at the end.
    """
    counts = cluster_counts(votes)
    clusters = len(np.unique(_joined(votes.instances))) if counts is None else counts["clusters"]
    return math.ceil(clusters / 2) if collecting and votes.instances else None


def raters_by_name(everything: Sequence[ConfigurationData]) -> dict[str, list[tuple[int, Rater]]]:
    """Return (index of the configuration, the rater there) by the rater's name, people first."""
    return grouped((rater.name, (index, rater)) for index, data in enumerate(everything) for rater in data.raters)


def _joined(parts: Iterable[np.ndarray]) -> np.ndarray:
    return np.concatenate([*parts] or [np.empty(0, dtype=np.int64)])
