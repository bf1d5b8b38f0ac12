"""Counts for the pages of channels: raters, claims, submissions and why some don't count, in a fixed number of queries."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotation.models import Annotator, Assignment, Channel, Invitation, Participant, Slot

WITHDRAWN, EXCLUDED, REJECTED = "of a rater who withdrew", "of an excluded rater", "rejected here"
CHECK, TAKEN = "a hidden check", "came late: another rater has its place"
SHUT = "came late, and was refused: batch not open, rater blocked or at a limit"
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class SubmittedHit:
    """A submitted HIT. `why_not` says why it doesn't count, empty if it does."""

    assignment: int
    annotator: int
    at: datetime
    why_not: Any


@dataclass(frozen=True)
class WorkCount:
    """Numbers of submitted and of counted HITs, and of the others by reason."""

    done: int = 0
    counted: int = 0
    why_not: tuple[tuple[Any, int], ...] = ()


def submitted_by(annotators: Collection[int]) -> list[SubmittedHit]:
    """Return the HITs that these raters have submitted, without the qualification."""
    free = Slot.objects.free().filter(hit=OuterRef("hit"))
    rows = (
        Assignment.objects.filter(annotator__in=annotators, state=Assignment.State.SUBMITTED)
        .exclude(purpose=Assignment.Purpose.QUALIFICATION)
        .order_by()
        .annotate(place_free=Exists(free.order_by()))
        .values(
            *("pk", "annotator", "submitted_at", "purpose", "late", "excluded", "place_free"),
            *("slot", "annotator__excluded", "annotator__withdrawn_at"),
        )
    )
    return [SubmittedHit(row["pk"], row["annotator"], row["submitted_at"], _why_not(row)) for row in rows]


def _why_not(row: Mapping[str, Any]) -> Any:
    if row["annotator__withdrawn_at"] is not None:
        return WITHDRAWN
    if row["annotator__excluded"]:
        return EXCLUDED
    if row["excluded"]:
        return REJECTED
    if row["purpose"] != Assignment.Purpose.RATING:
        return CHECK
    if row["slot"] is None:
        return SHUT if row["late"] and row["place_free"] else TAKEN
    return ""


def count_by(hits: Iterable[SubmittedHit], key: Callable[[SubmittedHit], Key]) -> dict[Key, WorkCount]:
    """Count HITs by a key."""
    reasons: dict[Key, Counter[Any]] = defaultdict(Counter)
    for hit in hits:
        reasons[key(hit)][hit.why_not] += 1
    return {
        reason: WorkCount(counts.total(), counts[""], tuple((why, n) for why, n in counts.items() if why))
        for reason, counts in reasons.items()
    }


_PRESENT = Q(participants__annotator__withdrawn_at=None)
_STATE = "participants__annotator__assignments__state"


def with_counts(channels: QuerySet[Channel]) -> QuerySet[Channel]:
    """Annotate channels with their raters, those with a claimed HIT, and submitted HITs, in one query."""
    return channels.annotate(
        joined_count=Count("participants", filter=_PRESENT, distinct=True),
        working_count=Count("participants", filter=_PRESENT & Q(**{_STATE: Assignment.State.CLAIMED}), distinct=True),
        submitted_count=Count(
            "participants__annotator__assignments",
            filter=_PRESENT & Q(**{_STATE: Assignment.State.SUBMITTED}),
            distinct=True,
        ),
    )


def raters_of_channel(channel: Channel) -> QuerySet[Annotator, Any]:
    """Return the raters who came through a channel, then those invited who have not come."""
    came = Participant.objects.filter(annotator=OuterRef("pk"), channel=channel)
    return (
        Annotator.objects.present()
        .filter(Q(participant__channel=channel) | Q(invitation__channel=channel))
        .select_related("user", "participant", "invitation")
        .annotate(came=Exists(came))
        .order_by("-came", "-participant__joined_at", "pk")
    )


def rows_of(raters: QuerySet[Annotator, Any], limit: int) -> dict[str, Any]:
    """Return the first raters, each with counts of their work, and how many more there are."""
    listed = list(raters[:limit])
    work = count_by(submitted_by([rater.pk for rater in listed]), key=lambda hit: hit.annotator)
    rows = [(rater, work.get(rater.pk, WorkCount())) for rater in listed]
    return {"raters": rows, "more": max(raters.count() - limit, 0)}


def invitation_counts(channel: Channel, at: datetime) -> dict[str, int]:
    """Count a channel's invitations: used, open, expired."""
    unused = Q(used_at=None)
    return Invitation.objects.filter(channel=channel).aggregate(
        used=Count("pk", filter=~unused),
        open=Count("pk", filter=unused & Q(expires_at__gt=at)),
        expired=Count("pk", filter=unused & Q(expires_at__lte=at)),
    )
