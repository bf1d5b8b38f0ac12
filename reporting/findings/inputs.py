"""Inputs of findings: the filters, and every rater's verdicts on each configuration."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from analysis import similarity
from annotation.core.errors import UnknownName
from annotation.models import Batch, SeparabilityRun, Study
from annotation.questions.questions import MAIN, Question
from annotation.studies.configurations import Configuration
from annotation.studies.outcomes import Selection, batches_for_rating, batches_named, select
from annotation.studies.questions import question_named
from annotation.studies.separability_runs import SeparabilityRuns, names_of, runs_by_configuration
from judging.models import JudgeRun
from judging.outcomes.judgments import judges_of
from reporting.core.estimates import Resampler
from reporting.core.instance_selection import selection_rows
from reporting.core.judge_raters import JudgeRater, judge_raters
from reporting.core.raters import Rater, people_rater
from reporting.findings.separability_bins import Separability, separability_of


@dataclass(frozen=True)
class Filters:
    """Which part of a study findings cover, and the bootstrap settings; `None` stands for all."""

    similarity: str | None = None
    batches: tuple[Batch, ...] | None = None
    bins: int = 4
    drop_incomplete: bool = False
    rounds: int = 1000
    seed: int = 0
    stage: str = "first"
    judges: tuple[str, ...] | None = None
    question: Question | None = None  # one of several; None where the study asks one only

    @property
    def question_number(self) -> int:
        """The number of the question."""
        return MAIN if self.question is None else self.question.number

    @property
    def resampler(self) -> Resampler:
        """The bootstrap settings."""
        return Resampler(self.seed, self.rounds)

    def as_json(self) -> dict[str, Any]:
        """Return the filters as a JSON object."""
        return {
            "similarity": self.similarity,
            "batches": None if self.batches is None else [batch.name for batch in self.batches],
            "judges": None if self.judges is None else list(self.judges),
            "bins": self.bins,
            "drop_incomplete": self.drop_incomplete,
            "stage": self.stage,
            **({} if self.question is None else {"question": self.question.key}),
            "rounds": self.rounds,
            "level": self.resampler.level,
            "seed": self.seed,
        }

    def covers(self, configuration: Configuration) -> bool:
        """Tell whether a selected batch belongs to this configuration; without a selection all do."""
        return self.batches is None or any(
            (batch.dataset, batch.system_a_id, batch.system_b_id) == configuration.key for batch in self.batches
        )


@dataclass(frozen=True, eq=False)
class ConfigurationData:
    """One configuration with the verdicts of people and judges on it."""

    selection: Selection
    separability: Separability
    people: Rater
    judges: tuple[JudgeRater, ...]
    chosen: list[dict[str, Any]]

    @property
    def configuration(self) -> Configuration:
        """The configuration of the selection."""
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
    """The separability runs of a study by configuration, and a run of every judge."""

    separability: SeparabilityRuns
    judges: tuple[JudgeRun, ...]

    def of(self, configuration: Configuration) -> list[SeparabilityRun]:
        """Return the separability runs of one configuration, the most recent first."""
        return self.separability.get(configuration.key, [])


def runs_of(study: Study, filters: Filters) -> Runs:
    """Read the runs of a study, once for all its configurations."""
    judges = [
        run
        for run in judges_of(study, filters.batches, question=filters.question_number)
        if filters.judges is None or run.judge.name in filters.judges
    ]
    return Runs(runs_by_configuration(study), tuple(judges))


def read_configuration(configuration: Configuration, runs: Runs, filters: Filters) -> ConfigurationData:
    """Read one configuration: its selection, its separability and all verdicts."""
    selection = select(configuration, filters.batches)
    return ConfigurationData(
        selection=selection,
        separability=separability_of(
            selection, runs.of(configuration), similarity=filters.similarity, bins=filters.bins
        ),
        people=people_rater(
            selection,
            filters.batches,
            stage=filters.stage,
            question=filters.question_number,
            drop_incomplete=filters.drop_incomplete,
        ),
        judges=judge_raters(
            selection, runs.judges, drop_incomplete=filters.drop_incomplete, question=filters.question_number
        ),
        chosen=selection_rows(batches_for_rating(configuration), filters.batches),
    )


def similarity_named(study: Study, name: str | None) -> str | None:
    """Check the name of a similarity, or the label of one of the study's runs; an empty name stands for all.

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


def judges_named(study: Study, names: Sequence[str]) -> tuple[str, ...] | None:
    """Check the names of judges that have a run on the study; no name stands for all.

    Raises: UnknownName listing those that have.
    """
    if not names:
        return None
    known = judge_names(study)
    if strangers := [name for name in names if name not in known]:
        raise UnknownName(
            f"no judge {', '.join(strangers)} has run on study {study.slug}; those that have: {', '.join(known) or 'none'}"
        )
    return tuple(dict.fromkeys(names))


def judge_names(study: Study) -> list[str]:
    """List the judges that have a run on a study, on any of its questions."""
    asked = (judges_of(study, question=question.number) for question in study.questions)
    return sorted({run.judge.name for runs in asked for run in runs})


def filters_of(study: Study, query: QueryDict) -> Filters:
    """Read `similarity`, `batch` and `judge` (repeated), `drop_incomplete` and `question`.

    Raises: UnknownName for an unknown similarity, batch, judge or question.
    """
    return Filters(
        similarity=similarity_named(study, query.get("similarity")),
        batches=batches_named(study, [name for name in query.getlist("batch") if name]),
        judges=judges_named(study, [name for name in query.getlist("judge") if name]),
        drop_incomplete=query.get("drop_incomplete", "") in ("1", "on", "true"),
        question=question_named(study, query.get("question", "")),
    )


def query_of(filters: Filters, **more: str) -> str:
    """Encode filters, and further parameters, as a URL query."""
    query: list[tuple[str, str]] = list(more.items())
    if filters.similarity:
        query.append(("similarity", filters.similarity))
    query += [("batch", batch.name) for batch in filters.batches or ()]
    query += [("judge", name) for name in filters.judges or ()]
    if filters.drop_incomplete:
        query.append(("drop_incomplete", "1"))
    if filters.question_number != MAIN and filters.question:
        query.append(("question", filters.question.key))
    return urlencode(query)


def chart_url(study: Study, name: str, form: str, filters: Filters, **more: str) -> str:
    """Return the URL of a chart."""
    path = reverse("reporting:chart", kwargs={"slug": study.slug, "name": name, "form": form})
    return f"{path}?{query_of(filters, **more)}"
