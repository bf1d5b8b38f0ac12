"""Querysets to arrays: the alignments of configurations by similarity, and the filters that select them."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analysis.scenarios import HALF, Thresholds, median_thresholds, scenarios
from analysis.types import FloatArray, IntArray
from annotation.core.errors import UnknownName
from annotation.models import Alignment, SeparabilityRun, Study
from annotation.questions.questions import MAIN, Question
from annotation.studies.configurations import Configuration, configurations, without_checks
from annotation.studies.separability_runs import SeparabilityRuns, find_run, labels_of, names_of
from reporting.core.estimates import IntervalSettings

MAX_RUNS = 8  # similarities compared on a page; the latest ones
MAX_RESAMPLED_ROWS = 1_000_000  # per interval, over all rounds
MIN_ROUNDS = 200
THRESHOLDS = ("half", "median")


@dataclass(frozen=True)
class SeparabilityFilters:
    """Which part of a study to show, by which similarity, and the bootstrap settings.

    similarity : name of a similarity, or the label of a run; the one computed last when empty
    threshold  : what counts as a high alignment: `half` of the normalised scale, or the `median`
    question   : one of several, for the numbers that use ratings; None where the study asks one only
    """

    dataset: str = ""
    systems: tuple[str, ...] = ()
    similarity: str = ""
    threshold: str = "half"
    rounds: int = 1000
    seed: int = 0
    question: Question | None = None

    @property
    def question_number(self) -> int:
        """The number of the question."""
        return MAIN if self.question is None else self.question.number

    @property
    def intervals(self) -> IntervalSettings:
        """How intervals are made."""
        return IntervalSettings(seed=self.seed, rounds=self.rounds)

    def intervals_for(self, rows: int) -> IntervalSettings:
        """The same with fewer rounds for very many rows; every estimate reports its rounds."""
        fitting = max(MIN_ROUNDS, MAX_RESAMPLED_ROWS // max(rows, 1))
        return replace(self.intervals, rounds=min(self.rounds, fitting))

    def rng(self, *labels: str) -> np.random.Generator:
        """Return the generator of one sample of texts or points; it depends on its labels only."""
        return np.random.default_rng([self.seed, *(zlib.crc32(label.encode()) for label in labels)])

    def covers(self, configuration: Configuration) -> bool:
        """Tell whether a configuration is selected."""
        names = {configuration.system_a.name, configuration.system_b.name}
        return self.dataset in ("", configuration.dataset) and names.issuperset(self.systems)

    def as_json(self) -> dict[str, Any]:
        """Return the filters as a JSON object."""
        return {
            "dataset": self.dataset,
            "systems": list(self.systems),
            "similarity": self.similarity,
            "threshold": self.threshold,
            **({} if self.question is None else {"question": self.question.key}),
            "rounds": self.rounds,
            "level": self.intervals.level,
            "seed": self.seed,
        }


@dataclass(frozen=True, eq=False)
class RunAlignments:
    """Alignments of one configuration from one run, one row per matchup in the order of the instances; NaN is missing.

    raw          : (n, 3) alignments of A with itself, of B with itself, of A with B, as computed
    delta        : (n,) separability, as stored
    not_computed : matchups that were added after the run
    """

    run: SeparabilityRun
    label: str
    raw: FloatArray
    delta: FloatArray
    not_computed: int

    @property
    def scale(self) -> float:
        """The divisor that normalises differences of raw alignments."""
        return self.run.high - self.run.low

    @property
    def normalised(self) -> FloatArray:
        """(n, 3) the alignments on the run's scale."""
        found: FloatArray = (self.raw - self.run.low) / self.scale
        return found

    @property
    def single(self) -> int:
        """Matchups with a system of a single generation, which has no self-alignment."""
        return int(np.isnan(self.delta).sum()) - self.not_computed

    def thresholds(self, kind: str) -> Thresholds:
        """Return from where on a normalised alignment is high."""
        return HALF if kind == "half" or np.isnan(self.delta).all() else median_thresholds(*self.normalised.T)

    def raw_thresholds(self, kind: str) -> Thresholds:
        """Return the same for raw alignments; scenarios use these, so that they agree with the database filter."""
        if kind == "median" and not np.isnan(self.delta).all():
            return median_thresholds(*self.raw.T)
        return Thresholds(*(self.run.low + share * self.scale for share in HALF))

    def codes(self, kind: str) -> IntArray:
        """(n,) scenario of each matchup."""
        own_a, own_b, cross = self.raw.T
        return scenarios(own_a, own_b, cross, self.raw_thresholds(kind))


