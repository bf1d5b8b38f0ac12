"""Saying why there is nothing to rate, and when to look again."""

from datetime import datetime

from django.db.models import Min
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Annotator, Assignment, Batch, Slot
from annotation.services.qualification import standing


def ended(annotator: Annotator) -> bool:
    """Tell whether this annotator gets no more work in the study, whatever is open."""
    return bool(annotator.withdrawn_at or annotator.excluded or annotator.blocked_at)


def why_nothing(annotator: Annotator, at: datetime) -> str:
    """Say why there is no HIT for this annotator now, and whether and when to come back."""
    if annotator.withdrawn_at:
        return _("You have withdrawn from this study, so there is nothing for you to rate. Thank you.")
    if annotator.excluded or annotator.blocked_at:
        return _("Your work in this study has ended. Thank you.")
    batches = Batch.objects.open().for_rating().filter(study_id=annotator.study_id, origin=Batch.Origin.COLLECTED)
    if not batches.exists():
        return _("Nothing is open for rating at the moment. Please look again later.")
    if _failed(annotator):
        return _(
            "The first HITs did not come out as this study needs it, so there is nothing for you to rate. Thank you."
        )
    if Slot.objects.free().filter(hit__batch__in=batches).exists():
        return _("You have rated everything that is open to you. Thank you!")
    at_work = Assignment.objects.filter(hit__batch__in=batches, slot__isnull=False).claimed()
    soonest = at_work.exclude(annotator=annotator).aggregate(at=Min("expires_at"))["at"]
    if soonest is None:
        return _("Everything has been rated. Thank you!")
    minutes = max(1, round((soonest - at).total_seconds() / 60))
    return _(
        "Every HIT is being worked on. The first may come free in %(minutes)d min, at %(time)s UTC: please look again then."
    ) % {"minutes": minutes, "time": timezone.localtime(soonest).strftime("%H:%M")}


def _failed(annotator: Annotator) -> bool:
    found = standing(annotator)
    return found.required and not found.passed and found.attempts_left == 0
