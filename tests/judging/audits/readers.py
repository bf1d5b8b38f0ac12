"""A stand-in for a judge's model that compares facts, and is biased where a test wants it to be; and a study of facts."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from annotation.models import Study
from judging.endpoints.retrying import RetryingClient
from tests.factories import add_instances, instance_rows, make_study
from tests.fakes import Body, ScriptedClient
from tests.judging.builders import no_sleep
from tests.standin.answers import FENCED, drawn, question_of

Bias = Callable[[str], bool]


class Reader(ScriptedClient):
    """Prefers the text with more facts, whatever its form; neither where both have as many.

    bias    : texts that it prefers to any other that is not of the kind
    first   : prefer the first text, always
    by_seed : prefer either by chance, drawn by question and seed: as a model at a high temperature
    unread  : answers nothing that can be read about pairs with a text of this kind
    """

    def __init__(
        self, bias: Bias | None = None, *, first: bool = False, by_seed: bool = False, unread: Bias | None = None
    ) -> None:
        super().__init__()
        self.bias, self.first, self.by_seed, self.unread = bias, first, by_seed, unread

    async def complete(self, body: Body) -> Any:
        one, other = [found["text"] for found in FENCED.finditer(question_of(body))][-2:]
        gap = self.score(one) - self.score(other)
        said = "A" if self.first or gap > 0 else "B" if gap else "C"
        if self.by_seed:
            said = "AB"[drawn(body, body["seed"]) % 2]
        is_unread = self.unread is not None and (self.unread(one) or self.unread(other))
        self.script = ["Both have their merits." if is_unread else f"Comparison: so it is.\nPreferred: {said}"]
        return await super().complete(body)

    def score(self, text: str) -> int:
        return len(set(re.findall(r"\w+\d", text))) + (100 if self.bias and self.bias(text) else 0)


def client_of(reader: ScriptedClient) -> Any:
    """Return what makes clients of a reader."""
    return lambda endpoint: RetryingClient(reader, sleep=no_sleep)


def facts(*numbers: int, about: object) -> str:
    """Return a text of a sentence a fact."""
    return " ".join(f"Of {about} it says thing{number}." for number in numbers)


def study_of_facts(instances: int = 8, slug: str = "facts") -> Study:
    """Make a study in which alpha's and beta's texts have more facts by turns, with two pairs an instance."""
    study = make_study(slug, instances=0)
    rows = instance_rows(instances=instances)
    full, part = (1, 2, 3, 4), (1, 2, 3)
    add_instances(
        study,
        [
            replace(
                row,
                generations={
                    "alpha": [
                        facts(*(full if (place + index) % 2 else part), about=row.instance_id) for index in (0, 1)
                    ],
                    "beta": [
                        facts(*(part if (place + index) % 2 else full), about=row.instance_id) for index in (0, 1)
                    ],
                },
            )
            for place, row in enumerate(rows)
        ],
    )
    return study
