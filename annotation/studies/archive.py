"""Archiving studies, and restoring them. Nothing is deleted."""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from annotation.models import Event, Study
from annotation.studies.log import log


@transaction.atomic
def archive_study(*, study: Study, by: User | None = None, reason: str = "", at: datetime | None = None) -> bool:
    """Archive a study. Return False if it was archived before.

    Its batches keep their status, but no HIT is given out; claimed HITs may be finished.
    """
    return _put(study, archived_at=at or timezone.now(), kind=Event.Kind.ARCHIVED, by=by, reason=reason, at=at)


@transaction.atomic
def restore_study(*, study: Study, by: User | None = None, reason: str = "", at: datetime | None = None) -> bool:
    """Restore an archived study, or return False if it wasn't. HITs of its open batches are given out again."""
    return _put(study, archived_at=None, kind=Event.Kind.RESTORED, by=by, reason=reason, at=at)


def _put(
    study: Study, *, archived_at: datetime | None, kind: str, by: User | None, reason: str, at: datetime | None
) -> bool:
    locked = Study.objects.select_for_update(of=("self",)).get(pk=study.pk)
    if (locked.archived_at is None) == (archived_at is None):
        study.archived_at = locked.archived_at
        return False
    locked.archived_at = study.archived_at = archived_at
    locked.save(update_fields=["archived_at"])
    log(study=locked, kind=kind, by=by, reason=reason.strip(), at=at)
    return True
