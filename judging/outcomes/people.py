"""Rows → people's first votes on each pair of a study, as judges are compared with them."""

from annotation.models import Assignment, Batch, Display, Rating, Study
from annotation.questions.questions import MAIN


def people_by_pair(study: Study, *, dataset: str = "", question: int = MAIN) -> dict[int, list[int]]:
    """Return people's first votes on each pair of a study, one per annotator, as findings count them.

    Unsubmitted, excluded and surplus work is left out, as are checks, qualifications and withdrawn annotators.
    """
    # Several queries rather than a join of five tables, which is planned badly without statistics.
    batches = rating_batches(study, dataset)
    counted = Assignment.objects.counted().filter(hit__batch__in=batches).order_by()
    rater = dict(counted.values_list("pk", "annotator_id"))
    displays = Display.objects.filter(assignment__hit__batch__in=batches).order_by("assignment_id", "pk")
    verdicts = dict(
        Rating.objects.for_question(question)
        .filter(stage=Rating.Stage.FIRST, display__assignment__hit__batch__in=batches)
        .order_by()
        .values_list("display_id", "verdict")
    )
    rated: set[tuple[int, int]] = set()
    votes: dict[int, list[int]] = {}
    for display, assignment, pair in displays.values_list("pk", "assignment_id", "pair_id"):
        key = (pair, rater.get(assignment, 0))
        if assignment in rater and display in verdicts and key not in rated:
            rated.add(key)
            votes.setdefault(pair, []).append(verdicts[display])
    return votes


def rating_batches(study: Study, dataset: str = "") -> list[int]:
    """List the primary keys of a study's batches for rating, or those of one data set."""
    batches = Batch.objects.for_rating().filter(study=study).order_by()
    if dataset:
        batches = batches.filter(dataset=dataset)
    return list(batches.values_list("pk", flat=True))
