"""Why a question about a judge has no answer."""

from dataclasses import dataclass
from typing import Literal

REFUSALS = {
    "people": "{found} of the {needed} people needed",
    "tested": "{found} of the {needed} people needed rated enough instances",
    "instances": "{found} of the {needed} instances needed",
    "selection": "the instances that people rated are no random draw",
    "chance": "people are not shown to agree more than by chance",
    "sequence": "a more separable bin did not pass",
    "collecting": "votes are still coming in: after the batch is closed",
}


@dataclass(frozen=True)
class Refusal:
    """Reason for no answer. `found` and `needed` count people or instances."""

    what: Literal["people", "tested", "instances", "selection", "chance", "sequence", "collecting"]
    found: int = 0
    needed: int = 0

    def __str__(self) -> str:
        return REFUSALS[self.what].format(found=self.found, needed=self.needed)


def too_few(what: Literal["people", "tested", "instances"], found: int, needed: int) -> Refusal | None:
    """Return a refusal below the number needed, else None."""
    return None if found >= needed else Refusal(what, found, needed)
