"""Counts for the pages of channels: raters, claims, submissions, in a fixed number of queries."""

from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotation.models import Annotator, Assignment, Channel, Invitation, Participant
from annotation.recruitment.counted_work import WorkCount, count_by, submitted_by

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
