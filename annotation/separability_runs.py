"""Which of a study's separability runs a name means, and how each is called where several stand side by side."""

from collections.abc import Iterable, Sequence

from annotation.models import SeparabilityRun
from annotation.models.separability import SHORT_FINGERPRINT

Measure = tuple[str, str, str, int | None, int | None, int | None]


def find_run(runs: Sequence[SeparabilityRun], name: str | None = None) -> SeparabilityRun | None:
    """Return the run of a label, else that of a similarity; without a name that of the similarity computed last.

    Of a similarity's several runs those from all generations and all cross pairs come first, and of these the latest:
    a trial with draws takes nothing's place, and is had by its label.

    runs : the latest first
    """
    if not runs:
        return None
    labelled = [run for run in runs if name and run.is_called(name)]
    similarity = name or runs[0].similarity
    found = labelled or sorted((run for run in runs if run.similarity == similarity), key=lambda run: run.is_drawn)
    return found[0] if found else None


def labels_of(runs: Iterable[SeparabilityRun]) -> dict[Measure, str]:
    """Return the label of each measure; two models of one name with as much of their fingerprints as tells them apart."""
    by_label: dict[str, dict[Measure, SeparabilityRun]] = {}
    for run in runs:
        by_label.setdefault(run.label, {}).setdefault(run.measure, run)
    return {
        measure: run.label_with(_characters([one.model_fingerprint for one in alike.values()]))
        for alike in by_label.values()
        for measure, run in alike.items()
    }


def names_of(runs: Iterable[SeparabilityRun]) -> list[str]:
    """List everything by which one of these can be asked for: similarities, and labels that say more."""
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
