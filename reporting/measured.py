"""What findings are computed from: the filters, and every rater's verdicts on each configuration, read once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis import similarity
from annotation.configurations import Configuration
from annotation.errors import UnknownName
from annotation.models import Batch, SeparabilityRun, Study
from annotation.separability_runs import names_of
from annotation.tables import Selection, select
from judging.models import JudgeRun
from judging.tables import judges_of
from reporting.estimates import Sampler
from reporting.judge_raters import JudgeOn, judges_on
from reporting.raters import Rater, people_on
from reporting.separability import (
    Separability,
    SeparabilityRuns,
    configuration_key,
    runs_by_configuration,
    separability_of,
)


@dataclass(frozen=True)
class Filters:
    """What the reader asked to look at, and how intervals are drawn."""

    similarity: str | None = None
    batches: tuple[Batch, ...] | None = None
    bins: int = 4
    drop_incomplete: bool = False
    rounds: int = 1000
    seed: int = 0
    stage: str = "first"

    @property
    def sampler(self) -> Sampler:
        """How intervals are drawn."""
        return Sampler(self.seed, self.rounds)

    def described(self) -> dict[str, Any]:
        """Return the filters as JSON, to be read beside the numbers."""
        return {
            "similarity": self.similarity,
            "batches": None if self.batches is None else [batch.name for batch in self.batches],
            "bins": self.bins,
            "drop_incomplete": self.drop_incomplete,
            "stage": self.stage,
            "rounds": self.rounds,
            "level": self.sampler.level,
            "seed": self.seed,
        }

    def cover(self, configuration: Configuration) -> bool:
        """Tell whether a chosen batch is about this configuration; without a choice all are."""
        return self.batches is None or any(
            (batch.dataset, batch.system_a_id, batch.system_b_id) == configuration_key(configuration)
            for batch in self.batches
        )


@dataclass(frozen=True, eq=False)
class Measured:
    """One configuration with the verdicts of people and judges on it."""

    selection: Selection
    separability: Separability
    people: Rater
    judges: tuple[JudgeOn, ...]

    @property
    def configuration(self) -> Configuration:
        """The configuration that was measured."""
        return self.selection.configuration

    @property
    def raters(self) -> tuple[Rater, ...]:
        """People first, then the judges."""
        return (self.people, *(judge.rater for judge in self.judges))

    @property
    def label(self) -> str:
        """Name the configuration for the seeds of its intervals."""
        named = self.configuration
        return "\0".join((named.dataset, named.system_a.name, named.system_b.name))


@dataclass(frozen=True)
class Runs:
    """What was computed and judged in a study: separability by configuration, and a run of every judge."""

    separability: SeparabilityRuns
    judges: tuple[JudgeRun, ...]

    def of(self, configuration: Configuration) -> list[SeparabilityRun]:
        """Return the separability runs of one configuration, the most recent first."""
        return self.separability.get(configuration_key(configuration), [])


def runs_of(study: Study, filters: Filters) -> Runs:
    """Read the runs of a study, once for all its configurations."""
    return Runs(runs_by_configuration(study), tuple(judges_of(study, filters.batches)))


def measure(configuration: Configuration, runs: Runs, filters: Filters) -> Measured:
    """Read one configuration: its selection, separability and everyone's verdicts."""
    selection = select(configuration, filters.batches)
    return Measured(
        selection=selection,
        separability=separability_of(
            selection, runs.of(configuration), similarity=filters.similarity, bins=filters.bins
        ),
        people=people_on(selection, filters.batches, stage=filters.stage, drop_incomplete=filters.drop_incomplete),
        judges=judges_on(selection, runs.judges, drop_incomplete=filters.drop_incomplete),
    )


def similarity_named(study: Study, name: str | None) -> str | None:
    """Check the name of a similarity, or the label of one of the study's runs; none means no choice.

    Raises: UnknownName listing those that exist.
    """
    if not name or name in similarity.names():
        return name or None
    runs = list(study.separability_runs.all())
    if not any(run.similarity == name or run.is_called(name) for run in runs):
        computed = "; ".join(names_of(runs)) or "none yet"
        known = ", ".join(similarity.names())
        raise UnknownName(f"there is no similarity {name}; known: {known}; computed for {study.slug}: {computed}")
    return name


def batches_named(study: Study, names: Sequence[str]) -> tuple[Batch, ...] | None:
    """Find batches by name; no name means no choice. Qualifications and hidden checks enter no findings.

    Raises: UnknownName listing those that exist.
    """
    if not names:
        return None
    known = {batch.name: batch for batch in study.batches.for_rating()}
    if strangers := [name for name in names if name not in known]:
        listed = ", ".join(known) or "none"
        raise UnknownName(f"study {study.slug} has no batch {', '.join(strangers)} for rating; it has {listed}")
    return tuple(known[name] for name in dict.fromkeys(names))
