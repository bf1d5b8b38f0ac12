"""What a rater's page shows: texts on the sides drawn for them, under opaque keys, and nothing of who wrote what."""

import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, Exists, OuterRef, QuerySet

from annotation.forms import PAIR_FLAGS
from annotation.keys import owner_key
from annotation.markdown import render_generation
from annotation.models import Assignment, Batch, Display, Flag, Rating
from annotation.prepared import Prepared, with_related
from annotation.services.checks import CHECKS, gold_ahead
from annotation.services.claims import MOST_AHEAD, hits_ahead
from annotation.services.qualification import qualification_hits
from annotation.services.queue import open_batches
from annotation.services.recording import change_count
from annotation.services.second_stage import LONGEST_REASON, ShownRow, shown_rows
from annotation.services.votes import screen_choice
from annotation.wording import spoken

FIRST, REVISED = Rating.Stage.FIRST, Rating.Stage.REVISED
QUALIFICATION = Assignment.Purpose.QUALIFICATION
SUBMITTED = Assignment.State.SUBMITTED


@dataclass(frozen=True)
class Told:
    """What is said about one pair's answer that was refused; `choice` and `reason` are kept in its form."""

    key: str
    problem: str
    choice: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Card:
    """One pair as its rater sees it; `version` is how many changes of its votes the page knows of."""

    key: str
    place: int
    left: str
    right: str
    choice: str | None
    saved_at: datetime | None
    version: int
    flags: Sequence[Flag]
    problem: str = ""


@dataclass(frozen=True)
class SecondCard:
    """One pair in the second stage: decided, open with its comparison table, or closed until its turn comes."""

    card: Card
    state: str
    first: str
    first_label: str
    second: str | None
    second_label: str
    reason: str
    rows: Sequence[ShownRow] = ()
    choice: str = ""
    saved_at: datetime | None = None

    @property
    def kept(self) -> bool:
        """Tell whether the second choice is the first one."""
        return self.second == self.first


@dataclass(frozen=True)
class Status:
    """How far a HIT is; `open` holds (place, key) of the pairs that this stage still asks about."""

    rated: int
    total: int
    open: list[tuple[int, str]] = field(default_factory=list)
    expires_at: datetime | None = None
    now: datetime | None = None
    late: bool = False
    locks: bool = False
    second: bool = False


@dataclass(frozen=True)
class HitPlace:
    """The HIT's number among those of its rater; `total` is None where there is nothing to say of it."""

    number: int
    total: int | None
    more: bool = False
    practice: bool = False


def displays_of(assignment: Assignment) -> list[Display]:
    """Return what a rater sees of each pair, in their order, with all that its card needs."""
    displays = _DISPLAYS.all(assignment=assignment.pk)
    for display in displays:
        display.assignment = assignment
    # The first look at a HIT is the most frequent one, and there is nothing of either yet.
    rated = any(display.has_ratings for display in displays)  # type: ignore[attr-defined]
    reported = any(display.has_flags for display in displays)  # type: ignore[attr-defined]
    with_related(displays, "ratings", _RATINGS.all(assignment=assignment.pk) if rated else [], "display")
    with_related(displays, "flags", _FLAGS.all(assignment=assignment.pk) if reported else [], "display")
    return displays


def _displays(assignment: int) -> QuerySet[Display]:
    related = Display.objects.select_related("pair__generation_a", "pair__generation_b", "table")
    found = related.filter(assignment=assignment).annotate(
        version=change_count(),
        has_ratings=Exists(Rating.objects.filter(display=OuterRef("pk"))),
        has_flags=Exists(Flag.objects.filter(display=OuterRef("pk"))),
    )
    return found.order_by("position")


def _ratings(assignment: int) -> QuerySet[Rating]:
    return Rating.objects.filter(display__assignment=assignment)


def _flags(assignment: int) -> QuerySet[Flag]:
    return Flag.objects.filter(display__assignment=assignment)


_DISPLAYS, _RATINGS, _FLAGS = Prepared(_displays), Prepared(_ratings), Prepared(_flags)


