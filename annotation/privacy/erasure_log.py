"""The log of erasures outside the database: a backup that is older than an erasure is restored without the person.

A line names a rater by the number of a row and the time at which it was made: it means nothing without the database.
"""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from annotation.models import Annotator


@dataclass(frozen=True)
class Noted:
    """A line of the log whose rater the database has."""

    annotator: Annotator
    keep_ratings: bool
    everywhere: bool


def noted_erasures(written: Iterable[str]) -> Iterator[Noted]:
    """Yield the erasures of a log whose raters the database has, in their order."""
    for line in written:
        noted = json.loads(line)
        found = Annotator.objects.select_related("study", "user").filter(pk=noted["rater"])
        annotator = found.filter(joined_at=datetime.fromisoformat(noted["joined_at"])).first()
        if annotator is not None:
            yield Noted(annotator, noted["keep_ratings"], noted["everywhere"])


def note_erasure(annotator: Annotator, *, at: datetime, keep_ratings: bool, everywhere: bool) -> None:
    """Write a line before the erasure is committed, so that none is lost by a crash in between."""
    line = {
        "at": at.isoformat(),
        "rater": annotator.pk,
        "joined_at": annotator.joined_at.isoformat(),
        "keep_ratings": keep_ratings,
        "everywhere": everywhere,
    }
    descriptor = os.open(settings.ERASURE_LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, json.dumps(line).encode() + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
