"""Which side is which: balanced, unrelated between raters, and drawn again from what was recorded."""

from collections import Counter
from random import Random

import pytest
from django.db.models import CharField, Value
from django.db.models.functions import Concat
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.hits.displays import draw_displays
from annotation.models import Assignment, Display, Hit, Pair
from annotation.models.studies import PairOrder
from tests.factories import NOON, claim, make_annotator, make_batch, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

SEEDS = st.integers(0, 2**31 - 1)
SIZES = (1, 2, 3, 4, 7, 12)


def make_hit(pairs: int, **settings: object) -> Hit:
    """One HIT of so many pairs; their keys are the same in every run, since they take part in the draw."""
    study = make_study(f"of-{pairs}", instances=1, k=pairs, **settings)
    Pair.objects.filter(matchup__instance__study=study).update(
        key=Concat(Value(f"{study.slug}-"), "index", output_field=CharField())
    )
    return make_batch(study, pairs=pairs).hits.get()


def drawn(hit: Hit, seed: int) -> list[Display]:
    """Draw what a rater whose assignment has this seed would see; nothing is stored."""
    return draw_displays(Assignment(hit=hit, seed=seed, purpose=Assignment.Purpose.RATING))


@pytest.mark.parametrize(
    ("pairs", "number"),
    [(2, 2_000), (5, 3_000), *(pytest.param(pairs, 10_000, marks=pytest.mark.weekly) for pairs in (2, 4, 5))],
)
def test_thousands_of_displays_show_each_system_on_the_left_half_of_the_time(pairs: int, number: int) -> None:
    hit = make_hit(pairs)
    displays = [display for seed in range(number // pairs) for display in drawn(hit, seed)]
    assert len(displays) == number
    assert 0.49 <= sum(display.a_is_left for display in displays) / number <= 0.51
    each = Counter(display.pair_id for display in displays)
    assert set(each.values()) == {number // pairs}
    # No pair keeps to one side or to one place, and no place to one side.
    for place in range(pairs):
        there = [display for display in displays if display.position == place]
        assert 0.45 < sum(display.a_is_left for display in there) / len(there) < 0.55
        assert all(abs(times / len(there) - 1 / pairs) < 0.05 for times in Counter(d.pair_id for d in there).values())
    lefts = Counter(display.pair_id for display in displays if display.a_is_left)
    assert all(abs(times / each[pair_id] - 0.5) < 0.05 for pair_id, times in lefts.items())


def test_sides_are_balanced_within_every_hit_and_a_second_draw_is_the_same() -> None:
    hits = {size: make_hit(size) for size in SIZES}

    @settings(deadline=None)
    @given(size=st.sampled_from(SIZES), seed=SEEDS)
    def check(size: int, seed: int) -> None:
        displays = drawn(hits[size], seed)
        lefts = sum(display.a_is_left for display in displays)
        assert abs(lefts - (size - lefts)) <= size % 2
        assert [display.position for display in displays] == list(range(size))
        assert len({display.pair_id for display in displays}) == size
        again = drawn(hits[size], seed)
        assert [(d.pair_id, d.a_is_left, d.seed) for d in again] == [(d.pair_id, d.a_is_left, d.seed) for d in displays]

    check()


def test_place_and_side_follow_from_the_recorded_seeds_alone() -> None:
    hit = make_hit(6)

    @settings(deadline=None)
    @given(seed=SEEDS)
    def check(seed: int) -> None:
        displays = drawn(hit, seed)
        numbers = {display.pair_id: Random(display.seed) for display in displays}
        places = {pair_id: rng.random() for pair_id, rng in numbers.items()}
        sides = {pair_id: rng.random() for pair_id, rng in numbers.items()}
        assert [display.pair_id for display in displays] == sorted(places, key=lambda pair_id: places[pair_id])
        lower_half = sorted(sides, key=lambda pair_id: sides[pair_id])[:3]
        assert {display.pair_id for display in displays if display.a_is_left} == set(lower_half)

    check()


def test_a_fixed_order_is_the_same_for_all_raters_while_sides_are_not() -> None:
    hit = make_hit(4, pair_order=PairOrder.FIXED)
    wanted = list(hit.hit_pairs.order_by("position").values_list("pair_id", flat=True))
    draws = [drawn(hit, seed) for seed in range(50)]
    assert all([display.pair_id for display in draw] == wanted for draw in draws)
    assert len({tuple(display.a_is_left for display in draw) for draw in draws}) == 6  # every way to choose 2 of 4


def test_what_was_stored_at_the_claim_is_what_its_seed_draws() -> None:
    study = make_study(instances=1, k=5)
    make_batch(study, pairs=5)
    assignment = claim(make_annotator(study), NOON)
    stored = list(assignment.displays.order_by("position").values_list("pair_id", "a_is_left", "seed"))
    assert [(d.pair_id, d.a_is_left, d.seed) for d in draw_displays(assignment)] == stored
