"""Writing the study's log."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from annotation.models import Event, Study


def log(*, study: Study, kind: str, by: User | None = None, at: datetime | None = None, **what: Any) -> Event:
    """Add an event to a study's log; `what`: batch, annotator, assignment, reason, changes."""
    return Event.objects.create(study=study, kind=kind, by=by, happened_at=at or timezone.now(), **what)
