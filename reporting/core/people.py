"""People as a rater of one configuration, and whose answers are left out or are a program's."""

from collections.abc import Iterable

from django.db.models import Count, Q, QuerySet

from annotation.models import Annotator, Assignment, Batch, Rating, Study
from annotation.questions.questions import MAIN
from annotation.studies.outcomes import Selection, human_ratings
from reporting.core.raters import PEOPLE, Positions, Rater, rater
from reporting.core.votes import by_position


def people_rater(
    selection: Selection,
    batches: Iterable[Batch] | None,
    *,
    stage: str = "first",
    question: int = MAIN,
    drop_incomplete: bool = False,
) -> Rater:
    """Read people's counted answers to a question on a selection."""
    rated = human_ratings(selection, batches, stage=stage, question=question)
    positions = Positions(rated.outcomes.instance, by_position(rated.outcomes.verdict, rated.first_is_a))
    left_out = exclusion_counts(selection, batches, stage=stage, question=question)
    return rater(PEOPLE, "person", rated, positions, left_out, drop_incomplete=drop_incomplete)


def exclusion_counts(
    selection: Selection, batches: Iterable[Batch] | None, *, stage: str, question: int = MAIN
) -> dict[str, int]:
    """Count the answers to a question that `annotation.studies.outcomes.human_ratings` leaves out, each under the first reason.

    withdrawn     : the annotator withdrew consent
    check         : of a qualification or a hidden check
    excluded      : the assignment or the annotator was excluded manually
    not_submitted : the assignment was not submitted, or was returned
    surplus       : another assignment had already filled the slot
    """
    ratings = Rating.objects.of_question(question).filter(
        stage=stage, display__pair__matchup__in=selection.configuration.matchups().order_by()
    )
    return count_exclusions(ratings, batches)


def count_exclusions(ratings: QuerySet[Rating], batches: Iterable[Batch] | None) -> dict[str, int]:
    """Count the excluded ones of some ratings, by the reasons of `exclusion_counts`; in these batches only."""
    if batches is not None:
        ratings = ratings.filter(display__assignment__hit__batch__in=list(batches))
    reasons = {
        "withdrawn": Q(display__assignment__annotator__withdrawn_at__isnull=False),
        "check": ~Q(display__assignment__purpose=Assignment.Purpose.RATING),
        "excluded": Q(display__assignment__excluded=True) | Q(display__assignment__annotator__excluded=True),
        "not_submitted": ~Q(display__assignment__state=Assignment.State.SUBMITTED),
        "surplus": Q(display__assignment__slot__isnull=True),
    }
    counts, before = {}, Q()
    for name, reason in reasons.items():
        counts[name] = Count("pk", filter=before & reason)
        before &= ~reason
    return ratings.aggregate(**counts)


def scripted_codes(study: Study) -> set[str]:
    """Return the codes of annotators that are programs."""
    return set(study.annotators.filter(kind=Annotator.Kind.SCRIPTED).values_list("code", flat=True))
