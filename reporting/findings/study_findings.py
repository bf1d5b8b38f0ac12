"""The findings of a study: read from the database, then computed."""

from collections.abc import Iterable
from typing import Any

from analysis.ranking.bradley_terry import Ties
from annotation.models import Batch, Study
from annotation.studies.questions import question_named
from reporting.findings.computing import compute_findings
from reporting.findings.data.inputs import DEFAULT_EPSILON, Filters
from reporting.findings.data.reading import read_study


def findings(
    study: Study,
    *,
    similarity: str | None = None,
    batches: Iterable[Batch] | None = None,
    bins: int = 4,
    with_incomplete: bool = False,
    rounds: int = 1000,
    seed: int = 0,
    judges: tuple[str, ...] | None = None,
    question: str = "",
    ties: Ties = "half",
    epsilon: float = DEFAULT_EPSILON,
    two_way: bool = False,
) -> dict[str, Any]:
    """Compute all findings of a study.

    similarity      : whose separability to bin by; the most recently computed when left out
    batches         : only these batches' pairs and votes
    with_incomplete : count rating sets that lack a rating too, in consistency and preference strength
    rounds, seed    : of the bootstrap; the same seed gives the same intervals
    judges          : names of the judges to show; all when left out
    question        : the key of the question that they are about; the main one when left out
    ties            : how Bradley-Terry strengths treat ties
    epsilon         : how much less than a person a judge may agree with people and still replace one
    two_way         : whether intervals are over instances and raters, where a number has several raters
    """
    names = None if batches is None else tuple(batch.name for batch in batches)
    named_question = question_named(study, question)
    filters = Filters(
        similarity,
        names,
        bins,
        with_incomplete,
        rounds,
        seed,
        judges=judges,
        ties=ties,
        question=named_question,
        epsilon=epsilon,
        two_way=two_way,
    )
    return findings_under(study, filters)


def findings_under(study: Study, filters: Filters) -> dict[str, Any]:
    """Compute all findings of a study under the given filters.

    Raises: UnknownName for an unknown batch.
    """
    return compute_findings(read_study(study, filters), filters)
