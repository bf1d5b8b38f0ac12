"""Storing ratings that were collected elsewhere: as batches, HITs and assignments like our own, marked imported."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from annotation.errors import BadFile
from annotation.models import Annotator, Study
from annotation.services.rating_rows import RatingRow, sort_out
from annotation.services.rating_writer import RatingWriter

__all__ = ["RatingRow", "StoredRatings", "store_ratings"]


@dataclass(frozen=True)
class StoredRatings:
    """What a file changed; rows that were shown but not answered are no ratings, and checks are left out."""

    added: int
    unchanged: int
    checks: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """The numbers alone."""
        return {"added": self.added, "unchanged": self.unchanged}


@transaction.atomic
def store_ratings(
    *, study: Study, rows: Sequence[RatingRow], name: str, kind: str = Annotator.Kind.IMPORTED
) -> StoredRatings:
    """Add ratings to a study, or nothing of them; those already there must say the same.

    Raises: BadFile listing rows that contradict each other or what is stored.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    found = sort_out(study, rows, kind)
    if found.bad:
        raise BadFile(name, found.bad)
    if found.fresh:
        RatingWriter(study, name, kind).write(found.fresh)
    answered = sum(row.verdict is not None for row in rows)
    added = sum(row.verdict is not None for row in found.fresh)
    return StoredRatings(added, answered - added)
