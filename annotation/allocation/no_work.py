"""Why an annotator has nothing to rate, and when to look again."""

from datetime import datetime

from django.db.models import Min
from django.utils.translation import gettext as _

from annotation.allocation import limits
from annotation.models import Annotator, Assignment, Batch, Slot
from annotation.quality.qualification import qualification_status
from annotation.recruitment.channels import channel_of


def has_ended(annotator: Annotator) -> bool:
    """Tell whether this annotator's work in the study has ended for good."""
    return bool(annotator.withdrawn_at or annotator.excluded or annotator.blocked_at)


def no_work_reason(annotator: Annotator, at: datetime) -> str:
    """Say why there is no HIT for this annotator now, and whether and when to come back."""
    if annotator.withdrawn_at:
        return _("You have withdrawn from this study, so there is nothing for you to rate. Thank you.")
    if annotator.excluded or annotator.blocked_at:
        return _("Your work in this study has ended. Thank you.")
    batches = Batch.objects.open().for_rating().filter(study_id=annotator.study_id, origin=Batch.Origin.COLLECTED)
    if not batches.exists():
        return _("Nothing is open for rating at the moment. Please look again later.")
    if _failed(annotator):
        return _("You did not pass the qualification for this study, so there is nothing for you to rate. Thank you.")
    if Slot.objects.free().filter(hit__batch__in=batches).exists():
        if limits.is_reached(annotator, channel_of(annotator)) or not limits.below_cap(annotator, list(batches)):
            return _("You have done as many HITs as you may do here now. Thank you!")
        return _("You have rated everything that is open to you. Thank you!")
    at_work = Assignment.objects.filter(hit__batch__in=batches, slot__isnull=False).claimed()
    soonest = at_work.exclude(annotator=annotator).aggregate(at=Min("expires_at"))["at"]
    if soonest is None:
        return _("Everything has been rated. Thank you!")
    minutes = max(1, round((soonest - at).total_seconds() / 60))
    return _("Every HIT is being worked on. The first may come free in %(minutes)d min: please look again then.") % {
        "minutes": minutes
    }


def _failed(annotator: Annotator) -> bool:
    found = qualification_status(annotator)
    return found.required and not found.passed and found.attempts_left == 0
