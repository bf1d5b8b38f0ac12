"""A judge on one configuration, read into the same shape as people."""

from collections.abc import Iterable
from dataclasses import dataclass

from annotation.models import Batch
from annotation.tables import Selection
from reporting.raters import Rater


@dataclass(frozen=True, eq=False)
class JudgeOn:
    """A judge as a rater, with what became of the presentations that it was asked about."""

    rater: Rater
    status: dict[str, int]


def judges_on(selection: Selection, batches: Iterable[Batch] | None, *, drop_incomplete: bool) -> tuple[JudgeOn, ...]:
    return ()
