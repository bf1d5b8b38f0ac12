"""Brackets: how many duels each scheme takes, who wins them, and what happens without a winner."""

import random
from collections import Counter
from collections.abc import Callable
from itertools import combinations, groupby, permutations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from judging.core.errors import BadSettings
from judging.methods.sc2.bracket import SCHEMES, Bracket, Decision, Duel, Scheme, comparisons, samples_within

ENTRANTS = st.integers(1, 17).map(lambda count: list(range(count)))
SEEDS = st.integers(0, 2**31)


def run_scheme(scheme: Scheme, decide: Callable[[Duel], bool | None]) -> tuple[Bracket, list[list[Duel]]]:
    """Drive a scheme; return the bracket and the duels of each round."""
    rounds: list[list[Duel]] = []
    try:
        duels = next(scheme)
        while True:
            rounds.append(list(duels))
            duels = scheme.send([Decision(decide(duel)) for duel in duels])
    except StopIteration as stop:
        return stop.value, rounds


def higher(duel: Duel) -> bool:
    return duel.first > duel.second


def coin(duel: Duel) -> None:
    return None


@given(ENTRANTS, SEEDS)
def test_tournament_takes_one_duel_less_than_entrants_in_as_few_rounds_as_can_be(
    entrants: list[int], seed: int
) -> None:
    bracket, rounds = run_scheme(SCHEMES["tournament"](entrants, random.Random(seed)), higher)
    assert sum(map(len, rounds)) == len(entrants) - 1 == comparisons("tournament", len(entrants))
    assert len(rounds) == (len(entrants) - 1).bit_length()
    assert bracket.winner == max(entrants)
    held = [match for match in bracket.matches if match["how"] == "comparator"]
    assert Counter(match["winner"] for match in held) == Counter({one: won for one, won in bracket.wins.items() if won})
    beaten = [match["first"] + match["second"] - match["winner"] for match in held]
    assert sorted([*beaten, bracket.winner]) == entrants  # every other entrant was beaten, and once


@given(ENTRANTS, SEEDS)
@example(list(range(17)), 9609)  # the three of the last round but one have all rested
def test_no_entrant_rests_twice_while_another_has_not(entrants: list[int], seed: int) -> None:
    bracket, _ = run_scheme(
        SCHEMES["tournament"](entrants, random.Random(seed)), lambda duel: random.Random(seed).random() < 0.5
    )
    left, number = len(entrants), 0
    for number in range(1, len(entrants)):
        if left == 1:
            break
        assert [match["round"] for match in bracket.matches if match["how"] == "bye"].count(number) == left % 2
        left = (left + 1) // 2
    rested: set[int] = set()
    for _, matches in groupby(bracket.matches, key=lambda match: match["round"]):
        held = list(matches)
        byes = [match["winner"] for match in held if match["how"] == "bye"]
        playing = {match[side] for match in held if match["how"] != "bye" for side in ("first", "second")}
        assert rested.isdisjoint(byes) or playing <= rested
        rested.update(byes)


@given(ENTRANTS, SEEDS)
def test_exact_holds_every_ordered_pair_at_once_and_finds_the_best(entrants: list[int], seed: int) -> None:
    bracket, rounds = run_scheme(SCHEMES["exact"](entrants, random.Random(seed)), higher)
    asked = [(duel.first, duel.second) for duels in rounds for duel in duels]
    assert sorted(asked) == sorted(permutations(entrants, 2))
    assert len(rounds) == (len(entrants) > 1)
    assert len(asked) == comparisons("exact", len(entrants))
    assert (bracket.winner, bracket.coins) == (max(entrants), 0)


@given(ENTRANTS, SEEDS, st.sampled_from(sorted(SCHEMES)))
def test_answers_that_cannot_be_read_are_decided_by_a_counted_coin_the_same_each_time(
    entrants: list[int], seed: int, scheme: str
) -> None:
    first, again = (run_scheme(SCHEMES[scheme](entrants, random.Random(seed)), coin)[0] for _ in range(2))
    assert first == again
    held = [match for match in first.matches if match["how"] != "bye"]
    assert {match["how"] for match in held} <= {"coin"}
    assert first.coins - len(held) in (0, 1)  # one more where most wins are shared
    assert first.winner in entrants


@given(SEEDS)
def test_cycle_ends_in_a_draw_among_the_equals(seed: int) -> None:
    beats = {(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)}
    bracket, _ = run_scheme(
        SCHEMES["exact"]([0, 1, 2, 3], random.Random(seed)), lambda duel: (duel.first, duel.second) in beats
    )
    assert bracket.wins == {0: 4, 1: 4, 2: 4, 3: 0}
    assert bracket.coins == 1
    assert bracket.winner in (0, 1, 2)


def test_each_of_the_equals_of_a_cycle_wins_now_and_then() -> None:
    beats = {(0, 1), (1, 2), (2, 0)}
    winners = {
        run_scheme(SCHEMES["exact"]([0, 1, 2], random.Random(seed)), lambda duel: (duel.first, duel.second) in beats)[
            0
        ].winner
        for seed in range(40)
    }
    assert winners == {0, 1, 2}


@given(ENTRANTS, SEEDS)
def test_draw_asks_nothing(entrants: list[int], seed: int) -> None:
    bracket, rounds = run_scheme(SCHEMES["random"](entrants, random.Random(seed)), higher)
    assert (rounds, bracket.matches, bracket.wins) == ([], [], {})
    assert comparisons("random", len(entrants)) == 0


def test_which_table_stands_first_is_left_to_chance() -> None:
    firsts = Counter[tuple[int, int]]()
    for seed in range(300):
        _, rounds = run_scheme(SCHEMES["tournament"]([0, 1], random.Random(seed)), higher)
        firsts[rounds[0][0].first, rounds[0][0].second] += 1
    assert min(firsts[pair] for pair in permutations((0, 1))) > 110  # 150 expected; fewer happens once in 100,000


def test_all_entrants_may_meet() -> None:
    met = set()
    for seed in range(60):
        _, rounds = run_scheme(SCHEMES["tournament"](list(range(5)), random.Random(seed)), higher)
        met |= {frozenset((duel.first, duel.second)) for duels in rounds for duel in duels}
    assert met == {frozenset(pair) for pair in combinations(range(5), 2)}


@pytest.mark.parametrize(
    ("scheme", "budget", "others", "samples"),
    [
        ("tournament", 8, 1, 4),
        ("tournament", 15, 1, 7),
        ("tournament", 24, 1, 12),
        ("tournament", 2, 1, 1),
        ("tournament", 15, 4, 6),
        ("exact", 8, 1, 2),
        ("exact", 15, 1, 3),
        ("exact", 26, 1, 5),
        ("random", 8, 1, 7),
    ],
)
def test_budget_buys_as_many_tables_as_fit(scheme: str, budget: int, others: int, samples: int) -> None:
    assert samples_within(budget, scheme=scheme, other_calls=others) == samples
    assert others + samples + comparisons(scheme, samples) <= budget
    assert others + samples + 1 + comparisons(scheme, samples + 1) > budget


@pytest.mark.parametrize("scheme", sorted(SCHEMES))
def test_budget_without_room_for_a_table_is_refused(scheme: str) -> None:
    with pytest.raises(BadSettings, match="budget of 4 calls is not enough: 4 are needed"):
        samples_within(4, scheme=scheme, other_calls=4)
