"""The files of a bundle, and what may be left out of them."""

from collections.abc import Callable
from dataclasses import dataclass, fields

from annotation.core.errors import AnnotationError

KIND = "tandem-bundle"
FORMAT_VERSION = 3
MANIFEST, STUDY, NUMBERS = "manifest.json", "study.json", "numbers.json"
PLAN = "plan.json"  # the frozen plan, whose SHA-256 is the plan's own; only where there is one
RECORDS, PROMPTS = "records", "prompts"


Progress = Callable[[int, int], None]  # called with how much is done, and of how much


def silent(_done: int, _total: int) -> None:
    """Ignore progress."""


class BadBundle(AnnotationError):
    """A bundle that can't be read, or whose numbers don't follow from its rows."""


@dataclass(frozen=True)
class Contents:
    """The parts of a study that a bundle has beside the numbers.

    texts       : sources, generations and comparison tables. Completions quote them, and leave only with them
    completions : raw answers of judges, with the requests, and judges' rationales. What each answer took stays: tokens, cost
    reasons     : what raters wrote: reasons and comments; and researchers' notes on rationales, which leave only with both
    """

    texts: bool = True
    completions: bool = True
    reasons: bool = True

    def has(self, choice: str) -> bool:
        """Tell whether a kind of content, by its name, is in the bundle."""
        return bool(getattr(self, choice)) and (self.texts or choice != "completions")

    def as_json(self) -> dict[str, bool]:
        """Return all choices by their names."""
        return {field.name: self.has(field.name) for field in fields(self)}


EVERYTHING = Contents()
CHOICES = tuple(field.name for field in fields(Contents))


def row_file(name: str) -> str:
    """Return the file of the rows called `name`: of a readable kind, or `records/MODEL`."""
    return f"{name}.jsonl.gz"
