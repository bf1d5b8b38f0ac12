"""Summary of one annotator's work in a study, for its admins."""

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Count, Q, QuerySet, Sum

from annotation.core.money import to_cents
from annotation.models import Annotator, Assignment, Event, Message
from annotation.quality.hidden_checks import CheckScores, scores_of

SUBMITTED = Assignment.State.SUBMITTED
MOST_EVENTS = 50


@dataclass(frozen=True)
class RaterSummary:
    """An annotator's sums over a study, the decisions about them, and the messages to them."""

    submitted: int
    counted: int
    pay: Decimal | None
    checks: CheckScores
    events: list[Event]
    messages: list[Message]


def assignments_of(annotator: Annotator) -> QuerySet[Assignment]:
    """Return an annotator's assignments, the latest first, with counts of first votes and active seconds."""
    first = Q(displays__ratings__stage="first")
    left = Q(displays__ratings__verdict=-1, displays__a_is_left=True) | Q(
        displays__ratings__verdict=1, displays__a_is_left=False
    )
    return (
        annotator.assignments.select_related("hit__batch", "hit__matchup__instance", "slot")
        .defer("hit__matchup__instance__source", "hit__matchup__instance__metadata", "hit__matchup__instance__gold")
        .annotate(
            for_a=Count("displays__ratings", filter=first & Q(displays__ratings__verdict=-1)),
            ties=Count("displays__ratings", filter=first & Q(displays__ratings__verdict=0)),
            for_b=Count("displays__ratings", filter=first & Q(displays__ratings__verdict=1)),
            on_left=Count("displays__ratings", filter=first & left),
            seconds=Sum("displays__ratings__active_seconds"),
        )
        .order_by("-pk")
    )


def summary_of(annotator: Annotator) -> RaterSummary:
    """Sum up an annotator's work, in six queries."""
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
        events=list(events[:MOST_EVENTS]),
        messages=list(annotator.messages.order_by("-sent_at", "-pk")[:MOST_EVENTS]),
    )
