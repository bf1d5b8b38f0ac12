"""Which side is which, and in which order the pairs stand: drawn once from recorded seeds."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any

from django.db.models import F, QuerySet

from annotation.models import Annotator, Assignment, Display, HitPair
from annotation.models.study import PairOrder
from annotation.prepared import Prepared, PreparedUpdate


@dataclass(frozen=True)
class _Draw:
    """What the seed of one annotator and pair says about its place and its sides."""

    pair_id: int
    seed: int
    place: float
    side: float
    coin: bool


def draw_displays(assignment: Assignment) -> list[Display]:
    """Draw the order of the pairs and which side shows A, balanced to ±1 within the HIT.

    Each pair has a seed of its own, made of the assignment's and the pair's key, and recorded: the pairs with the lower
    half of the drawn numbers show A on the left, and a middle one is settled by its own coin. A repeat shows every
    pair the other way round than before.
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
    """Make a seed from recorded ones and names: the same on every machine, and unrelated for different parts."""
    digest = hashlib.sha256(":".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1  # fits every database's integer


def _draw(assignment_seed: int, pair_id: int, key: str) -> _Draw:
    seed = derived_seed(assignment_seed, key)
    rng = Random(seed)
    return _Draw(pair_id, seed, rng.random(), rng.random(), rng.random() < 0.5)


def _sides(draws: list[_Draw]) -> dict[int, bool]:
    by_side = sorted(draws, key=lambda draw: draw.side)
    half = len(by_side) // 2
    lefts = {draw.pair_id: place < half for place, draw in enumerate(by_side)}
    if len(by_side) % 2:
        lefts[by_side[half].pair_id] = by_side[half].coin
    return lefts


def _sides_swapped(assignment: Assignment) -> dict[int, bool]:
    before = Display.objects.filter(assignment__repeats=assignment.pk).values_list("pair_id", "a_is_left")
    return {pair_id: not a_is_left for pair_id, a_is_left in before}


def placebos_seen(annotator: Annotator) -> "QuerySet[Display, Any]":
    """Return the matchups, as a subquery, whose tables this annotator was shown beside pairs of other matchups."""
    return placebos_seen_by(annotator.pk)


def placebos_seen_by(annotator: int) -> "QuerySet[Display, Any]":
    """Do the same as `placebos_seen`, for an annotator's primary key."""
    shown = Display.objects.filter(assignment__annotator=annotator, table__isnull=False).order_by()
    return shown.exclude(table__pair=F("pair")).values("table__pair__matchup_id")


def mark_shown(*, assignment: Assignment, at: datetime) -> None:
    """Record when a HIT's pairs were first sent to the rater's browser; later visits change nothing."""
    _SHOWN.run(assignment=assignment.pk, at=at)


def _unshown(assignment: int, at: datetime) -> tuple[QuerySet[Display], dict[str, Any]]:
    return Display.objects.filter(assignment=assignment, shown_at=None), {"shown_at": at}


_SHOWN = PreparedUpdate(_unshown)
