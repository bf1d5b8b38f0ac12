"""Idle claims: no vote was received and no pair was opened for some minutes."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max, OuterRef, QuerySet, Subquery

from annotation.models import Assignment, Batch, VoteChange

LEAST_MINUTES = 10
IDLE_AFTER = timedelta(minutes=LEAST_MINUTES)


@dataclass(frozen=True)
class IdleClaim:
    """A claim, and the minutes since its rater's last activity."""

    assignment: Assignment
    minutes: int


def with_activity(assignments: QuerySet[Assignment]) -> QuerySet[Assignment]:
    """Annotate with what `idle_minutes` reads: the times of the last vote and of the pair opened last, in either stage."""
    votes = VoteChange.objects.filter(display__assignment=OuterRef("pk")).order_by("-received_at")
    return (
        assignments.order_by()
        .annotate(voted_at=Subquery(votes.values("received_at")[:1]), opened_at=Max("displays__shown_at"))
        .annotate(second_at=Max("displays__second_shown_at"))
    )


def idle_minutes(assignment: Assignment, at: datetime, after: timedelta = IDLE_AFTER) -> int | None:
    """Return for how many whole minutes an assignment from `with_activity` has been idle, or None."""
    times = (assignment.claimed_at, *(getattr(assignment, name) for name in ("voted_at", "opened_at", "second_at")))
    last = max((moment for moment in times if moment), default=None)
    return int((at - last).total_seconds() // 60) if last is not None and at - last >= after else None


def idle_claims(batch: Batch, at: datetime, after: timedelta = IDLE_AFTER) -> list[IdleClaim]:
    """Return the claims on HITs of a batch that have been idle for at least `after`, the longest first."""
    claims = with_activity(Assignment.objects.claimed().present().filter(hit__batch=batch))
    minutes_by_claim = [(claim, idle_minutes(claim, at, after)) for claim in claims.select_related("annotator")]
    idle = [IdleClaim(claim, minutes) for claim, minutes in minutes_by_claim if minutes is not None]
    return sorted(idle, key=lambda claim: (-claim.minutes, claim.assignment.pk))
