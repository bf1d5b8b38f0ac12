"""Why an annotator has nothing to rate, and when to look again."""

from datetime import datetime

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from annotation.allocation import queue
from annotation.annotators.participants import channel_of
from annotation.core.database.prepared import Prepared
from annotation.models import Annotator, Assignment, Batch, Slot
from annotation.quality.qualification import qualification_status


def has_ended(annotator: Annotator) -> bool:
    """Tell whether this annotator's work in the study has ended for good."""
    return bool(annotator.withdrawn_at or annotator.excluded or annotator.blocked_at)


def no_work_reason(annotator: Annotator, at: datetime) -> str:
    """Say why there is no HIT for this annotator now, and whether and when to come back."""
    if annotator.withdrawn_at:
        return _("You have withdrawn from this study, so there is nothing for you to rate. Thank you.")
    if annotator.excluded or annotator.blocked_at:
        return _("Your work in this study has ended. Thank you.")
    batches = queue.open_batches(annotator)
    rating = [batch for batch in batches if batch.purpose == Batch.Purpose.RATING]
    if not rating:
        return _("Nothing is open for rating at the moment. Please look again later.")
    if len(rating) < len(batches) and _failed(annotator):
        return _("You did not pass the qualification for this study, so there is nothing for you to rate. Thank you.")
    if queue.has_free_slot(annotator.study):
        if queue.is_reached(annotator, channel_of(annotator)) or not queue.below_cap(annotator, rating):
            return _("You have done as many HITs as you may do here now.")
        return _("You have rated everything that is open to you.")
    soonest = _SOONEST.first(study=annotator.study_id, annotator=annotator.pk)
    if soonest is None:
        return _("Everything has been rated.")
    minutes = max(1, round((soonest - at).total_seconds() / 60))
    return _("Every HIT is being worked on. The first may come free in %(minutes)d min: please look again then.") % {
        "minutes": minutes
    }


def _failed(annotator: Annotator) -> bool:
    status = qualification_status(annotator)
    return status.required and not status.passed and status.attempts_left == 0


def _expiries(study: int, annotator: int) -> "QuerySet[Assignment, datetime | None]":
    # A subquery, not a join: the leases are read in order, up to the first of a slot in these batches.
    slots = Slot.objects.filter(assignment=OuterRef("pk"), batch__in=queue.batches_for_rating(study))
    claims = Assignment.objects.claimed().filter(Exists(slots), expires_at__isnull=False).exclude(annotator=annotator)
    return claims.order_by("expires_at").values_list("expires_at", flat=True)[:1]


_SOONEST = Prepared(_expiries)
