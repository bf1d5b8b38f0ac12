"""Contexts of a rater's HIT page: texts on the sides drawn for them, under opaque keys, without the systems' names."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.annotators.messages import unread_by
from annotation.core.conversations import stored_content
from annotation.core.database.prepared import Prepared
from annotation.core.markdown import shown_text, shown_texts
from annotation.hits.displays import attach_votes
from annotation.models import Assignment, Display, Flag, Hit, Instance, Rating, VoteChange
from annotation.quality.qualification import hits_in_attempt
from annotation.questions.labels import choice_name
from annotation.questions.questions import MAIN
from annotation.rating.second_stage import ShownRow, shown_rows
from annotation.rating.store_vote import change_count
from annotation.rating.vote_context import (
    AskedQuestion,
    CardAnswer,
    RejectedAnswer,
    answers_on,
    asked_questions,
    base_context,
    status,
)

FIRST, REVISED = Rating.Stage.FIRST, Rating.Stage.REVISED
QUALIFICATION = Assignment.Purpose.QUALIFICATION


@dataclass(frozen=True)
class Card:
    """One pair as its rater sees it.

    answers : to each question, the main one first
    times   : active and wall seconds spent on it so far, where measured
    """

    key: str
    place: int
    left: str
    right: str
    answers: Sequence[CardAnswer]
    flags: Sequence[Flag] = ()
    times: str = ""

    @property
    def main(self) -> CardAnswer:
        """The answer to the main question."""
        return self.answers[MAIN]


@dataclass(frozen=True)
class SecondCard:
    """One pair in the second stage. `state` is decided, open (with its comparison table) or closed (not shown yet)."""

    card: Card
    state: str
    first: str
    first_label: str
    first_reason: str = ""
    second: str | None = None
    second_label: str = ""
    reason: str = ""
    rows: Sequence[ShownRow] = ()
    choice: str = ""
    saved_at: datetime | None = None
    times: str = ""

    @property
    def kept(self) -> bool:
        """Tell whether the second choice is the first one."""
        return self.second == self.first


@dataclass(frozen=True)
class HitPlace:
    """A HIT's number among those of its rater. Practice HITs are numbered apart, and have a total."""

    number: int
    total: int | None = None

    @property
    def done(self) -> int:
        """The number of HITs that the rater has submitted, practice apart."""
        return self.number - 1 if self.total is None else 0


def displays_of(assignment: Assignment) -> list[Display]:
    """Return an assignment's displays in their order, with all that a card needs."""
    displays = _DISPLAYS.all(assignment=assignment.pk)
    for display in displays:
        display.assignment = assignment
    # Most requests show a new HIT, which has neither.
    rated = any(display.has_ratings for display in displays)
    reported = any(display.has_flags for display in displays)
    several = rated and bool(assignment.hit.batch.study.criteria)
    more_ratings = {
        (item, question): count for item, question, count in (_FURTHER.all(assignment=assignment.pk) if several else [])
    }
    for display in displays:
        counts = {question: count for (of, question), count in more_ratings.items() if of == display.pk}
        display.versions = {MAIN: display.version, **counts}
    attach_votes(displays, _RATINGS.all(assignment=assignment.pk) if rated else [])
    flags = _FLAGS.all(assignment=assignment.pk) if reported else []
    for display in displays:
        display.standing_flags = [flag for flag in flags if flag.display_id == display.pk]
    return displays


def _displays(assignment: int) -> QuerySet[Display]:
    related = Display.objects.select_related("pair__generation_a", "pair__generation_b", "table")
    columns = {
        "version": change_count(MAIN),
        "has_ratings": Exists(Rating.objects.filter(display=OuterRef("pk"))),
        "has_flags": Exists(Flag.objects.filter(display=OuterRef("pk"))),
    }
    return related.filter(assignment=assignment).annotate(**columns).order_by("position")


def _ratings(assignment: int) -> QuerySet[Rating]:
    return Rating.objects.filter(display__assignment=assignment)


def _flags(assignment: int) -> QuerySet[Flag]:
    return Flag.objects.filter(display__assignment=assignment, row=None, taken_back_at=None)


def _further(assignment: int) -> "QuerySet[VoteChange, tuple[int, int, int]]":
    changes = VoteChange.objects.filter(display__assignment=assignment, question__gt=MAIN)
    counted = changes.order_by().values("display", "question").annotate(count=Count("pk"))
    return counted.values_list("display", "question", "count")


_DISPLAYS, _RATINGS, _FLAGS = Prepared(_displays), Prepared(_ratings), Prepared(_flags)
_FURTHER = Prepared(_further)  # (display, question, number of changes) of the questions beside the main one


def first_page(
    assignment: Assignment, now: datetime, displays: Sequence[Display], *rejected: RejectedAnswer
) -> dict[str, object]:
    """Return the context of the page in the first stage, without any comparison table."""
    context = _page_context(assignment)
    cards = [card_of(display, context["questions"], *rejected) for display in displays]
    return {**context, "cards": cards, "status": status(assignment, now, displays)}


def second_page(
    assignment: Assignment, now: datetime, opened: Display | None, rejected: RejectedAnswer | None = None
) -> dict[str, object]:
    """Return the context of the page in the second stage, with one pair open or none."""
    return {**_page_context(assignment), **second_stage(assignment, now, opened, rejected)}


