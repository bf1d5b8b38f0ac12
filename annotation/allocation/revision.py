"""Changes of a rater's last HIT shortly after its submission. The HIT stays submitted and keeps its slot."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from annotation.core.database.prepared import Prepared
from annotation.models import Annotator, Assignment, Batch, Submission

PERIOD = timedelta(minutes=2)
_OF_PLATFORMS = (Annotator.Kind.PROLIFIC, Annotator.Kind.MTURK)
_DECIDED = (Submission.State.APPROVED, Submission.State.REJECTED, Submission.State.RETURNED)


def is_revisable(assignment: Assignment, at: datetime) -> bool:
    """Tell whether a submitted HIT may still be changed by its rater: the last one, within PERIOD.

    Not once the batch is closed, the HIT or its rater is excluded, a hidden check has blocked the rater, or the platform
    has decided on the work. Qualifications are never changed, since their result is shown at once.
    """
    if not is_changeable(assignment, at):
        return False
    newer = Assignment.objects.filter(annotator__user=assignment.annotator.user_id)
    return not newer.filter(submitted_at__gt=assignment.submitted_at).exists()


def is_changeable(assignment: Assignment, at: datetime) -> bool:
    """Tell whether a submitted HIT, if it is its rater's last one, may still be changed."""
    if assignment.state != Assignment.State.SUBMITTED or assignment.purpose == Assignment.Purpose.QUALIFICATION:
        return False
    if assignment.excluded or assignment.submitted_at is None or at >= assignment.submitted_at + PERIOD:
        return False
    annotator, batch = assignment.annotator, assignment.hit.batch
    if annotator.excluded or annotator.withdrawn_at or annotator.blocked_at:
        return False
    if batch.status == Batch.Status.CLOSED or batch.study.archived_at is not None:
        return False
    return annotator.kind not in _OF_PLATFORMS or not _is_decided(annotator)


def _is_decided(annotator: Annotator) -> bool:
    submissions = Submission.objects.filter(participant__annotator=annotator).order_by("-pk")
    return submissions.values_list("state", flat=True).first() in _DECIDED


def last_revisable(user: int, at: datetime, latest: Assignment | None = None) -> Assignment | None:
    """Return the HIT that a user may still change, or None without one.

    latest : the HIT that they submitted last, where that is known
    """
    latest = latest or _LATEST.first(user=user, since=at - PERIOD)
    return latest if latest is not None and is_changeable(latest, at) else None


def _latest(user: int, since: datetime) -> "QuerySet[Assignment, Any]":
    submitted = Assignment.objects.filter(annotator__user=user, submitted_at__gt=since)
    return submitted.select_related("annotator", "hit__batch__study").order_by("-submitted_at")[:1]


_LATEST = Prepared(_latest)
