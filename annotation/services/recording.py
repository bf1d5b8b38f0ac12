"""Writing a vote down: the current one, and every change in a history that is only added to."""

from datetime import datetime

from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.errors import Unacceptable, UnknownName, VoteConflict
from annotation.models import Assignment, Display, Rating, VoteChange
from annotation.prepared import Prepared, PreparedInsert
from annotation.services.holding import Held
from annotation.services.scoring import screen_name, study_verdict
from annotation.services.sending import Sent
from annotation.version import VERSION

MOST_CHANGES = 500  # of one pair by one annotator: a person never needs them, a script must not fill the disk


def display_of(assignment: Assignment, pair_key: str) -> Display:
    """Return what this annotator sees of a pair.

    Raises: UnknownName when it isn't on the HIT.
    """
    key = pair_key.replace("\x00", "")[:64]  # PostgreSQL would not even look for a NUL character
    display = _DISPLAY.first(assignment=assignment.pk, key=key)
    if display is None:
        raise UnknownName(_("That pair is not on this page. Please load the page again."))
    display.assignment = assignment
    return display


def _display(assignment: int, key: str) -> QuerySet[Display]:
    displays = Display.objects.filter(assignment=assignment, pair__key=key).order_by()
    return displays.select_related("pair__generation_a", "pair__generation_b").annotate(
        has_rating=Exists(Rating.objects.filter(display=OuterRef("pk"))), versions=change_count()
    )


def change_count() -> Coalesce:
    """Return an annotation of displays with how often their votes were given or changed."""
    counted = VoteChange.objects.filter(display=OuterRef("pk")).order_by().values("display")
    return Coalesce(Subquery(counted.annotate(count=Count("pk")).values("count")), 0)


def _rating(display: int, stage: str) -> QuerySet[Rating]:
    return Rating.objects.filter(display=display, stage=stage).order_by()


def _last_change(display: int) -> "QuerySet[VoteChange, tuple[str, datetime]]":
    return VoteChange.objects.filter(display=display).order_by("-pk").values_list("page", "received_at")[:1]


_NEW_CHANGE, _NEW_RATING = PreparedInsert(VoteChange), PreparedInsert(Rating)
_DISPLAY, _RATING, _LAST_CHANGE = Prepared(_display), Prepared(_rating), Prepared(_last_change)


def record(
    held: Held, display: Display, stage: str, choice: str, *, at: datetime, sent: Sent, reason: str = "", arm: str = ""
) -> Rating:
    """Store a vote in study order and add it to the history; one that changes nothing is not added again.

    Raises: Unacceptable when the choice isn't offered; VoteConflict when another page has changed it since.
    """
    if choice not in held.assignment.hit.batch.study.offered_choices:
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
        _refuse_stale(held.assignment, rating, before, sent)
    earliest = _began(held.assignment, display, stage)
    active, wall = sent.seconds(earliest=earliest, received_at=at)
    values = {
        "verdict": verdict,
        "reason": reason,
        "active_seconds": active,
        "wall_seconds": wall if wall is not None else _seconds_since_last(held.assignment, earliest, at),
        "late": held.late,
        "software_version": VERSION,
    }
    change = VoteChange(
        display=display,
        stage=stage,
        received_at=at,
        chosen_at=sent.moment(earliest=earliest, received_at=at),
        page=sent.page[:32],
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


def _refuse_stale(assignment: Assignment, rating: Rating, changes: int, sent: Sent) -> None:
    """Refuse a choice from a page that doesn't know of the last change, unless it made that change itself."""
    if sent.version is None or sent.version >= changes:
        return
    page, received_at = _LAST_CHANGE.all(display=rating.display_id)[0]
    if sent.page and page == sent.page:
        return
    label = assignment.hit.batch.study.offered_choices[str(screen_name(rating.verdict, rating.display))]
    raise VoteConflict(
        _("You chose “%(label)s” at %(time)s UTC on another page; that stays. Please choose again to change it.")
        % {"label": label, "time": timezone.localtime(received_at).strftime("%H:%M:%S")}
    )


def _began(assignment: Assignment, display: Display, stage: str) -> datetime:
    """When work on this pair can have begun at the earliest."""
    begun = display.second_shown_at if stage == Rating.Stage.REVISED else display.shown_at
    return begun or assignment.claimed_at or timezone.now()


def _seconds_since_last(assignment: Assignment, earliest: datetime, at: datetime) -> float:
    """Wall seconds where the page counted none: since the pair was shown or the vote before, whichever was later."""
    before = VoteChange.objects.filter(display__assignment=assignment, received_at__lt=at).order_by("-received_at")
    last = before.values_list("received_at", flat=True).first()
    return max((at - max(earliest, last or earliest)).total_seconds(), 0.0)