def second_stage(
    assignment: Assignment, now: datetime, opened: Display | None, rejected: RejectedAnswer | None = None
) -> dict[str, object]:
    """Return the part of the second stage's context that a vote changes."""
    displays = displays_of(assignment)
    main = asked_questions(assignment.hit.batch.study)[:1]
    cards = [_second_card(display, main, opened, rejected) for display in displays]
    decided = {card.card.key: card.second for card in cards}
    return {
        "cards": cards,
        "changing": opened is not None and decided.get(opened.pair.key) is not None,
        "status": status(assignment, now, displays),
    }


def card_of(
    display: Display, questions: Sequence[AskedQuestion], *rejected: RejectedAnswer, texts: bool = True
) -> Card:
    """Build one pair's card from a display of `displays_of`. Without `texts` none are rendered."""
    left, right = texts_of(display) if texts else ("", "")
    return Card(
        key=display.pair.key,
        place=display.position + 1,
        left=left,
        right=right,
        answers=answers_on(display, questions, *rejected, stage=FIRST),
        flags=display.standing_flags,
        times=_times(vote_on(display, FIRST)),
    )


def hit_place(assignment: Assignment, submitted_count: int) -> HitPlace:
    """Number the rater's HITs. Hidden checks count as any other, so that no number reveals them."""
    if assignment.purpose == QUALIFICATION:
        submitted = assignment.annotator.assignments.filter(state=Assignment.State.SUBMITTED)
        rated = submitted.filter(purpose=QUALIFICATION, attempt=assignment.attempt).count()
        return HitPlace(rated + 1, hits_in_attempt(assignment.annotator))
    return HitPlace(submitted_count + 1)


def _page_context(assignment: Assignment) -> dict[str, Any]:
    annotator = assignment.annotator
    source_row = _SOURCE.first(hit=assignment.hit_id, user=annotator.user_id, annotator=annotator.pk)
    source, messages, has_notes, submitted_count = source_row or ("", None, True, 0)
    return {
        **base_context(assignment),
        "source": shown_text(stored_content(source, messages), **assignment.hit.batch.study.text_options),
        "hit_place": hit_place(assignment, submitted_count),
        "may_return": assignment.purpose != QUALIFICATION and not assignment.submitted_at,
        "has_notes": has_notes,
    }


def _source(hit: int, user: int, annotator: int) -> "QuerySet[Instance, tuple[str, str | None, bool, int]]":
    states = Assignment.State
    # Not by `state=SUBMITTED`: SQLite plans a statement anew in each run if a value of it decides on a partial index.
    submitted = Assignment.objects.exclude(state__in=(states.CLAIMED, states.EXPIRED, states.RETURNED))
    counted = submitted.filter(annotator=annotator).exclude(purpose=QUALIFICATION).order_by().values("annotator")
    counted = counted.annotate(count=Count("pk"))
    instances = Instance.objects.filter(matchups__hits=hit).annotate(has_notes=Exists(unread_by(user))).order_by()
    instances = instances.annotate(submitted_count=Coalesce(Subquery(counted.values("count")), 0))
    return instances.values_list("source", "messages", "has_notes", "submitted_count")


_SOURCE = Prepared(_source)


def source_of(hit: Hit) -> str:
    """Return a HIT's source as shown to raters: as Markdown if the study says so."""
    return shown_text(hit.matchup.instance.content, **hit.batch.study.text_options)


def texts_of(display: Display) -> tuple[str, str]:
    """Return a pair's texts for its card, the left one first."""
    options = display.assignment.hit.batch.study.text_options
    texts = (display.pair.generation_a.content, display.pair.generation_b.content)
    left, right = shown_texts(texts if display.a_is_left else texts[::-1], **options)
    return left, right


def _second_card(
    display: Display,
    questions: Sequence[AskedQuestion],
    opened: Display | None,
    rejected: RejectedAnswer | None,
) -> SecondCard:
    is_open = opened is not None and opened.pk == display.pk
    card = card_of(display, questions, *filter(None, [rejected]), texts=is_open)
    sides = display.assignment.hit.batch.study.side_labels
    second = vote_on(display, REVISED)
    first, second_choice = card.main.choice or "", second.choice if second else None
    tried = rejected if rejected and rejected.key == card.key else None
    return SecondCard(
        card=card,
        state="open" if is_open else "decided" if second else "closed",
        first=first,
        first_label=first and choice_name(first, sides),
        first_reason=card.main.reason,
        second=second_choice,
        second_label=choice_name(second_choice, sides) if second_choice else "",
        reason=tried.reason if tried else second.reason if second else "",
        rows=shown_rows(display) if is_open else (),
        choice=(tried.choice if tried else second_choice) or "",
        saved_at=second.rated_at if second else None,
        times=_times(second),
    )


def _times(rating: Rating | None) -> str:
    if rating is None or rating.active_seconds is None or rating.wall_seconds is None:
        return ""
    return f"{rating.active_seconds:.1f} {rating.wall_seconds:.1f}"


def vote_on(display: Display, stage: str, question: int = MAIN) -> Rating | None:
    """Return the vote of a stage on a display of `displays_of`."""
    return display.votes.get((stage, question))
