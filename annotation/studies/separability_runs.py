"""A study's separability runs."""

from annotation.core.database.aggregates import grouped
from annotation.models import SeparabilityRun, Study

SeparabilityRuns = dict[tuple[str, int, int], list[SeparabilityRun]]


def runs_by_configuration(study: Study) -> SeparabilityRuns:
    """Return all runs of a study by `Configuration.key`, the latest first."""
    return grouped(((run.dataset, run.system_a_id, run.system_b_id), run) for run in study.separability_runs.all())
