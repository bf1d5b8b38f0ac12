"""Caps on one annotator's HITs: of the study, of a batch, and of the channel that they came through."""

from collections.abc import Sequence

from django.db.models import Count

from annotation.models import Annotator, Assignment, Batch, Channel
from annotation.recruitment.base import ClaimKind, adapter_of

_COUNTED = (Assignment.State.CLAIMED, Assignment.State.SUBMITTED)


def is_reached(annotator: Annotator, channel: Channel | None, claim: ClaimKind = ClaimKind.NEW) -> bool:
    """Tell whether an annotator has reached the cap of the study or of their channel.

    Hidden checks count like any other HIT, so that the cap does not reveal them; qualifications, returned and expired
    HITs don't count.
    """
    limit = annotator.study.most_hits_per_rater
    if limit is not None and hit_count(annotator) >= limit:
        return True
    if channel is None:
        return False
    hits = adapter_of(channel).hits_left(annotator=annotator, channel=channel, claim=claim)
    return hits is not None and hits <= 0


def hit_count(annotator: Annotator) -> int:
    """Count an annotator's submitted and claimed HITs, without the qualification."""
    mine = annotator.assignments.filter(state__in=_COUNTED)
    return mine.exclude(purpose=Assignment.Purpose.QUALIFICATION).count()


def below_cap(annotator: Annotator, batches: Sequence[Batch]) -> list[Batch]:
    """Keep the batches whose cap this annotator has not reached."""
    if all(batch.most_hits_per_rater is None for batch in batches):
        return list(batches)
    rated = annotator.assignments.filter(state__in=_COUNTED, purpose=Assignment.Purpose.RATING).order_by()
    hit_counts = dict(rated.values_list("hit__batch").annotate(Count("pk")))
    return [
        batch
        for batch in batches
        if batch.most_hits_per_rater is None or hit_counts.get(batch.pk, 0) < batch.most_hits_per_rater
    ]
