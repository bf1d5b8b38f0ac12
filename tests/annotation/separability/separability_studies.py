"""Studies, and stand-ins for models, for the tests of separability."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from annotation.importing.formats.study_file import InstanceRow
from annotation.models import Alignment, SeparabilityRun, Study
from annotation.studies.configurations import configurations
from tests.factories import add_instances, make_study

WORDS = ["sun", "sea", "cat", "dog", "owl", "fox", "elm", "oak", "ivy", "bay"]


# ROUGE-1 F is 2·overlap / (words of one + words of the other).
SAME = {"alpha": ["cat dog", "cat dog"], "beta": ["cat dog", "cat dog"]}  # all 1: δ = 1 − 1
APART = {"alpha": ["cat dog", "cat dog"], "beta": ["sun sea", "sun sea"]}  # selves 1, cross 0: δ = 1 − 0
# AA: cat dog / cat sun → 2·1/4 = .5; BB: sun sea / sun sea → 1; cross: 0, 0, .5, .5 → .25; δ = 1 − .25
MIXED = {"alpha": ["cat dog", "cat sun"], "beta": ["sun sea", "sun sea"]}


def study_of(*generations: dict[str, list[str]], slug: str = "study", dataset: str = "news") -> Study:
    """Make a study of instances with these texts."""
    return add_instances(make_study(slug, instances=0), rows_of(*generations, dataset=dataset))


def rows_of(*generations: dict[str, list[str]], dataset: str = "news") -> list[InstanceRow]:
    """Return instances as a study file would hold them."""
    return [InstanceRow(n, f"{dataset}-{n}", dataset, "s", texts) for n, texts in enumerate(generations, start=1)]


def drawn_texts(count: int, *, k: int = 4, systems: Sequence[str] = ("alpha", "beta"), seed: int = 1) -> list[Any]:
    """Draw texts of a few words for each instance and system."""
    rng = np.random.default_rng(seed)
    return [{name: [" ".join(rng.choice(WORDS, 4)) for _ in range(k)] for name in systems} for _ in range(count)]


def stored(study: Study, **filters: Any) -> dict[tuple[str, str, str], tuple[float | None, ...]]:
    """Return everything that is stored, by (run's label, systems, instance)."""
    rows = Alignment.objects.filter(run__study=study, **filters).select_related(
        "run__system_a", "run__system_b", "matchup__instance"
    )
    return {
        (one.run.label, f"{one.run.system_a.name} / {one.run.system_b.name}", one.matchup.instance.instance_id): (
            one.self_a,
            one.self_b,
            one.cross,
            one.separability,
        )
        for one in rows
    }


def run_of(study: Study) -> SeparabilityRun:
    """Return the run of a study's only configuration that was asked for last."""
    assert len(configurations(study)) == 1
    run = SeparabilityRun.objects.filter(study=study).first()
    assert run is not None
    return run


@dataclass
class FakeModel:
    """Gives a text the counts of its letters; remembers what it read, and can be made to fail on a text."""

    name: str = "letters"
    fingerprint: str = "f" * 64
    nan_for: str = ""
    read: list[list[str]] = field(default_factory=list)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """One vector a text."""
        self.read.append(list(texts))
        return np.stack([self._vector(text) for text in texts])

    def encode_tokens(self, texts: Sequence[str]) -> list[np.ndarray]:
        """One vector a word."""
        self.read.append(list(texts))
        return [np.stack([self._vector(word, text) for word in text.split()]) for text in texts]

    def _vector(self, text: str, whole: str = "") -> np.ndarray:
        if self.nan_for and self.nan_for in (whole or text):
            return np.full(26, np.nan)
        return np.array([text.count(chr(code)) for code in range(97, 123)], dtype=np.float32)
