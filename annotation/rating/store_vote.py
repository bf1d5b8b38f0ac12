"""Store votes: the current one of each pair and stage, and an append-only history of changes."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.allocation.lease import LockedHit
from annotation.core.database.prepared import Prepared, PreparedInsert, PreparedUpdate
from annotation.core.errors import Unacceptable, UnknownName, VoteConflict
from annotation.core.version import VERSION
from annotation.models import Assignment, Display, Rating, VoteChange
from annotation.questions.questions import LONGEST_REASON, MAIN, Answer

MOST_CHANGES = 500  # of one pair and question by one annotator; a script could fill the disk
_CLOCKS_APART = timedelta(minutes=5)


@dataclass(frozen=True)
class ClientReport:
    """A choice's report by the page's script. A form without JavaScript sends none.

    page           : identifies the loaded page, which distinguishes tabs
    version        : number of changes of this pair's votes that the page knew of
    chosen_at      : when the choice was made, by the browser's clock
    active_seconds : while this pair was read, with the page visible and input in the last 30 s
    wall_seconds   : while this pair was read, pauses included
    source_opened  : whether the source was open on a page of this HIT before the choice
    translated     : whether the browser had translated the page

    Times are per pair and stage, summed over visits, reloads and tabs. One pair is current at a time, so the pairs'
    times sum to their HIT's.
    """

    page: str = ""
    version: int | None = None
    chosen_at: datetime | None = None
    active_seconds: float | None = None
    wall_seconds: float | None = None
    source_opened: bool | None = None
    translated: bool | None = None

    def moment(self, *, earliest: datetime, received_at: datetime) -> datetime | None:
        """When the choice was made, or None for an impossible time."""
        if self.chosen_at is None or not earliest - _CLOCKS_APART <= self.chosen_at <= received_at + _CLOCKS_APART:
            return None
        return self.chosen_at

    def seconds(self, *, earliest: datetime, received_at: datetime) -> tuple[float | None, float | None]:
        """Active and wall seconds, each at most the time that has passed, or None where not reported."""
        passed = max((received_at - earliest).total_seconds(), 0.0)
        wall = _within(self.wall_seconds, passed)
        return _within(self.active_seconds, passed if wall is None else wall), wall


def _within(seconds: float | None, limit: float) -> float | None:
    # NaN fails the comparison, and gives None too.
    return min(seconds, limit) if seconds is not None and 0 <= seconds < math.inf else None


@dataclass(frozen=True)
class VotedDisplay:
    """A display with the key and the times of a stage's vote on the main question. `answered` when the stage lacks nothing."""

    position: int
    key: str
    answered: bool
    rating: int
    active: float | None
    wall: float | None
    shown_at: datetime | None
    second_shown_at: datetime | None


VOTED = ("position", "pair__key", "answered", "rating", "active", "wall", "shown_at", "second_shown_at")


def display_of(assignment: Assignment, pair_key: str, question: int = MAIN) -> Display:
    """Return the display of a pair of the assignment, with what `record_vote` needs of one question.

    Raises: UnknownName when it isn't on the HIT.
    """
    key = pair_key.replace("\x00", "")[:64]  # PostgreSQL refuses NUL characters in queries
    display = _DISPLAY.first(assignment=assignment.pk, key=key, question=question)
    if display is None:
        raise UnknownName(_("That pair is not on this page. Please load the page again."))
    display.assignment = assignment
    return display


def _display(assignment: int, key: str, question: int) -> QuerySet[Display]:
    displays = Display.objects.filter(assignment=assignment, pair__key=key).order_by()
    columns = {
        "has_ratings": Exists(Rating.objects.for_question(question).filter(display=OuterRef("pk"))),
        "version": change_count(question),
    }
    return displays.select_related("pair").annotate(**columns)


def change_count(question: int) -> Coalesce:
    """Return an annotation of displays that counts the vote changes of a question."""
    counted = VoteChange.objects.for_question(question).filter(display=OuterRef("pk")).order_by().values("display")
    return Coalesce(Subquery(counted.annotate(count=Count("pk")).values("count")), 0)


def _rating(display: int, stage: str, question: int) -> QuerySet[Rating]:
    return Rating.objects.for_question(question).filter(display=display, stage=stage).order_by()


def _last_change(display: int, question: int) -> "QuerySet[VoteChange, str]":
    changes = VoteChange.objects.for_question(question).filter(display=display)
    return changes.order_by("-pk").values_list("page", flat=True)[:1]


def _last_received(assignment: int, at: datetime) -> "QuerySet[VoteChange, datetime]":
    changes = VoteChange.objects.for_question(MAIN).filter(display__assignment=assignment, received_at__lt=at)
    return changes.order_by("-received_at").values_list("received_at", flat=True)[:1]


_NEW_CHANGE, _NEW_RATING = PreparedInsert(VoteChange), PreparedInsert(Rating)
_DISPLAY, _RATING = Prepared(_display), Prepared(_rating)
_LAST_CHANGE, _LAST_RECEIVED = Prepared(_last_change), Prepared(_last_received)


