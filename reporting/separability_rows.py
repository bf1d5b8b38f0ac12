"""Rows → arrays for looking at separability: which part of a study, and its alignments by similarity."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analysis.scenarios import HALF, Thresholds, median_thresholds, scenarios
from analysis.types import FloatArray, IntArray
from annotation.configurations import Configuration, configurations
from annotation.errors import UnknownName
from annotation.models import Alignment, SeparabilityRun, Study
from annotation.separability_runs import find_run, labels_of, names_of
from reporting.estimates import Sampler
from reporting.separability import SeparabilityRuns, configuration_key

MOST_RUNS = 8  # similarities set side by side; the latest ones
MOST_DRAWN = 1_000_000  # rows of all resamples together that an interval is worth
FEWEST_ROUNDS = 200
THRESHOLDS = ("half", "median")


@dataclass(frozen=True)
class Look:
    """What part of a study to look at, by which similarity, and how intervals are drawn.

    similarity : name of a similarity, or the label of one with its settings; the one computed last when empty
    threshold  : from where on an alignment is high: `half` of the normalised scale, or the `median`
    """

    dataset: str = ""
    systems: tuple[str, ...] = ()
    similarity: str = ""
    threshold: str = "half"
    rounds: int = 1000
    seed: int = 0

    @property
    def sampler(self) -> Sampler:
        """How intervals are drawn."""
        return Sampler(self.seed, self.rounds)

    def sampler_for(self, rows: int) -> Sampler:
        """The same with fewer rounds where there are very many rows; every estimate says how many."""
        fitting = max(FEWEST_ROUNDS, MOST_DRAWN // max(rows, 1))
        return replace(self.sampler, rounds=min(self.rounds, fitting))

    def covers(self, configuration: Configuration) -> bool:
        """Tell whether a configuration is looked at."""
        names = {configuration.system_a.name, configuration.system_b.name}
        return self.dataset in ("", configuration.dataset) and names.issuperset(self.systems)

    def described(self) -> dict[str, Any]:
        """Return what is looked at as JSON."""
        return {
            "dataset": self.dataset,
            "systems": list(self.systems),
            "similarity": self.similarity,
            "threshold": self.threshold,
            "rounds": self.rounds,
            "level": self.sampler.level,
            "seed": self.seed,
        }


@dataclass(frozen=True, eq=False)
class Aligned:
    """Alignments of one configuration by one run, one row per matchup in the order of the instances; NaN is missing.

    raw          : (n, 3) alignments of A with itself, of B with itself, of A with B, as computed
    delta        : (n,) separability, as stored
    not_computed : matchups that came after the run
    """

    run: SeparabilityRun
    label: str
    raw: FloatArray
    delta: FloatArray
    not_computed: int

    @property
    def scale(self) -> float:
        """What a raw difference is divided by to be one of normalised alignments."""
        return self.run.high - self.run.low

    @property
    def normalised(self) -> FloatArray:
        """(n, 3) the alignments on the run's scale."""
        found: FloatArray = (self.raw - self.run.low) / self.scale
        return found

    @property
    def single(self) -> int:
        """Matchups with a system of one generation, which has nothing to be like."""
        return int(np.isnan(self.delta).sum()) - self.not_computed

    def thresholds(self, kind: str) -> Thresholds:
        """From where on a normalised alignment of this run is high."""
        return HALF if kind == "half" or np.isnan(self.delta).all() else median_thresholds(*self.normalised.T)

    def raw_thresholds(self, kind: str) -> Thresholds:
        """The same for raw alignments: by these all are sorted, so that rounding never tells a row from its filter."""
        if kind == "median" and not np.isnan(self.delta).all():
            return median_thresholds(*self.raw.T)
        return Thresholds(*(self.run.low + share * self.scale for share in HALF))

    def codes(self, kind: str) -> IntArray:
        """(n,) scenario of each matchup."""
        own_a, own_b, cross = self.raw.T
        return scenarios(own_a, own_b, cross, self.raw_thresholds(kind))


