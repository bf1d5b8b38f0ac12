"""The published configurations through the whole service: their alignments in, their separability out."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annotation.importing.formats.study_file import InstanceRow
from annotation.models import Alignment, Study
from annotation.separability import measure
from annotation.separability.services import compute_separability
from tests.factories import add_instances, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
GOLDEN = Path(__file__).parent.parent.parent / "golden" / "alignments_rouge1.json"


def by_what_texts_say(texts_a: Sequence[str], texts_b: Sequence[str]) -> np.ndarray:
    """Take a text's similarity with its system's others, and with those of the other system, from what it says."""
    said = [[text.split() for text in texts] for texts in (texts_a, texts_b)]
    return np.array(
        [[float(own if name == other else cross) for other, *_ in said[1]] for name, own, cross, _ in said[0]]
    )


def texts(values: dict[str, list[float]], place: int) -> dict[str, list[str]]:
    """Write texts that say the alignments of one instance."""
    cross = values["cross_paper"][place]
    return {
        name: [f"{name} {values[key][place]!r} {cross!r} {index}" for index in range(5)]
        for name, key in (("alpha", "self_A"), ("beta", "self_B"))
    }


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> tuple[Study, dict[str, Any]]:
    """Both configurations in one study, a data set each."""
    configurations = json.loads(GOLDEN.read_text(encoding="utf-8"))
    study = make_study(instances=0)
    for name, values in configurations.items():
        rows = [InstanceRow(n + 1, f"{name}-{n}", name, "s", texts(values, n)) for n in range(len(values["self_A"]))]
        add_instances(study, rows)
    monkeypatch.setattr(measure.registry, "get", lambda name: by_what_texts_say)
    return study, configurations


@pytest.mark.parametrize(("group", "key"), [("configuration", "norm_sep_paper"), ("study", "poolnorm_sep_paper")])
def test_published_separability_is_met(published: tuple[Study, dict[str, Any]], group: str, key: str) -> None:
    study, configurations = published

    results = compute_separability(study=study, group=group)

    assert len(results) == len(configurations)
    for dataset, values in configurations.items():
        rows = Alignment.objects.filter(run__dataset=dataset).order_by("matchup__instance__position")
        found = np.array(rows.values_list("self_a", "self_b", "cross", "separability"), dtype=np.float64).T
        expected = np.array([values[name] for name in ("self_A", "self_B", "cross_paper", key)])
        np.testing.assert_allclose(found, expected, atol=1e-9)