@dataclass(frozen=True, eq=False)
class ConfigurationAlignments:
    """One configuration, its matchups, and its alignments from each run, the latest first."""

    configuration: Configuration
    matchup_ids: tuple[int, ...]
    instance_ids: tuple[str, ...]
    by_run: tuple[RunAlignments, ...]
    not_shown: int = 0

    def by_similarity(self, similarity: str) -> RunAlignments | None:
        """Return the alignments for a similarity, a label or an empty name (see `find_run`)."""
        run = find_run([one.run for one in self.by_run], similarity)
        return next((one for one in self.by_run if one.run == run), None)

    @property
    def seed_label(self) -> str:
        """Name the configuration for the seeds of its intervals."""
        named = self.configuration
        return "\0".join((named.dataset, named.system_a.name, named.system_b.name))


def read_alignments(
    configuration: Configuration, runs: SeparabilityRuns, similarity: str = ""
) -> ConfigurationAlignments:
    """Read the alignments of a configuration from its latest runs, with that of `similarity` among them."""
    rows = list(
        without_checks(configuration.study, configuration.matchups()).values_list("pk", "instance__instance_id")
    )
    labels = labels_of(run for listed in runs.values() for run in listed)
    known = runs.get(configuration.key, [])
    chosen = _chosen(known, similarity)
    places = {pk: place for place, (pk, _) in enumerate(rows)}
    values: dict[int, FloatArray] = {run.pk: np.full((len(rows), 4), np.nan) for run in chosen}
    columns = ("run_id", "matchup_id", "self_a", "self_b", "cross", "separability")
    found = Alignment.objects.filter(run__in=chosen).order_by()
    for run_id, matchup_id, *alignment in found.values_list(*columns).iterator(chunk_size=5000):
        if matchup_id in places:
            values[run_id][places[matchup_id]] = [np.nan if one is None else one for one in alignment]
    return ConfigurationAlignments(
        configuration,
        tuple(pk for pk, _ in rows),
        tuple(instance_id for _, instance_id in rows),
        tuple(_run_alignments(run, labels[run.measure], values[run.pk]) for run in chosen),
        not_shown=len(known) - len(chosen),
    )


def _chosen(runs: list[SeparabilityRun], similarity: str) -> list[SeparabilityRun]:
    """Return the latest runs; the selected one replaces the last of them if it is older."""
    latest = runs[:MAX_RUNS]
    selected = find_run(runs, similarity)
    if selected is not None and selected not in latest:
        latest[-1] = selected
    return latest


def selected_configurations(study: Study, filters: SeparabilityFilters) -> list[Configuration]:
    """List the selected configurations.

    Raises: UnknownName for a data set or a system that the study does not have.
    """
    known = configurations(study, checks=False)
    datasets = {one.dataset for one in known}
    systems = {name for one in known for name in (one.system_a.name, one.system_b.name)}
    if filters.dataset and filters.dataset not in datasets:
        raise UnknownName(f"study {study.slug} has no data set {filters.dataset}; it has {_listed(datasets)}")
    if strangers := set(filters.systems) - systems:
        raise UnknownName(f"study {study.slug} has no system {_listed(strangers)}; it has {_listed(systems)}")
    return [one for one in known if filters.covers(one)]


def check_similarity(runs: SeparabilityRuns, filters: SeparabilityFilters) -> SeparabilityFilters:
    """Check that a run exists for the selected similarity.

    Raises: UnknownName listing the existing ones.
    """
    known = [run for listed in runs.values() for run in listed]
    if filters.similarity and find_run(known, filters.similarity) is None:
        computed = "; ".join(names_of(known)) or "none"
        raise UnknownName(f"no separability was computed by {filters.similarity}; there is {computed}")
    return filters


def _run_alignments(run: SeparabilityRun, label: str, values: FloatArray) -> RunAlignments:
    not_computed = int(np.isnan(values[:, 2]).sum())
    return RunAlignments(run, label, values[:, :3], values[:, 3], not_computed)


def _listed(names: Sequence[str] | set[str]) -> str:
    return ", ".join(sorted(names)) or "none"
