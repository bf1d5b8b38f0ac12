"""How many HITs one annotator may have: in a study, in a batch, and by the channel that they came through."""

from collections.abc import Sequence

from django.db.models import Count

from annotation.models import Annotator, Assignment, Batch, Channel
from annotation.recruitment.base import adapter_of

_COUNTED = (Assignment.State.CLAIMED, Assignment.State.SUBMITTED)
_BY_CHANNEL = frozenset(
    {Annotator.Kind.INVITED, Annotator.Kind.ANONYMOUS, Annotator.Kind.PROLIFIC, Annotator.Kind.MTURK}
)


def channel_of(annotator: Annotator) -> Channel | None:
    """Return the channel that an annotator came through; None for accounts that were there before."""
    if annotator.kind not in _BY_CHANNEL:
        return None
    channels = Channel.objects.select_related("study")
    return (
        channels.filter(participants__annotator=annotator).first()
        or channels.filter(invitations__annotator=annotator).first()
    )


def reached(annotator: Annotator, channel: Channel | None) -> bool:
    """Tell whether an annotator has had as many HITs as the study or their channel gives to one.

    Hidden checks count like any other HIT, so that a cap tells nobody which they were; a qualification does not, and
    neither does a HIT that was given back or ran out.
    """
    most = annotator.study.most_hits_per_rater
    if most is not None and hits_had(annotator) >= most:
        return True
    if channel is None:
        return False
    left = adapter_of(channel).hits_left(annotator=annotator, channel=channel)
    return left is not None and left <= 0


def hits_had(annotator: Annotator) -> int:
    """Count the HITs that an annotator has submitted or is at, without the qualification."""
    mine = annotator.assignments.filter(state__in=_COUNTED)
    return mine.exclude(purpose=Assignment.Purpose.QUALIFICATION).count()


def below_cap(annotator: Annotator, batches: Sequence[Batch]) -> list[Batch]:
    """Keep the batches of which this annotator may have a further HIT."""
    if all(batch.most_hits_per_rater is None for batch in batches):
        return list(batches)
    rated = annotator.assignments.filter(state__in=_COUNTED, purpose=Assignment.Purpose.RATING).order_by()
    had = dict(rated.values_list("hit__batch").annotate(Count("pk")))
    return [
        batch
        for batch in batches
        if batch.most_hits_per_rater is None or had.get(batch.pk, 0) < batch.most_hits_per_rater
    ]
