"""A study with texts of the length that people meet, made of the example study's texts."""

import json
from collections.abc import Sequence
from typing import Any

from annotation.importing.formats.study_file import InstanceRow
from annotation.models import Batch
from tests.factories import add_instances, make_batch, make_study
from tests.tools.helpers import ROOT

SYSTEMS = ("alpha", "beta")
SOURCE_LENGTH = 3000
TEXT_LENGTH = 600


def realistic_rows(
    *,
    instances: int = 1,
    k: int = 5,
    systems: Sequence[str] = SYSTEMS,
    prefix: str = "news",
    lengths: Sequence[int] = (),
) -> list[InstanceRow]:
    """Instances with a source of 3,000 characters and texts of 600, or of `lengths`; no two texts are the same."""
    lengths = lengths or [TEXT_LENGTH] * k
    examples = [json.loads(line) for line in (ROOT / "examples" / "study.jsonl").read_text("utf-8").splitlines()]
    sources = "\n".join(example["source"] for example in examples)
    told = " ".join(text for example in examples for texts in example["generations"].values() for text in texts)
    return [
        InstanceRow(
            number=number,
            instance_id=f"{prefix}-{number}",
            dataset=prefix,
            source=piece(sources, 400 * number, SOURCE_LENGTH),
            generations={
                system: [
                    piece(told, 997 * (number + place * k + index), length) for index, length in enumerate(lengths)
                ]
                for place, system in enumerate(systems)
            },
        )
        for number in range(1, instances + 1)
    ]


def piece(text: str, start: int, length: int) -> str:
    """Return so many characters of a text, from a place in it that may lie beyond its end."""
    start %= len(text)
    return (text[start:] + " " + text)[:length].strip()


def realistic_batch(
    *, instances: int = 1, pairs: int = 5, slug: str = "study", lengths: Sequence[int] = (), **settings: Any
) -> Batch:
    """Publish HITs of realistic texts; `settings` are the study's."""
    study = make_study(slug, instances=0, **settings)
    add_instances(study, realistic_rows(instances=instances, k=pairs, lengths=lengths))
    return make_batch(study, pairs=pairs, raters=3)
