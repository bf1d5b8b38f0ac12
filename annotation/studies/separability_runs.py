"""Finding a study's separability runs by name, and labels that distinguish them."""

from collections.abc import Iterable, Sequence

from annotation.core.database.aggregates import grouped
from annotation.models import SeparabilityRun, Study
from annotation.models.separability import SHORT_FINGERPRINT

MeasureKey = tuple[str, str, str, int | None, int | None, int | None]
SeparabilityRuns = dict[tuple[str, int, int], list[SeparabilityRun]]


def runs_by_configuration(study: Study) -> SeparabilityRuns:
    """Return all runs of a study by `Configuration.key`, the latest first."""
    return grouped(((run.dataset, run.system_a_id, run.system_b_id), run) for run in study.separability_runs.all())


def find_run(runs: Sequence[SeparabilityRun], name: str | None = None) -> SeparabilityRun | None:
    """Return the run with this label, else the best of this similarity; by default of the similarity computed last.

    Of several runs of a similarity, those of all generations and cross pairs come before samples, then the latest.

    runs : the latest first
    """
    if not runs:
        return None
    labelled = [run for run in runs if name and run.is_called(name)]
    similarity = name or runs[0].similarity
    found = labelled or sorted((run for run in runs if run.similarity == similarity), key=lambda run: run.is_drawn)
    return found[0] if found else None


def labels_of(runs: Iterable[SeparabilityRun]) -> dict[MeasureKey, str]:
    """Return a unique label of each measure, with fingerprints where models share a name."""
    by_label: dict[str, dict[MeasureKey, SeparabilityRun]] = {}
    for run in runs:
        by_label.setdefault(run.label, {}).setdefault(run.measure, run)
    return {
        measure: run.label_with(_characters([one.model_fingerprint for one in alike.values()]))
        for alike in by_label.values()
        for measure, run in alike.items()
    }


def names_of(runs: Iterable[SeparabilityRun]) -> list[str]:
    """List the names by which `find_run` finds one of these: similarities and labels."""
    listed = list(runs)
    return sorted({run.similarity for run in listed} | set(labels_of(listed).values()))


def _characters(fingerprints: Sequence[str]) -> int:
    if len(fingerprints) == 1:
        return 0
    longest = max(map(len, fingerprints))
    enough = (
        length
        for length in range(SHORT_FINGERPRINT, longest)
        if len({one[:length] for one in fingerprints}) == len(fingerprints)
    )
    return next(enough, longest)
