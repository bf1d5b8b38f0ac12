"""Update the time spent on a HIT's pairs when a stage is closed, which is later than the votes."""

from collections.abc import Mapping
from datetime import datetime

from django.db.models import QuerySet

from annotation.core.prepared import Prepared
from annotation.models import Assignment, Rating
from annotation.rating.client_report import ClientReport
from annotation.rating.store_vote import earliest_start, larger_times


def record_times(assignment: Assignment, stage: str, times: Mapping[str, ClientReport], at: datetime) -> None:
    """Raise the times of a stage's votes to those reported; the history keeps the times of each choice."""
    changed = []
    for rating in _RATINGS.all(assignment=assignment.pk, stage=stage) if times else []:
        report = times.get(rating.display.pair.key, _NO_REPORT)
        earliest = earliest_start(assignment, rating.display, stage)
        active, wall = larger_times(rating, *report.seconds(earliest=earliest, received_at=at))
        if (active, wall) != (rating.active_seconds, rating.wall_seconds):
            rating.active_seconds, rating.wall_seconds = active, wall
            changed.append(rating)
    Rating.objects.bulk_update(changed, ["active_seconds", "wall_seconds"])


def _ratings(assignment: int, stage: str) -> QuerySet[Rating]:
    found = Rating.objects.filter(display__assignment=assignment, stage=stage).order_by()
    return found.select_related("display__pair")


_NO_REPORT = ClientReport()
_RATINGS = Prepared(_ratings)
