"""The measure of alignments: its label, and finding what was measured by a name. No models."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, TypeVar

SHORT_FINGERPRINT = 8  # characters in a label, at least


class Measure(NamedTuple):
    """The settings that must be equal in runs whose alignments are compared or combined.

    model, model_fingerprint : encoder of the texts, and the hash of its weights; empty for a lexical similarity
    samples, cross_pairs     : how many generations of each system, pairs of each matchup, were drawn; None for all
    seed                     : of these draws; None without draws
    """

    similarity: str
    model: str = ""
    model_fingerprint: str = ""
    samples: int | None = None
    cross_pairs: int | None = None
    seed: int | None = None

    @property
    def is_drawn(self) -> bool:
        """Tell whether only a sample of the generations or cross pairs was compared."""
        return self.samples is not None or self.cross_pairs is not None

    @property
    def label(self) -> str:
        """The measure's label, as in `bertscore (small), 3 generations, seed 1`."""
        return self.label_with(0)

    def is_called(self, name: str) -> bool:
        """Tell whether `name` is the label, with or without a prefix of the model's fingerprint."""
        lengths = range(SHORT_FINGERPRINT, len(self.model_fingerprint) + 1)
        return name == self.label or any(name == self.label_with(length) for length in lengths)

    def label_with(self, characters: int) -> str:
        """Return the label with so many characters of the fingerprint, which distinguishes models of one name."""
        model = ", ".join(part for part in (self.model, self.model_fingerprint[:characters]) if part)
        parts = [f"{self.similarity} ({model})" if self.model else self.similarity]
        parts += [f"{self.samples} generations"] if self.samples else []
        parts += [f"{self.cross_pairs} cross pairs"] if self.cross_pairs else []
        parts += [f"seed {self.seed}"] if self.seed is not None else []
        return ", ".join(parts)


class HasMeasure(Protocol):
    """A separability run, stored or read from a file."""

    @property
    def measure(self) -> Measure: ...


Run = TypeVar("Run", bound=HasMeasure)


def find_run(runs: Sequence[Run], name: str | None = None) -> Run | None:
    """Return the run with this label, else the best of this (by default the latest) similarity.

    Of several runs of a similarity, those of all generations and cross pairs come before samples, then the latest.

    runs : the latest first
    """
    if not runs:
        return None
    labelled = [run for run in runs if name and run.measure.is_called(name)]
    similarity = name or runs[0].measure.similarity
    alike = (run for run in runs if run.measure.similarity == similarity)
    candidates = labelled or sorted(alike, key=lambda run: run.measure.is_drawn)
    return candidates[0] if candidates else None


def labels_of(runs: Iterable[HasMeasure]) -> dict[Measure, str]:
    """Return a unique label of each measure, with fingerprints where models share a name."""
    by_label: dict[str, dict[Measure, None]] = {}
    for run in runs:
        by_label.setdefault(run.measure.label, {})[run.measure] = None
    return {
        measure: measure.label_with(_characters([item.model_fingerprint for item in alike]))
        for alike in by_label.values()
        for measure in alike
    }


def names_of(runs: Iterable[HasMeasure]) -> list[str]:
    """List the names by which `find_run` finds one of these: similarities and labels."""
    listed = list(runs)
    return sorted({run.measure.similarity for run in listed} | set(labels_of(listed).values()))


def _characters(fingerprints: Sequence[str]) -> int:
    if len(fingerprints) == 1:
        return 0
    longest = max(map(len, fingerprints))
    enough = (
        length
        for length in range(SHORT_FINGERPRINT, longest)
        if len({fingerprint[:length] for fingerprint in fingerprints}) == len(fingerprints)
    )
    return next(enough, longest)
