"""How a rater's work ended, and what the channel that they came through tells them then."""

from datetime import datetime

from annotation.models import Annotator, Assignment
from annotation.recruitment.base import Farewell, Outcome, adapter_of
from annotation.services.caps import channel_of
from annotation.services.consent import latest_consent
from annotation.services.qualification import standing

_RATED = (Assignment.Purpose.RATING, Assignment.Purpose.GOLD, Assignment.Purpose.REPEAT)


def farewell_of(*, annotator: Annotator, at: datetime) -> Farewell | None:
    """Return what an annotator's channel tells them when there is nothing more for them; None without a channel."""
    channel = channel_of(annotator)
    if channel is None:
        return None
    return adapter_of(channel).farewell(annotator=annotator, outcome=outcome_of(annotator), at=at)


def outcome_of(annotator: Annotator) -> Outcome:
    """Say how the work of an annotator ended who gets no further HIT now.

    Whoever has submitted a HIT has completed, whatever came after it: they did work that is owed to them.
    """
    mine = annotator.assignments.filter(purpose__in=_RATED)
    if mine.filter(state=Assignment.State.SUBMITTED).exists():
        return Outcome.COMPLETED
    consent, found = latest_consent(annotator), standing(annotator)
    declined = consent is not None and not consent.accepted
    failed = found.required and not found.attempts_left
    if declined or failed or annotator.excluded or annotator.blocked_at or annotator.withdrawn_at:
        return Outcome.SCREENED_OUT
    if mine.filter(state=Assignment.State.EXPIRED).exists():
        return Outcome.TIMED_OUT
    return Outcome.NOTHING
