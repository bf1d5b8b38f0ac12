"""People as raters, and the answers of theirs that are left out or are a program's."""

from collections.abc import Iterable
from hashlib import sha256

from django.db.models import Count, Q, QuerySet

from annotation.models import Annotator, Assignment, Batch, Rating, Study
from annotation.questions.questions import MAIN
from annotation.studies.outcomes import Answers, Selection, human_answers
from reporting.core.raters import PEOPLE, Positions, Rater, rater
from reporting.core.votes import by_position


def people_rater(
    selection: Selection,
    batches: Iterable[Batch] | None,
    *,
    stage: str = "first",
    question: int = MAIN,
) -> Rater:
    """Read people's counted answers to a question on a selection."""
    answers = human_answers(selection, batches, stage=stage, question=question)
    return rater_of_people(answers)


def rater_of_people(answers: Answers, *, with_incomplete: bool = False) -> Rater:
    """Return people as a rater, from their answers on a selection."""
    outcomes = answers.rated.outcomes
    positions = Positions(outcomes.instance, by_position(outcomes.verdict, answers.rated.first_is_a), outcomes.rater)
    return rater(PEOPLE, "person", answers.rated, positions, answers.exclusions, with_incomplete=with_incomplete)


def count_exclusions(ratings: QuerySet[Rating], batches: Iterable[Batch] | None) -> dict[str, int]:
    """Count the excluded ratings in these batches by the reasons of `annotation.studies.votes.EXCLUSIONS`."""
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


def departures(study: Study) -> str:
    """Return a digest of the raters who withdrew or were erased, whom no result that is kept may show."""
    has_left = Q(withdrawn_at__isnull=False) | Q(erased_at__isnull=False)
    raters = Annotator.objects.filter(has_left, study=study).order_by("pk")
    return sha256(repr(list(raters.values_list("pk", "withdrawn_at", "erased_at"))).encode()).hexdigest()[:32]