@dataclass(frozen=True, eq=False)
class Compared:
    """One configuration, its matchups, and its alignments by each similarity; the latest computed is first."""

    configuration: Configuration
    matchup_ids: tuple[int, ...]
    instance_ids: tuple[str, ...]
    aligned: tuple[Aligned, ...]
    not_shown: int = 0

    def by(self, similarity: str) -> Aligned | None:
        """Return the alignments that a similarity, a label, or an empty name means (`find_run`)."""
        run = find_run([one.run for one in self.aligned], similarity)
        return next((one for one in self.aligned if one.run == run), None)

    @property
    def seed_label(self) -> str:
        """Name the configuration for the seeds of its intervals."""
        named = self.configuration
        return "\0".join((named.dataset, named.system_a.name, named.system_b.name))


def compared(configuration: Configuration, runs: SeparabilityRuns, similarity: str = "") -> Compared:
    """Read the alignments of a configuration by its latest runs; that of `similarity` is among them."""
    rows = list(configuration.matchups().values_list("pk", "instance__instance_id"))
    labels = labels_of(run for listed in runs.values() for run in listed)
    known = runs.get(configuration_key(configuration), [])
    chosen = _chosen(known, similarity)
    places = {pk: place for place, (pk, _) in enumerate(rows)}
    values: dict[int, FloatArray] = {run.pk: np.full((len(rows), 4), np.nan) for run in chosen}
    columns = ("run_id", "matchup_id", "self_a", "self_b", "cross", "separability")
    found = Alignment.objects.filter(run__in=chosen).order_by()
    for run_id, matchup_id, *alignment in found.values_list(*columns).iterator(chunk_size=5000):
        values[run_id][places[matchup_id]] = [np.nan if one is None else one for one in alignment]
    return Compared(
        configuration,
        tuple(pk for pk, _ in rows),
        tuple(instance_id for _, instance_id in rows),
        tuple(_aligned(run, labels[run.measure], values[run.pk]) for run in chosen),
        not_shown=len(known) - len(chosen),
    )


def _chosen(runs: list[SeparabilityRun], similarity: str) -> list[SeparabilityRun]:
    """Take the latest runs; the one that is looked at stands in for the last of them if it is an earlier one."""
    latest = runs[:MOST_RUNS]
    asked = find_run(runs, similarity)
    if asked is not None and asked not in latest:
        latest[-1] = asked
    return latest


def chosen_configurations(study: Study, look: Look) -> list[Configuration]:
    """List the configurations that are looked at.

    Raises: UnknownName for a data set or a system that the study doesn't have.
    """
    known = configurations(study)
    datasets = {one.dataset for one in known}
    systems = {name for one in known for name in (one.system_a.name, one.system_b.name)}
    if look.dataset and look.dataset not in datasets:
        raise UnknownName(f"study {study.slug} has no data set {look.dataset}; it has {_listed(datasets)}")
    if strangers := set(look.systems) - systems:
        raise UnknownName(f"study {study.slug} has no system {_listed(strangers)}; it has {_listed(systems)}")
    return [one for one in known if look.covers(one)]


def similarity_chosen(runs: SeparabilityRuns, look: Look) -> Look:
    """Check that anything was computed by the similarity that is looked at.

    Raises: UnknownName listing what was.
    """
    known = [run for listed in runs.values() for run in listed]
    if look.similarity and find_run(known, look.similarity) is None:
        computed = "; ".join(names_of(known)) or "none"
        raise UnknownName(f"no separability was computed by {look.similarity}; there is {computed}")
    return look


def _aligned(run: SeparabilityRun, label: str, values: FloatArray) -> Aligned:
    not_computed = int(np.isnan(values[:, 2]).sum())
    return Aligned(run, label, values[:, :3], values[:, 3], not_computed)


def _listed(names: Sequence[str] | set[str]) -> str:
    return ", ".join(sorted(names)) or "none"
