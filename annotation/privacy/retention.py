"""Delete raters' personal data after a study's retention period. Their ratings stay, under their codes."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib.sessions.models import Session
from django.db.models import Max, QuerySet

from annotation.annotators.participants import ERASED
from annotation.models import Annotator, Batch, Event, Mail, Study, Submission, WebhookEvent
from annotation.privacy.erasing import FROM_FILES, erase_rater, erase_submissions
from annotation.studies.log import log

SIGN_IN_DAYS = 7  # a lockout after failed sign-ins takes an hour


@dataclass(frozen=True)
class Expired:
    """A study past its retention period: since when, and how many raters' personal data are deleted."""

    study: Study
    since: datetime
    raters: int


def ended_at(study: Study) -> datetime | None:
    """Return when a study was archived or its last batch closed, or None while it runs."""
    if study.archived_at is not None:
        return study.archived_at
    if study.batches.filter(status__in=(Batch.Status.OPEN, Batch.Status.PAUSED)).exists():
        return None
    closed: datetime | None = study.batches.filter(status=Batch.Status.CLOSED).aggregate(at=Max("closed_at"))["at"]
    return closed


def expired_studies(at: datetime) -> Iterator[Expired]:
    """Find the studies past their retention period that still hold raters' personal data."""
    for study in Study.objects.filter(keep_personal_days__isnull=False).order_by("slug"):
        ended = ended_at(study)
        since = ended + timedelta(days=study.keep_personal_days or 0) if ended else None
        if since is not None and since <= at:
            raters = _raters_to_erase(study).count()
            if raters or _unclaimed_submissions(study).exists():
                yield Expired(study, since, raters)


def erase_expired(*, at: datetime) -> list[Expired]:
    """Delete due data, one rater a transaction to keep locks short. Idempotent."""
    done = list(expired_studies(at))
    for erasure in done:
        for annotator in _raters_to_erase(erasure.study):
            erase_rater(annotator=annotator, by=None, at=at, keep_ratings=True, logged=False)
        erase_submissions(erasure.study, _unclaimed_submissions(erasure.study))
        WebhookEvent.objects.filter(channel__study=erasure.study).delete()
        log(study=erasure.study, kind=Event.Kind.ERASED, at=at, changes={"raters": erasure.raters})
    return done


def erase_traces(*, at: datetime) -> int:
    """Delete expired sessions, and failed sign-ins and ended mails older than a week. Return the number of rows."""
    before = at - timedelta(days=SIGN_IN_DAYS)
    rows: list[QuerySet[Any]] = [Session.objects.filter(expire_date__lt=at), Mail.objects.filter(ended_at__lt=before)]
    rows += [model.objects.filter(attempt_time__lt=before) for model in (AccessAttempt, AccessFailureLog, AccessLog)]
    return sum(rows_of_model.delete()[0] for rows_of_model in rows)


def _raters_to_erase(study: Study) -> QuerySet[Annotator]:
    """Return the raters of whom more than a code is stored, without those from imported files."""
    return study.annotators.filter(erased_at=None).exclude(kind__in=FROM_FILES).order_by("pk")


def _unclaimed_submissions(study: Study) -> QuerySet[Submission]:
    """Return the submissions that a platform reported and whose participants never arrived."""
    return Submission.objects.filter(channel__study=study, participant=None).exclude(external_id__startswith=ERASED)
