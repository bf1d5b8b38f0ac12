"""The numbers of a bundle: the findings on every question, and of second votes, computed from arrays."""

from collections.abc import Callable, Sequence
from typing import Any

from annotation.questions.questions import MAIN, Question
from reporting.findings.computing import compute_findings
from reporting.findings.data.inputs import Filters, StudyData

REVISED = "revised"
OTHERS = "others"


def filters_of_numbers(question: Question | None = None, *, revised: bool = False) -> Filters:
    """Return the filters of some of the numbers: those of the findings page when it is opened."""
    return Filters(question=question, stage=REVISED) if revised else Filters(question=question)


def all_numbers(
    questions: Sequence[Question], is_two_stage: bool, read: Callable[[Filters], StudyData]
) -> dict[str, Any]:
    """Compute the findings on the main question, with those on further ones and of second votes as `others`."""
    named: list[Question | None] = list(questions) if len(questions) > 1 else [None]  # one alone is named nowhere
    wanted = [filters_of_numbers(question) for question in named]
    if is_two_stage:
        wanted.insert(1, filters_of_numbers(named[MAIN], revised=True))
    first, *others = (compute_findings(read(filters), filters) for filters in wanted)
    return {**first, OTHERS: others}