def frame(assignment: Assignment, page: str = "") -> dict[str, object]:
    """Return what every part of the page needs; `page` names the loaded page, a new one unless given."""
    study = assignment.hit.batch.study
    choices = study.offered_choices
    return {
        "assignment": assignment,
        "owner": owner_key(assignment.annotator.user_id),
        "study": study,
        "question": spoken(study.question),
        "source_label": spoken(study.source_label),
        "label_left": choices["left"],
        "label_right": choices["right"],
        "choices": list(choices.items()),
        "flag_kinds": PAIR_FLAGS,
        "page": page or secrets.token_urlsafe(9),
    }


def first_page(assignment: Assignment, now: datetime, told: Told | None = None) -> dict[str, object]:
    """Return the context of the page as it is until its first votes are closed: of a table it holds nothing."""
    displays = displays_of(assignment)
    cards = [card_of(display, told) for display in displays]
    return {**_around(assignment), "cards": cards, "status": status(assignment, now, displays)}


def second_page(
    assignment: Assignment, now: datetime, opened: Display | None, told: Told | None = None, page: str = ""
) -> dict[str, object]:
    """Return the context of the page when its first votes are closed, with one pair open or none."""
    return {**_around(assignment, page), **second_stage(assignment, now, opened, told)}


def second_stage(
    assignment: Assignment, now: datetime, opened: Display | None, told: Told | None = None
) -> dict[str, object]:
    """Return the part of that context which a second vote changes."""
    displays = displays_of(assignment)
    cards = [_second_card(display, opened, told) for display in displays]
    decided = {card.card.key: card.second for card in cards}
    return {
        "cards": cards,
        "longest_reason": LONGEST_REASON,
        "changing": opened is not None and decided.get(opened.pair.key) is not None,
        "status": status(assignment, now, displays),
    }


def card_of(display: Display, told: Told | None = None, *, texts: bool = True) -> Card:
    """Build one pair's card from a display of `displays_of`; one that shows no texts need not have them rendered."""
    left, right = texts_of(display) if texts else ("", "")
    rating = _rating(display, FIRST)
    return Card(
        key=display.pair.key,
        place=display.position + 1,
        left=left,
        right=right,
        choice=screen_choice(rating) if rating else None,
        saved_at=rating.rated_at if rating else None,
        version=display.version,  # type: ignore[attr-defined]
        flags=[flag for flag in display.flags.all() if flag.row is None and flag.taken_back_at is None],
        problem=told.problem if told and told.key == display.pair.key else "",
    )


def voted_card(rating: Rating) -> Card:
    """Build the card of a pair that has just been voted on, as `record` returned it: without flags, which stand beside it."""
    display = rating.display
    left, right = texts_of(display)
    return Card(
        key=display.pair.key,
        place=display.position + 1,
        left=left,
        right=right,
        choice=screen_choice(rating),
        saved_at=rating.rated_at,
        version=display.version,  # type: ignore[attr-defined]
        flags=(),
    )


def _places(assignment: int, stage: str) -> "QuerySet[Display, tuple[int, str, bool]]":
    voted = Exists(Rating.objects.filter(display=OuterRef("pk"), stage=stage))
    rows = Display.objects.filter(assignment=assignment).annotate(voted=voted).order_by("position")
    return rows.values_list("position", "pair__key", "voted")


_PLACES = Prepared(_places)


def status(assignment: Assignment, now: datetime, displays: Sequence[Display] | None = None) -> Status:
    """Count what the present stage has and lacks, in one query; in none where `displays_of` was asked before."""
    second = assignment.locked_at is not None
    stage = REVISED if second else FIRST
    if displays is not None:
        places = [(one.position, one.pair.key, _rating(one, stage) is not None) for one in displays]
    else:
        places = _PLACES.all(assignment=assignment.pk, stage=stage)
    left = [(position + 1, key) for position, key, done in places if not done]
    expires = assignment.expires_at
    return Status(
        rated=len(places) - len(left),
        total=len(places),
        open=left,
        expires_at=expires,
        now=now,
        late=assignment.state == Assignment.State.EXPIRED or (expires is not None and expires <= now),
        locks=bool(assignment.arm) and not second,
        second=second,
    )


