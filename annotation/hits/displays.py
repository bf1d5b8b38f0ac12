"""Random order and sides of a HIT's pairs, drawn once per assignment from recorded seeds."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any

from django.db.models import QuerySet

from annotation.core.database.prepared import Prepared, PreparedUpdate
from annotation.models import Assignment, Display, HitPair, Rating, VoteChange
from annotation.models.studies import PairOrder


@dataclass(frozen=True)
class _Draw:
    """The numbers drawn from the seed of one annotator and pair."""

    pair_id: int
    seed: int
    place: float
    side: float
    coin: bool


def draw_displays(assignment: Assignment) -> list[Display]:
    """Draw the order of the pairs and which side shows A, balanced to ±1 within the HIT.

    Each pair has a recorded seed, derived from the assignment's seed and the pair's key. The pairs with the lower half
    of the `side` numbers show A on the left; a middle one is decided by its coin. A repeat swaps every pair's sides.
    """
    placed = _PLACED.all(hit=assignment.hit_id)
    draws = [_draw(assignment.seed, pair_id, key) for pair_id, key in placed]
    lefts = _sides_swapped(assignment) if assignment.repeat_of_id else _sides(draws)
    if assignment.hit.batch.study.pair_order == PairOrder.RANDOM:
        draws.sort(key=lambda draw: draw.place)
    return [
        Display(
            assignment=assignment,
            pair_id=draw.pair_id,
            position=position,
            a_is_left=lefts[draw.pair_id],
            seed=draw.seed,
        )
        for position, draw in enumerate(draws)
    ]


def _placed(hit: int) -> "QuerySet[HitPair, tuple[int, str]]":
    return HitPair.objects.filter(hit=hit).order_by("position").values_list("pair_id", "pair__key")


_PLACED = Prepared(_placed)


def derived_seed(*parts: object) -> int:
    """Derive a seed by a hash, so that it is the same on every machine."""
    digest = hashlib.sha256(":".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1  # fits every database's integer


def _draw(assignment_seed: int, pair_id: int, key: str) -> _Draw:
    seed = derived_seed(assignment_seed, key)
    rng = Random(seed)
    return _Draw(pair_id, seed, rng.random(), rng.random(), rng.random() < 0.5)


def _sides(draws: list[_Draw]) -> dict[int, bool]:
    by_side = sorted(draws, key=lambda draw: draw.side)
    half = len(by_side) // 2
    lefts = {draw.pair_id: index < half for index, draw in enumerate(by_side)}
    if len(by_side) % 2:
        lefts[by_side[half].pair_id] = by_side[half].coin
    return lefts


def _sides_swapped(assignment: Assignment) -> dict[int, bool]:
    before = Display.objects.filter(assignment__repeats=assignment.pk).values_list("pair_id", "a_is_left")
    return {pair_id: not a_is_left for pair_id, a_is_left in before}


def attach_votes(displays: Sequence[Display], ratings: Iterable[Rating], changes: Iterable[VoteChange] = ()) -> None:
    """Set `votes` and `changes` of displays, to which these ratings and changes must belong."""
    by_key = {display.pk: display for display in displays}
    for display in displays:
        display.votes, display.changes = {}, []
    for rating in ratings:
        rating.display = by_key[rating.display_id]
        rating.display.votes[rating.stage, rating.question] = rating
    for change in changes:
        by_key[change.display_id].changes.append(change)


def mark_shown(*, assignment: Assignment, at: datetime) -> None:
    """Record when a HIT's pairs were first sent to the rater's browser. Later visits change nothing."""
    _SHOWN.run(assignment=assignment.pk, at=at)


def _unshown(assignment: int, at: datetime) -> tuple[QuerySet[Display], dict[str, Any]]:
    return Display.objects.filter(assignment=assignment, shown_at=None), {"shown_at": at}


_SHOWN = PreparedUpdate(_unshown)