def record_vote(
    locked: LockedHit,
    display: Display,
    stage: str,
    choice: str,
    *,
    at: datetime,
    report: ClientReport,
    question: int = MAIN,
    reason: str | None = None,
    arm: str = "",
) -> Rating:
    """Store a vote in study order (A, B) and append it to the history, unless it changes nothing.

    display : of `display_of`, for the same question
    reason  : None keeps the one given before
    Raises: Unacceptable when the choice isn't offered; VoteConflict when another page has changed the vote since.
    """
    answer = _offered_answer(locked.assignment, display, question, choice)
    before = display.version
    rating = None
    if display.has_ratings:
        rating = _RATING.first(display=display.pk, stage=stage, question=question)
    if reason is None:
        reason = rating.reason if rating else ""
    if rating is not None and (rating.answer, rating.reason) == (answer, reason):
        rating.display = display
        return rating
    display.version = before + 1
    if before >= MOST_CHANGES:
        raise Unacceptable(_("This choice was changed too often. It stays as it is."))
    if rating is not None:
        _refuse_stale(rating, before, report)
    earliest = earliest_start(locked.assignment, display, stage)
    active = wall = None
    if question == MAIN:  # the times are of the pair
        active, wall = _times(locked.assignment, rating, report, earliest, at)
    values = {
        "question": question,
        "reason": reason,
        "late": locked.late,
        "software_version": VERSION,
        "verdict": answer.verdict,
        "strength": answer.strength,
        "tie_kind": answer.tie_kind,
        "active_seconds": active,
        "wall_seconds": wall,
    }
    _add_change(display, stage, report, earliest, at, values)
    values |= {"rated_at": at, "arm": arm, "translated": report.translated}
    return _store(rating or Rating(stage=stage), display, values)


def _offered_answer(assignment: Assignment, display: Display, question: int, choice: str) -> Answer:
    """Return a choice as an answer in study order. Raises: Unacceptable when the question doesn't offer it."""
    if choice not in assignment.hit.batch.study.questions[question].choices:
        raise Unacceptable(_("%(choice)s is not one of the choices on offer.") % {"choice": f"“{choice[:40]}”"})
    return display.study_answer(choice)


def _add_change(
    display: Display, stage: str, report: ClientReport, earliest: datetime, at: datetime, values: Mapping[str, Any]
) -> None:
    """Append a vote to the history, with what the page reported of it."""
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


def _store(rating: Rating, display: Display, values: Mapping[str, Any]) -> Rating:
    """Store a vote's current values, in its row or a new one."""
    rating.display = display
    for name, value in values.items():
        setattr(rating, name, value)
    rating.table = display.table if rating.stage == Rating.Stage.REVISED else None
    if rating._state.adding:
        _NEW_RATING.run([rating])
    else:
        rating.save()
    return rating


def cleaned_reason(reason: str) -> str:
    """Return a reason as it is stored.

    Raises: Unacceptable when it is too long.
    """
    reason = reason.replace("\x00", "").replace("\r\n", "\n").strip()
    if len(reason) > LONGEST_REASON:
        raise Unacceptable(_("The reason is longer than %(most)d characters.") % {"most": LONGEST_REASON})
    return reason


def _refuse_stale(rating: Rating, changes: int, report: ClientReport) -> None:
    """Refuse a choice from a page that does not know the last change, unless it made that change itself."""
    if report.version is None or report.version >= changes:
        return
    if report.page and report.page == _LAST_CHANGE.first(display=rating.display_id, question=rating.question):
        return
    raise VoteConflict(_("You have chosen on another page since; that stays. Please choose again to change it."))


def _times(
    assignment: Assignment, rating: Rating | None, report: ClientReport, earliest: datetime, at: datetime
) -> tuple[float | None, float | None]:
    """Return the active and wall seconds of a choice. If not reported, wall time runs from the previous choice."""
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


def earliest_start(assignment: Assignment, display: Display | VotedDisplay, stage: str) -> datetime:
    """Return the earliest time at which work on this pair can have started."""
    begun = display.second_shown_at if stage == Rating.Stage.REVISED else display.shown_at
    return begun or assignment.claimed_at or timezone.now()


def _seconds_since_last(assignment: Assignment, earliest: datetime, at: datetime) -> float:
    """Wall seconds since the pair was shown or the previous vote on a main question, whichever was later."""
    last = _LAST_RECEIVED.first(assignment=assignment.pk, at=at)
    return max((at - max(earliest, last or earliest)).total_seconds(), 0.0)


def record_times(
    assignment: Assignment,
    stage: str,
    displays: Iterable[VotedDisplay],
    times: Mapping[str, ClientReport],
    at: datetime,
) -> None:
    """Raise the times of a stage's votes to those reported. The history keeps the times of each choice."""
    for display in displays if times else []:
        rating = Rating(active_seconds=display.active, wall_seconds=display.wall)
        earliest = earliest_start(assignment, display, stage)
        report = times.get(display.key, _NO_REPORT)
        active, wall = larger_times(rating, *report.seconds(earliest=earliest, received_at=at))
        if (active, wall) != (rating.active_seconds, rating.wall_seconds):
            _SET_TIMES.run(rating=display.rating, active=active, wall=wall)


def with_main_vote(displays: QuerySet[Display], stage: str) -> QuerySet[Display]:
    """Annotate displays with the key and the times of a stage's vote on the main question."""
    # Subqueries, not a join: PostgreSQL, with statistics of an emptier table, would join by reading every rating.
    main = Rating.objects.for_question(MAIN).filter(display=OuterRef("pk"), stage=stage).order_by()
    return displays.annotate(
        rating=Subquery(main.values("pk")),
        active=Subquery(main.values("active_seconds")),
        wall=Subquery(main.values("wall_seconds")),
    )


def _set_times(rating: int, active: float, wall: float) -> tuple[QuerySet[Rating], dict[str, Any]]:
    return Rating.objects.for_question(MAIN).filter(pk=rating), {"active_seconds": active, "wall_seconds": wall}


_NO_REPORT = ClientReport()
_SET_TIMES = PreparedUpdate(_set_times)
