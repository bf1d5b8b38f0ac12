"""Input of the numbers on separability: alignments of configurations by similarity, and filters."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from analysis.similarity.scenarios import HALF, Thresholds, median_thresholds, scenarios
from analysis.types import FloatArray, IntArray
from annotation.models import SeparabilityRun, Study
from annotation.models.separability import Measure, find_run
from annotation.questions.questions import MAIN, Question
from judging.generation.sampled_systems import SampledAt
from reporting.core.estimates import IntervalSettings
from reporting.core.raters import Rater
from reporting.findings.data.inputs import Compared, ConfigurationData

MAX_RUNS = 8  # similarities compared on a page; the latest ones
MAX_RESAMPLED_ROWS = 1_000_000  # per interval, over all rounds
MIN_ROUNDS = 200
THRESHOLDS = ("half", "median")


@dataclass(frozen=True)
class SeparabilityFilters:
    """A part of a study, a similarity, and bootstrap settings.

    similarity : name of a similarity, or the label of a run; the one computed last when empty
    threshold  : what counts as a high alignment: `half` of the normalised scale, or the `median`
    question   : one of several, for the numbers that use ratings; None where the study asks one only
    clusters   : of instances by their code, see `IntervalSettings`; set while numbers are computed
    """

    dataset: str = ""
    systems: tuple[str, ...] = ()
    similarity: str = ""
    threshold: str = "half"
    rounds: int = 1000
    seed: int = 0
    question: Question | None = None
    clusters: IntArray | None = field(default=None, compare=False)

    @property
    def question_number(self) -> int:
        """The number of the question."""
        return MAIN if self.question is None else self.question.number

    @property
    def intervals(self) -> IntervalSettings:
        """Settings of intervals."""
        return IntervalSettings(seed=self.seed, rounds=self.rounds, clusters=self.clusters)

    def intervals_for(self, rows: int) -> IntervalSettings:
        """The same with fewer rounds for very many rows. Every estimate reports its rounds."""
        fitting = max(MIN_ROUNDS, MAX_RESAMPLED_ROWS // max(rows, 1))
        return replace(self.intervals, rounds=min(self.rounds, fitting))

    def rng(self, *labels: str) -> np.random.Generator:
        """Return the generator of one sample of texts or points. It depends on its labels only."""
        return np.random.default_rng([self.seed, *(zlib.crc32(label.encode()) for label in labels)])

    def covers(self, dataset: str, *systems: str) -> bool:
        """Tell whether a configuration is selected."""
        return self.dataset in ("", dataset) and set(systems).issuperset(self.systems)

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
    """Alignments of one configuration from one run, a row per matchup in instance order. NaN is missing.

    raw          : (n, 3) alignments of A with itself, of B with itself, of A with B, as computed
    delta        : (n,) separability, as stored
    """

    run: SeparabilityRun
    label: str
    raw: FloatArray
    delta: FloatArray

    @property
    def scale(self) -> float:
        """The divisor that normalises differences of raw alignments."""
        return self.run.high - self.run.low

    @property
    def normalised(self) -> FloatArray:
        """(n, 3) the alignments on the run's scale."""
        scaled: FloatArray = (self.raw - self.run.low) / self.scale
        return scaled

    @property
    def not_computed(self) -> int:
        """Number of matchups that were added after the run."""
        return int(np.isnan(self.raw[:, 2]).sum())

    @property
    def single(self) -> int:
        """Matchups with a system of a single generation, which has no self-alignment."""
        return int(np.isnan(self.delta).sum()) - self.not_computed

    def thresholds(self, kind: str) -> Thresholds:
        """Return from where on a normalised alignment is high."""
        return HALF if kind == "half" or np.isnan(self.delta).all() else median_thresholds(*self.normalised.T)

    def raw_thresholds(self, kind: str) -> Thresholds:
        """Return the same for raw alignments. Scenarios use these, so that they agree with the database filter."""
        if kind == "median" and not np.isnan(self.delta).all():
            return median_thresholds(*self.raw.T)
        return Thresholds(*(self.run.low + share * self.scale for share in HALF))

    def codes(self, kind: str) -> IntArray:
        """(n,) scenario of each matchup."""
        own_a, own_b, cross = self.raw.T
        return scenarios(own_a, own_b, cross, self.raw_thresholds(kind))


@dataclass(frozen=True, eq=False)
class ConfigurationAlignments:
    """One configuration, its matchups by their primary keys, and its alignments from each run, the latest first.

    clusters : of each matchup's instance; None where each is its own
    """

    configuration: Compared
    matchup_ids: tuple[int, ...]
    instance_ids: tuple[str, ...]
    by_run: tuple[RunAlignments, ...]
    not_shown: int = 0
    clusters: IntArray | None = None

    def by_similarity(self, similarity: str) -> RunAlignments | None:
        """Return the alignments for a similarity, a label or an empty name (see `find_run`)."""
        run = find_run([alignments.run for alignments in self.by_run], similarity)
        return next((alignments for alignments in self.by_run if alignments.run == run), None)

    @property
    def seed_label(self) -> str:
        """Name the configuration for the seeds of its intervals."""
        named = self.configuration
        return "\0".join((named.dataset, named.system_a.name, named.system_b.name))


def shown_runs(runs: Sequence[SeparabilityRun], similarity: str = "") -> list[SeparabilityRun]:
    """Return the latest runs. The selected one replaces the last of them if it is older.

    runs : of a configuration, the latest first
    """
    latest = list(runs[:MAX_RUNS])
    selected = find_run(runs, similarity)
    if selected is not None and selected not in latest:
        latest[-1] = selected
    return latest


@dataclass(frozen=True, eq=False)
class ConfigurationRatings:
    """The ratings on one configuration, people first, and how its instances were selected.

    instance_ids : of the selected instances, by their codes in the outcomes
    """

    instance_ids: tuple[str, ...]
    chosen: list[dict[str, Any]]
    raters: tuple[Rater, ...]

    @classmethod
    def of(cls, data: ConfigurationData) -> "ConfigurationRatings":
        """Take them from what findings are computed from."""
        return cls(data.instance_ids, data.chosen, data.raters)


@dataclass(frozen=True, eq=False)
class SeparabilityData:
    """All that the numbers on separability are computed from.

    labels  : of all measures of the study
    sampled : how the texts of systems were made, by their names; of those that were sampled here
    rated   : the ratings on each of the parts; none where no advice is asked for
    scripted : codes of raters that are programs
    """

    study: Study
    labels: Mapping[Measure, str]
    parts: tuple[ConfigurationAlignments, ...]
    sampled: Mapping[str, SampledAt]
    rated: tuple[ConfigurationRatings, ...]
    scripted: frozenset[str]
