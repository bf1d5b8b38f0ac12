"""Store votes: the current one of each pair and stage, and an append-only history of changes."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.allocation.lease import LockedAssignment
from annotation.core.errors import Unacceptable, UnknownName, VoteConflict
from annotation.core.prepared import Prepared, PreparedInsert, PreparedUpdate
from annotation.core.version import VERSION
from annotation.models import Assignment, Display, Rating, VoteChange
from annotation.quality.scoring import study_verdict
from annotation.rating.client_report import ClientReport

MOST_CHANGES = 500  # of one pair by one annotator, lest a script fill the disk


def display_of(assignment: Assignment, pair_key: str) -> Display:
    """Return the display of a pair of the assignment.

    Raises: UnknownName when it isn't on the HIT.
    """
    key = pair_key.replace("\x00", "")[:64]  # PostgreSQL refuses NUL characters in queries
    display = _DISPLAY.first(assignment=assignment.pk, key=key)
    if display is None:
        raise UnknownName(_("That pair is not on this page. Please load the page again."))
    display.assignment = assignment
    return display


def _display(assignment: int, key: str) -> QuerySet[Display]:
    displays = Display.objects.filter(assignment=assignment, pair__key=key).order_by()
    return displays.select_related("pair").annotate(
        has_rating=Exists(Rating.objects.filter(display=OuterRef("pk"))), versions=change_count()
    )


def change_count() -> Coalesce:
    """Return an annotation of displays that counts their vote changes."""
    counted = VoteChange.objects.filter(display=OuterRef("pk")).order_by().values("display")
    return Coalesce(Subquery(counted.annotate(count=Count("pk")).values("count")), 0)


def _rating(display: int, stage: str) -> QuerySet[Rating]:
    return Rating.objects.filter(display=display, stage=stage).order_by()


def _last_change(display: int) -> "QuerySet[VoteChange, str]":
    return VoteChange.objects.filter(display=display).order_by("-pk").values_list("page", flat=True)[:1]


_NEW_CHANGE, _NEW_RATING = PreparedInsert(VoteChange), PreparedInsert(Rating)
_DISPLAY, _RATING, _LAST_CHANGE = Prepared(_display), Prepared(_rating), Prepared(_last_change)


def record_vote(
    locked: LockedAssignment,
    display: Display,
    stage: str,
    choice: str,
    *,
    at: datetime,
    report: ClientReport,
    reason: str = "",
    arm: str = "",
) -> Rating:
    """Store a vote in study order (A, B) and append it to the history, unless it changes nothing.

    Raises: Unacceptable when the choice isn't offered; VoteConflict when another page has changed the vote since.
    """
    if choice not in locked.assignment.hit.batch.study.offered_choices:
        raise Unacceptable(_("%(choice)s is not one of the choices on offer.") % {"choice": f"“{choice[:40]}”"})
    verdict = study_verdict(choice, display)
    before: int = display.versions  # type: ignore[attr-defined]
    rating = _RATING.first(display=display.pk, stage=stage) if display.has_rating else None  # type: ignore[attr-defined]
    if rating is not None and (rating.verdict, rating.reason) == (verdict, reason):
        rating.display = display
        display.version = before  # type: ignore[attr-defined]
        return rating
    display.version = before + 1  # type: ignore[attr-defined]
    if before >= MOST_CHANGES:
        raise Unacceptable(_("This choice was changed too often. It stays as it is."))
    if rating is not None:
        _refuse_stale(rating, before, report)
    earliest = earliest_start(locked.assignment, display, stage)
    active, wall = _times(locked.assignment, rating, report, earliest, at)
    values = {
        "verdict": verdict,
        "reason": reason,
        "active_seconds": active,
        "wall_seconds": wall,
        "late": locked.late,
        "software_version": VERSION,
    }
    change = VoteChange(
        display=display,
        stage=stage,
        received_at=at,
        chosen_at=report.moment(earliest=earliest, received_at=at),
        page=report.page[:32],
        source_opened=report.source_opened,
        **values,
    )
    _NEW_CHANGE.run([change])
    rating = rating or Rating(stage=stage)
    rating.display = display
    for name, value in {**values, "rated_at": at, "arm": arm}.items():
        setattr(rating, name, value)
    rating.table = display.table if stage == Rating.Stage.REVISED else None
    if rating._state.adding:
        _NEW_RATING.run([rating])
    else:
        rating.save()
    return rating


def _refuse_stale(rating: Rating, changes: int, report: ClientReport) -> None:
    """Refuse a choice from a page that does not know the last change, unless it made that change itself."""
    if report.version is None or report.version >= changes:
        return
    if report.page and report.page == _LAST_CHANGE.first(display=rating.display_id):
        return
    raise VoteConflict(_("You have chosen on another page since; that stays. Please choose again to change it."))


def _times(
    assignment: Assignment, rating: Rating | None, report: ClientReport, earliest: datetime, at: datetime
) -> tuple[float | None, float | None]:
    """Return the active and wall seconds of a choice; if not reported, wall time runs from the previous choice."""
    active, wall = report.seconds(earliest=earliest, received_at=at)
    if wall is None:
        before = (rating and rating.wall_seconds) or 0.0
        wall = before + _seconds_since_last(assignment, earliest, at)
    return larger_times(rating, active, wall)


def larger_times(rating: Rating | None, active: float | None, wall: float | None) -> tuple[float | None, float | None]:
    """Return the larger of the stored and the given times: a page that knows less time must not lower it."""
    if rating is None:
        return active, wall
    return _larger(rating.active_seconds, active), _larger(rating.wall_seconds, wall)


def _larger(before: float | None, now: float | None) -> float | None:
    return now if before is None else max(before, now or 0.0)


def earliest_start(assignment: Assignment, display: Display, stage: str) -> datetime:
    """Return the earliest time at which work on this pair can have started."""
    begun = display.second_shown_at if stage == Rating.Stage.REVISED else display.shown_at
    return begun or assignment.claimed_at or timezone.now()


def _seconds_since_last(assignment: Assignment, earliest: datetime, at: datetime) -> float:
    """Wall seconds since the pair was shown or the previous vote, whichever was later."""
    before = VoteChange.objects.filter(display__assignment=assignment, received_at__lt=at).order_by("-received_at")
    last = before.values_list("received_at", flat=True).first()
    return max((at - max(earliest, last or earliest)).total_seconds(), 0.0)


def record_times(assignment: Assignment, stage: str, times: Mapping[str, ClientReport], at: datetime) -> None:
    """Raise the times of a stage's votes to those reported; the history keeps the times of each choice."""
    for rating in _RATINGS.all(assignment=assignment.pk, stage=stage) if times else []:
        report = times.get(rating.display.pair.key, _NO_REPORT)
        earliest = earliest_start(assignment, rating.display, stage)
        active, wall = larger_times(rating, *report.seconds(earliest=earliest, received_at=at))
        if (active, wall) != (rating.active_seconds, rating.wall_seconds):
            _SET_TIMES.run(rating=rating.pk, active=active, wall=wall)


def _ratings(assignment: int, stage: str) -> QuerySet[Rating]:
    found = Rating.objects.filter(display__assignment=assignment, stage=stage).order_by()
    return found.select_related("display__pair")


def _set_times(rating: int, active: float, wall: float) -> tuple[QuerySet[Rating], dict[str, Any]]:
    return Rating.objects.filter(pk=rating), {"active_seconds": active, "wall_seconds": wall}


_NO_REPORT = ClientReport()
_RATINGS, _SET_TIMES = Prepared(_ratings), PreparedUpdate(_set_times)
