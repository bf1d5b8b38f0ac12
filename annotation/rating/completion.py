"""How a rater's work ended, and the completion message of the channel that they came through."""

from datetime import datetime

from django.db.models import QuerySet

from annotation.annotators.consent import latest_consent
from annotation.annotators.participants import channel_of
from annotation.models import Annotator, Assignment
from annotation.quality.qualification import qualification_status
from annotation.rating.votes import IS_COUNTED
from annotation.recruitment.base import CompletionMessage, WorkOutcome, adapter_of


def completion_message_of(*, annotator: Annotator, at: datetime) -> CompletionMessage | None:
    """Return the completion message of an annotator's channel; None without a channel."""
    channel = channel_of(annotator)
    if channel is None:
        return None
    adapter = adapter_of(channel)
    return adapter.completion_message(
        annotator=annotator, outcome=outcome_of(annotator, adapter.work_of(annotator)), at=at
    )


def outcome_of(annotator: Annotator, mine: QuerySet[Assignment]) -> WorkOutcome:
    """Return how an annotator's work on these HITs ended.

    One counted or paid HIT makes it completed, whatever came after: they are owed for that work.
    """
    submitted = mine.filter(state=Assignment.State.SUBMITTED)
    if (submitted if annotator.study.pay_late else submitted.filter(IS_COUNTED)).exists():
        return WorkOutcome.COMPLETED
    consent, found = latest_consent(annotator), qualification_status(annotator)
    declined = consent is not None and not consent.accepted
    failed = found.required and not found.attempts_left
    if declined or failed or annotator.excluded or annotator.blocked_at or annotator.withdrawn_at:
        return WorkOutcome.SCREENED_OUT
    if submitted.exists() or mine.filter(state=Assignment.State.EXPIRED).exists():
        return WorkOutcome.TIMED_OUT
    return WorkOutcome.NOTHING
