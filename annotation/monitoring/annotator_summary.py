"""Summary of one annotator's work in a study, for its admins."""

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Aggregate, Count, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from annotation.core.counting import to_cents
from annotation.models import Annotator, Assignment, Event, Message, Rating
from annotation.quality.hidden_checks import CheckScores, scores_of
from annotation.questions.questions import MAIN

SUBMITTED = Assignment.State.SUBMITTED
MOST_EVENTS = 50


@dataclass(frozen=True)
class RaterSummary:
    """An annotator's sums over a study, the decisions about them, and the messages to them.

    translated : choices made on a page that the browser had translated
    """

    submitted: int
    counted: int
    pay: Decimal | None
    checks: CheckScores
    translated: int
    events: list[Event]
    messages: list[Message]


def assignments_of(annotator: Annotator) -> QuerySet[Assignment]:
    """Return an annotator's assignments, the latest first, with counts of first votes and active seconds."""
    chose_left = Q(verdict=-1, display__a_is_left=True) | Q(verdict=1, display__a_is_left=False)
    return (
        annotator.assignments.select_related("hit__batch", "hit__matchup__instance", "slot")
        .defer("hit__matchup__instance__source", "hit__matchup__instance__metadata", "hit__matchup__instance__gold")
        .annotate(
            for_a=_first_votes(Q(verdict=-1)),
            ties=_first_votes(Q(verdict=0)),
            for_b=_first_votes(Q(verdict=1)),
            on_left=_first_votes(chose_left),
            seconds=_of_votes(Sum("active_seconds")),
        )
        .order_by("-pk")
    )


def _first_votes(condition: Q) -> Coalesce:
    return Coalesce(_of_votes(Count("pk", filter=Q(stage=Rating.Stage.FIRST) & condition)), 0)


def _of_votes(figure: Aggregate) -> Subquery:
    """Return a figure of an assignment's votes on the main question."""
    votes = Rating.objects.for_question(MAIN).filter(display__assignment=OuterRef("pk")).order_by()
    return Subquery(votes.values("display__assignment").annotate(figure=figure).values("figure"))


def summary_of(annotator: Annotator) -> RaterSummary:
    """Sum up an annotator's work, in seven queries."""
    own = Q(state=SUBMITTED) & ~Q(purpose=Assignment.Purpose.QUALIFICATION)
    filled = Q(slot__isnull=False, excluded=False, annotator__excluded=False)
    sums = annotator.assignments.order_by().aggregate(
        submitted=Count("pk", filter=own), counted=Count("pk", filter=own & filled), pay=Sum("pay_due")
    )
    events = annotator.events.exclude(kind=Event.Kind.MESSAGE).select_related("by").order_by("-happened_at", "-pk")
    return RaterSummary(
        submitted=sums["submitted"],
        counted=sums["counted"],
        pay=to_cents(sums["pay"]),
        checks=scores_of([annotator.pk])[annotator.pk],
        translated=Rating.objects.for_question(MAIN)
        .filter(display__assignment__annotator=annotator, stage=Rating.Stage.FIRST, translated=True)
        .count(),
        events=list(events[:MOST_EVENTS]),
        messages=list(annotator.messages.order_by("-sent_at", "-pk")[:MOST_EVENTS]),
    )
