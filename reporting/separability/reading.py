"""Querysets to arrays: alignments and ratings of configurations, and the numbers that are computed from them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.types import FloatArray
from annotation.core.errors import UnknownName
from annotation.models import Alignment, Study
from annotation.models.separability import find_run, labels_of, names_of
from annotation.questions.questions import MAIN
from annotation.studies.configurations import (
    Configuration,
    SeparabilityRuns,
    configurations,
    runs_by_configuration,
    without_checks,
)
from annotation.studies.instances import Clusters, instance_clusters
from annotation.studies.outcomes import batches_for_rating, select
from judging.generation.sampled_systems import temperatures_of
from judging.models import JudgeRun
from judging.outcomes.judgments import judges_of
from reporting.core.instance_selection import selection_rows
from reporting.core.raters import judge_raters, people_rater, scripted_codes
from reporting.findings.data.inputs import Compared, ComparedSystem
from reporting.separability.arrays import (
    ConfigurationAlignments,
    ConfigurationRatings,
    RunAlignments,
    SeparabilityData,
    SeparabilityFilters,
    shown_runs,
)
from reporting.separability.distributions import separability_numbers


def read_separability(
    study: Study,
    filters: SeparabilityFilters,
    configurations_read: Sequence[Configuration],
    rated: Sequence[ConfigurationRatings] = (),
) -> SeparabilityData:
    """Read the alignments of some configurations, and put them beside the ratings on these.

    Raises: UnknownName for an unknown similarity.
    """
    runs = runs_by_configuration(study)
    existing = [run for listed in runs.values() for run in listed]
    if filters.similarity and find_run(existing, filters.similarity) is None:
        computed = "; ".join(names_of(existing)) or "none"
        raise UnknownName(f"no separability was computed by {filters.similarity}; there is {computed}")
    clusters = instance_clusters(study)
    parts = tuple(
        read_alignments(configuration, runs, filters.similarity, clusters) for configuration in configurations_read
    )
    return SeparabilityData(
        study=study,
        labels=labels_of(existing),
        parts=parts,
        sampled=temperatures_of(study) if parts else {},
        rated=tuple(rated),
        scripted=frozenset(scripted_codes(study) if rated else ()),
    )


def read_alignments(
    configuration: Configuration, runs: SeparabilityRuns, similarity: str, clusters: Clusters | None
) -> ConfigurationAlignments:
    """Read the alignments of a configuration from its latest runs, with that of `similarity` among them."""
    rows = list(
        without_checks(configuration.study, configuration.matchups()).values_list("pk", "instance__instance_id")
    )
    labels = labels_of(run for listed in runs.values() for run in listed)
    own_runs = runs.get(configuration.key, [])
    shown = shown_runs(own_runs, similarity)
    index_of = {pk: index for index, (pk, _) in enumerate(rows)}
    values: dict[int, FloatArray] = {run.pk: np.full((len(rows), 4), np.nan) for run in shown}
    columns = ("run_id", "matchup_id", "self_a", "self_b", "cross", "separability")
    rows_of_runs = Alignment.objects.filter(run__in=list(values)).order_by()
    for run_id, matchup_id, *alignment in rows_of_runs.values_list(*columns).iterator(chunk_size=5000):
        if matchup_id in index_of:
            values[run_id][index_of[matchup_id]] = [np.nan if value is None else value for value in alignment]
    systems = (configuration.system_a, configuration.system_b)
    return ConfigurationAlignments(
        Compared(configuration.dataset, *(ComparedSystem(value.name, value.family) for value in systems)),
        tuple(pk for pk, _ in rows),
        tuple(instance_id for _, instance_id in rows),
        tuple(RunAlignments(run, labels[run.measure], values[run.pk][:, :3], values[run.pk][:, 3]) for run in shown),
        not_shown=len(own_runs) - len(shown),
        clusters=clusters and np.array([clusters.by_id[name] for _, name in rows], dtype=np.int64),
    )


def read_ratings(
    study: Study, configurations_read: Sequence[Configuration], question: int = MAIN
) -> list[ConfigurationRatings]:
    """Read people's and judges' rating sets of a question on some configurations."""
    judge_runs = judges_of(study, None, question=question)
    return [_ratings_on(configuration, judge_runs, question) for configuration in configurations_read]


def _ratings_on(configuration: Configuration, judge_runs: Sequence[JudgeRun], question: int) -> ConfigurationRatings:
    selection = select(configuration)
    people = people_rater(selection, None, question=question)
    judges = judge_raters(selection, judge_runs, question=question)
    rows_selected = selection_rows(batches_for_rating(configuration))
    return ConfigurationRatings(selection.instance_ids, rows_selected, (people, *judges))


def selected_configurations(study: Study, filters: SeparabilityFilters) -> list[Configuration]:
    """List the selected configurations.

    Raises: UnknownName for a data set or a system that the study does not have.
    """
    existing = configurations(study, checks=False)
    datasets = {configuration.dataset for configuration in existing}
    systems = {
        name for configuration in existing for name in (configuration.system_a.name, configuration.system_b.name)
    }
    if filters.dataset and filters.dataset not in datasets:
        raise UnknownName(f"study {study.slug} has no data set {filters.dataset}; it has {_listed(datasets)}")
    if strangers := set(filters.systems) - systems:
        raise UnknownName(f"study {study.slug} has no system {_listed(strangers)}; it has {_listed(systems)}")
    return [
        configuration
        for configuration in existing
        if filters.covers(configuration.dataset, configuration.system_a.name, configuration.system_b.name)
    ]


def _listed(names: Sequence[str] | set[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def distinguishable(study: Study, filters: SeparabilityFilters | None = None) -> dict[str, Any]:
    """Compute the numbers of all selected configurations, with the advice for each and for all together.

    Raises: UnknownName for an unknown data set, system or similarity.
    """
    filters = filters or SeparabilityFilters()
    return distinguishable_on(study, filters, selected_configurations(study, filters))


def distinguishable_on(
    study: Study,
    filters: SeparabilityFilters,
    configurations_read: Sequence[Configuration],
    *,
    each: bool = True,
    pooled: bool = True,
) -> dict[str, Any]:
    """Compute the same for some configurations. `each` and `pooled` add advice."""
    rated = read_ratings(study, configurations_read, filters.question_number) if each or pooled else ()
    data = read_separability(study, filters, configurations_read, rated)
    return separability_numbers(data, filters, each=each, pooled=pooled)