def hit_place(assignment: Assignment) -> HitPlace:
    """Count the rater's HITs so that no count tells which of them are hidden checks.

    A check takes none of the HITs that are left, so a count of done and left ones would grow by one at each. The total
    is therefore made of the HITs for ratings alone, which a check does not change, raised by the share that checks are
    expected to have. A returned check takes one off, as a returned HIT for ratings does.
    """
    if assignment.purpose == QUALIFICATION:
        done = assignment.annotator.assignments.filter(state=Assignment.State.SUBMITTED)
        rated = done.filter(purpose=QUALIFICATION, attempt=assignment.attempt).count()
        return HitPlace(rated + 1, qualification_hits(assignment.annotator).count(), practice=True)
    over = {(state, purpose): count for state, purpose, count in _OVER.all(annotator=assignment.annotator_id)}
    purposes = Counter({purpose: count for (state, purpose), count in over.items() if state == SUBMITTED})
    batches = open_batches(assignment.annotator)
    number, ahead = purposes.total() + 1, hits_ahead(assignment.annotator, batches)
    if ahead >= MOST_AHEAD:
        return HitPlace(number, MOST_AHEAD, more=True)
    returned = sum(over.get((Assignment.State.RETURNED, purpose), 0) for purpose in CHECKS)
    purposes[assignment.purpose] += 1
    ratings = purposes[Assignment.Purpose.RATING] + ahead - returned
    total = ratings + _checks_expected(assignment, batches, purposes, ratings)
    return HitPlace(number, max(total, number + min(ahead, 1)))


def _over(annotator: int) -> "QuerySet[Assignment, tuple[str, str, int]]":
    over = Assignment.objects.filter(annotator=annotator, state__in=(SUBMITTED, Assignment.State.RETURNED))
    counted = over.exclude(purpose=QUALIFICATION).order_by().values("state", "purpose").annotate(count=Count("pk"))
    return counted.values_list("state", "purpose", "count")


_OVER = Prepared(_over)


def _checks_expected(assignment: Assignment, batches: Sequence[Batch], given: Counter[str], ratings: int) -> int:
    """Return how many checks come with so many HITs for ratings, by their share, and as far as there are any.

    A check that is given moves from those ahead to those given, so that its coming changes nothing here.
    """
    rating = [batch for batch in batches if batch.purpose == Batch.Purpose.RATING]
    gold = max((batch.gold_rate for batch in rating), default=0.0)
    repeat = max((batch.repeat_rate for batch in rating), default=0.0)
    share = min(gold + repeat, 0.5)
    if not share:
        return 0
    there_are = given[Assignment.Purpose.GOLD] + given[Assignment.Purpose.REPEAT]
    if gold:
        there_are += gold_ahead(assignment.annotator, assignment.hit.batch).count()
    if repeat:
        there_are += max(ratings - 1 - given[Assignment.Purpose.REPEAT], 0)
    return min(round(ratings / (1 - share)) - ratings, there_are)


def _around(assignment: Assignment, page: str = "") -> dict[str, object]:
    return {
        **frame(assignment, page),
        "source": assignment.hit.matchup.instance.source,
        "hit_place": hit_place(assignment),
        "may_return": assignment.purpose != QUALIFICATION,
        "has_notes": getattr(assignment, "has_notes", True),  # unknown: then they are looked for
    }


def texts_of(display: Display) -> tuple[str, str]:
    pair = display.pair
    first, second = pair.generation_a.text, pair.generation_b.text
    if display.assignment.hit.batch.study.render_markdown:
        first, second = render_generation(first), render_generation(second)
    return (first, second) if display.a_is_left else (second, first)


def _second_card(display: Display, opened: Display | None, told: Told | None) -> SecondCard:
    is_open = opened is not None and opened.pk == display.pk
    card = card_of(display, told, texts=is_open)
    labels = display.assignment.hit.batch.study.offered_choices
    second = _rating(display, REVISED)
    first, chosen = card.choice or "", screen_choice(second) if second else None
    tried = told if told and told.key == card.key else None
    return SecondCard(
        card=card,
        state="open" if is_open else "decided" if second else "closed",
        first=first,
        first_label=labels.get(first, first),
        second=chosen,
        second_label=labels.get(chosen or "", ""),
        reason=tried.reason if tried else second.reason if second else "",
        rows=shown_rows(display) if is_open else (),
        choice=(tried.choice if tried else chosen) or "",
        saved_at=second.rated_at if second else None,
    )


def _rating(display: Display, stage: str) -> Rating | None:
    return next((one for one in display.ratings.all() if one.stage == stage), None)
