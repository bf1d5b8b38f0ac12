"""How far a rater is with a HIT: what is still open on which of its pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import BooleanField, ExpressionWrapper, QuerySet
from django.db.models.functions import Length
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.core.database.prepared import Prepared
from annotation.models import Assignment, Display, Rating
from annotation.questions.questions import MAIN
from annotation.rating.votes import asked_in, is_answered

FIRST, REVISED = Rating.Stage.FIRST, Rating.Stage.REVISED


@dataclass(frozen=True)
class OpenPair:
    """A pair on which something of the present stage is missing.

    target  : id of the place on the page where it is asked for
    missing : what, where some of it is there
    """

    place: int
    target: str
    missing: str = ""


@dataclass(frozen=True)
class HitProgress:
    """Progress of a HIT; `open` holds the pairs on which something of the present stage is missing."""

    rated: int
    total: int
    open: list[OpenPair] = field(default_factory=list)
    expires_at: datetime | None = None
    now: datetime | None = None
    late: bool = False
    locks: bool = False
    second: bool = False


def status(assignment: Assignment, now: datetime, displays: Sequence[Display] | None = None) -> HitProgress:
    """Say what is missing of the present stage: in no query if given `displays`, else in one, or two for many questions."""
    second = assignment.locked_at is not None
    stage = REVISED if second else FIRST
    asked = asked_in(assignment.hit.batch.study, stage)
    if displays is not None:
        total = len(displays)
        open_ = [_open_pair(one.position, one.pair.key, _given_on(one, stage), **asked) for one in displays]
    elif asked == {"questions": 1, "least": 0}:
        places = _PLACES.all(assignment=assignment.pk, stage=stage, **asked)
        total = len(places)
        open_ = [None if done else OpenPair(position + 1, f"pair-{key}") for position, key, done in places]
    else:
        keys = _KEYS.all(assignment=assignment.pk)
        given: dict[int, dict[int, int]] = {display: {} for display, _position, _key in keys}
        for display, question, length in _GIVEN.all(assignment=assignment.pk, stage=stage):
            given[display][question] = length
        total = len(keys)
        open_ = [_open_pair(position, key, given[display], **asked) for display, position, key in keys]
    missing = [one for one in open_ if one is not None]
    expires = assignment.expires_at
    return HitProgress(
        rated=total - len(missing),
        total=total,
        open=missing,
        expires_at=expires,
        now=now,
        late=assignment.state == Assignment.State.EXPIRED or (expires is not None and expires <= now),
        locks=bool(assignment.arm) and not second,
        second=second,
    )


def _given_on(display: Display, stage: str) -> dict[int, int]:
    """Return question → length of the reason, of the answers on a display of `displays_of`."""
    return {question: len(rating.reason) for (of, question), rating in display.votes.items() if of == stage}


def _open_pair(position: int, key: str, given: Mapping[int, int], questions: int, least: int) -> OpenPair | None:
    """Describe what is missing on a pair; None where nothing is."""
    numbers = [number for number in range(questions) if number not in given]
    needs_reason = given.get(MAIN, 0) < least
    if not numbers and not needs_reason:
        return None
    target = f"reason-{key}" if needs_reason else f"vote-{key}-{numbers[0]}"
    if MAIN in numbers:
        target = f"pair-{key}"
    return OpenPair(position + 1, target, _missing(numbers, needs_reason, least) if given else "")


def _missing(numbers: Sequence[int], needs_reason: bool, least: int) -> str:
    parts = []
    if numbers:
        listed = ", ".join(str(number + 1) for number in numbers)
        parts.append(ngettext("question %(places)s", "questions %(places)s", len(numbers)) % {"places": listed})
    if needs_reason:
        parts.append(
            ngettext("reason of %(least)d character or more", "reason of %(least)d characters or more", least)
            % {"least": least}
        )
    return _(" and ").join(parts)


def _places(assignment: int, stage: str, questions: int, least: int) -> "QuerySet[Display, tuple[int, str, bool]]":
    answered = ExpressionWrapper(is_answered(stage, questions, least), BooleanField())
    rows = Display.objects.filter(assignment=assignment).annotate(answered=answered).order_by("position")
    return rows.values_list("position", "pair__key", "answered")


def _keys(assignment: int) -> "QuerySet[Display, tuple[int, int, str]]":
    displays = Display.objects.filter(assignment=assignment).order_by("position")
    return displays.values_list("pk", "position", "pair__key")


def _given(assignment: int, stage: str) -> "QuerySet[Rating, tuple[int, int, int]]":
    answers = Rating.objects.filter(display__assignment=assignment, stage=stage).order_by()
    return answers.annotate(length=Length("reason")).values_list("display", "question", "length")


_PLACES, _KEYS, _GIVEN = Prepared(_places), Prepared(_keys), Prepared(_given)
