"""An annotator's consent and withdrawal."""

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.core.errors import ClaimRefused
from annotation.hits.slots import reopen_slots
from annotation.models import Annotator, Assignment, Consent


def latest_consent(annotator: Annotator) -> Consent | None:
    """Return the annotator's last answer to the study's current consent text."""
    return annotator.consents.filter(version=annotator.study.consent_version).order_by("-pk").first()


def answer_consent(*, annotator: Annotator, accepted: bool, at: datetime) -> Consent:
    """Record an answer to the current text, unless it repeats the last one. Earlier answers stay.

    Raises: ClaimRefused if the annotator has withdrawn, which is final.
    """
    if annotator.withdrawn_at:
        raise ClaimRefused(_("You have withdrawn from this study; that can't be taken back here."))
    latest = latest_consent(annotator)
    if latest is not None and latest.accepted == accepted:
        return latest
    return Consent.objects.create(
        annotator=annotator,
        version=annotator.study.consent_version,
        text=annotator.study.consent_text,
        accepted=accepted,
        answered_at=at,
    )


@transaction.atomic
def withdraw(*, annotator: Annotator, at: datetime) -> Annotator:
    """Withdraw an annotator for good: later findings and exports leave out all of their data.

    Their slots become free, so that others rate these HITs. Their pay stays due.
    """
    annotator = Annotator.objects.select_for_update(of=("self",)).select_related("study").get(pk=annotator.pk)
    if annotator.withdrawn_at is not None:
        return annotator
    answer_consent(annotator=annotator, accepted=False, at=at)
    annotator.withdrawn_at = at
    annotator.save(update_fields=["withdrawn_at"])
    filled = dict(annotator.assignments.filter(slot__isnull=False).values_list("pk", "hit_id"))
    reopen_slots(list(filled), set(filled.values()))
    annotator.assignments.filter(state=Assignment.State.CLAIMED).update(state=Assignment.State.EXPIRED)
    return annotator
