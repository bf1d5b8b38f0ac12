"""A preview of a HIT's page as a rater would see it, built from unsaved objects."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User

from annotation.core.errors import UnknownName
from annotation.hits.displays import derived_seed, draw_displays
from annotation.models import Annotator, Assignment, Batch, Display, Generation, Hit, Instance, Matchup, Pair, Study
from annotation.questions.questions import MAIN
from annotation.rating.presenters import HitPlace, SecondCard, card_of, source_of
from annotation.rating.second_stage import choose_table, turned_rows
from annotation.rating.vote_context import AskedQuestion, CardAnswer, base_context, status

KEY = "preview"  # shorter than any assignment's key
MOST_EXAMPLES = 10  # pairs of example texts, however many a HIT is to have


def previewed_hit(batch: Batch, position: int) -> Hit:
    """Return the HIT at a position of a batch's queue, from 1.

    Raises: UnknownName when it has fewer.
    """
    hits = batch.hits.select_related("matchup__instance").order_by("position")
    hit = hits[position - 1 : position].first() if position >= 1 else None
    if hit is None:
        raise UnknownName(f"batch {batch.name} has {batch.hits.count()} HITs, and none at {position}")
    hit.batch = batch
    return hit


def arms_of(batch: Batch) -> Sequence[str]:
    """Return the arms of a batch's second stage, if it has one."""
    second = batch.study.is_two_stage and batch.purpose != Batch.Purpose.QUALIFICATION
    return list(batch.study.arms) if second else []


def first_stage(hit: Hit, *, number: int, viewer: User, at: datetime) -> dict[str, object]:
    """Return the context of the page before any vote."""
    assignment = _assignment(hit, viewer, at, arm=next(iter(arms_of(hit.batch)), ""))
    return _first_stage(assignment, _displays(assignment), _place(hit.batch, number), at)


def page_of_settings(study: Study, *, viewer: User, at: datetime) -> dict[str, object]:
    """Return the context of a HIT's page before any vote, of a study whose changed settings need not be saved.

    Its pairs are the first ones of the study, or example texts where there is none; sides alternate.
    """
    pairs = _first_pairs(study) or _example_pairs(study)
    hit = Hit(key=KEY, batch=Batch(study=study, purpose=Batch.Purpose.RATING, seed=0), matchup=pairs[0].matchup)
    assignment = _assignment(hit, viewer, at, arm=next(iter(arms_of(hit.batch)), ""))
    displays = [
        Display(assignment=assignment, pair=pair, position=index, a_is_left=index % 2 == 0)
        for index, pair in enumerate(pairs)
    ]
    return _first_stage(assignment, displays, HitPlace(1), at)


def _first_pairs(study: Study) -> list[Pair]:
    pairs = Pair.objects.select_related("generation_a", "generation_b", "matchup__instance").order_by("pk")
    first = pairs.filter(matchup__instance__study=study).first()
    return list(pairs.filter(matchup=first.matchup)[: study.pairs_per_hit]) if first else []


def _example_pairs(study: Study) -> list[Pair]:
    source = "Here is the source: the text that both others are about."
    matchup = Matchup(instance=Instance(study=study, source=source))
    first, second = (
        Generation(text="Here is one system’s text."),
        Generation(text="Here is the other system’s text."),
    )
    return [
        Pair(key=f"{KEY}-{index}", matchup=matchup, generation_a=first, generation_b=second)
        for index in range(min(study.pairs_per_hit, MOST_EXAMPLES))
    ]


def _first_stage(
    assignment: Assignment, displays: Sequence[Display], position: HitPlace, at: datetime
) -> dict[str, object]:
    context = _page_context(assignment, position)
    return {
        **context,
        "cards": [card_of(display, context["questions"]) for display in _without_votes(displays)],
        "status": status(assignment, at, displays),
    }


def second_stage(hit: Hit, *, number: int, viewer: User, at: datetime, arm: str) -> dict[str, object]:
    """Return the context of the page in the second stage, as if all first votes were for the left text.

    The first pair is open, beside what the arm shows.
    Raises: UnknownName for an arm that the batch doesn't have.
    """
    if arm not in arms_of(hit.batch):
        raise UnknownName(f"there is no arm {arm!r} in batch {hit.batch.name}")
    assignment = _assignment(hit, viewer, at, arm=arm)
    assignment.locked_at = at
    displays = _displays(assignment)
    context = _page_context(assignment, _place(hit.batch, number))
    main = context["questions"][MAIN]
    return {
        **context,
        "cards": [_second_card(display, main, is_open=display is displays[0]) for display in _without_votes(displays)],
        "changing": False,
        "status": status(assignment, at, displays),
    }


def _assignment(hit: Hit, viewer: User, at: datetime, *, arm: str) -> Assignment:
    return Assignment(
        key=KEY,
        hit=hit,
        annotator=Annotator(study=hit.batch.study, user=viewer, kind=Annotator.Kind.ACCOUNT),
        seed=derived_seed(hit.batch.seed, hit.key, KEY),
        arm=arm,
        claimed_at=at,
        expires_at=at + timedelta(minutes=hit.batch.lease_minutes),
    )


def _displays(assignment: Assignment) -> list[Display]:
    """Draw the displays, and attach their pairs with their texts."""
    drawn = draw_displays(assignment)
    pairs = Pair.objects.select_related("generation_a", "generation_b", "matchup__instance").in_bulk(
        [display.pair_id for display in drawn]
    )
    for display in drawn:
        display.pair = pairs[display.pair_id]
    return drawn


def _without_votes(displays: Sequence[Display]) -> Sequence[Display]:
    """Set what `displays_of` attaches, as before any vote."""
    for display in displays:
        display.votes, display.versions, display.standing_flags = {}, {}, []
    return displays


def _page_context(assignment: Assignment, position: HitPlace) -> dict[str, Any]:
    return {
        **base_context(assignment),
        "source": source_of(assignment.hit),
        "hit_place": position,
        "may_return": position.total is None,
    }


def _place(batch: Batch, number: int) -> HitPlace:
    return HitPlace(number, batch.hits.count() if batch.purpose == Batch.Purpose.QUALIFICATION else None)


def _second_card(display: Display, main: AskedQuestion, *, is_open: bool) -> SecondCard:
    first, first_label = next(iter(main.choices.items()))
    table = choose_table(display.assignment, display) if is_open else None
    return SecondCard(
        card=replace(
            card_of(display, [main], texts=is_open), answers=[CardAnswer(main, display.pair.key, choice=first)]
        ),
        state="open" if is_open else "closed",
        first=first,
        first_label=first_label,
        rows=turned_rows(table, a_is_left=bool(display.a_is_left)) if table else (),
    )
