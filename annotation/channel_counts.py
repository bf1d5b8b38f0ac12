"""What the pages of channels count: who came, who is at work, what came in. A fixed number of queries each."""

from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotation.models import Annotator, Assignment, Channel, Invitation, Participant

_PRESENT = Q(participants__annotator__withdrawn_at=None)
_STATE = "participants__annotator__assignments__state"


def with_counts(channels: QuerySet[Channel]) -> QuerySet[Channel]:
    """Count each channel's raters, those at a HIT now, and the HITs that they submitted, in one query."""
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
    """Return who came through a channel, and below them who was invited and has not come, with what they submitted."""
    came = Participant.objects.filter(annotator=OuterRef("pk"), channel=channel)
    return (
        Annotator.objects.present()
        .filter(Q(participant__channel=channel) | Q(invitation__channel=channel))
        .select_related("user", "participant", "invitation")
        .annotate(
            came=Exists(came),
            submitted_count=Count("assignments", filter=Q(assignments__state=Assignment.State.SUBMITTED)),
        )
        .order_by("-came", "-participant__joined_at", "pk")
    )


def invitation_counts(channel: Channel, at: datetime) -> dict[str, int]:
    """Count a channel's invitations: used, still good, run out."""
    unused = Q(used_at=None)
    return Invitation.objects.filter(channel=channel).aggregate(
        used=Count("pk", filter=~unused),
        open=Count("pk", filter=unused & Q(expires_at__gt=at)),
        expired=Count("pk", filter=unused & Q(expires_at__lte=at)),
    )
