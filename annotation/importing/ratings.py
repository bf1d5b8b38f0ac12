"""Storing ratings that were collected elsewhere, in imported batches."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from annotation.core.errors import BadFile
from annotation.importing.rating_rows import RatingRow, classify_rows
from annotation.importing.rating_writer import RatingWriter
from annotation.models import Annotator, Study

__all__ = ["RatingRow", "StoredRatings", "store_ratings"]


@dataclass(frozen=True)
class StoredRatings:
    """Numbers of ratings added, unchanged, and left out as checks; unanswered rows don't count."""

    added: int
    unchanged: int
    checks: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """The numbers by name."""
        return {"added": self.added, "unchanged": self.unchanged}


@transaction.atomic
def store_ratings(
    *, study: Study, rows: Sequence[RatingRow], name: str, kind: str = Annotator.Kind.IMPORTED
) -> StoredRatings:
    """Add all ratings to a study, or none; stored ones must be equal.

    Raises: BadFile listing rows that contradict each other or stored ones.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    found = classify_rows(study, rows, kind)
    if found.bad:
        raise BadFile(name, found.bad)
    if found.fresh:
        RatingWriter(study, name, kind).write(found.fresh)
    answered = sum(row.verdict is not None for row in rows)
    added = sum(row.verdict is not None for row in found.fresh)
    return StoredRatings(added, answered - added)
