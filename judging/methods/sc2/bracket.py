"""Schemes for finding the most consistent of several tables: tournament, all pairs in both orders, or a random one.

Each scheme is a generator: it yields duels that can be held concurrently, is sent their decisions, and returns the
bracket. It knows tables by index only.

source : Predicting Text Preference Via Structured Comparative Reasoning, §3.2 and fig. 2
"""

import random
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt

from judging.core.errors import BadSettings
from judging.methods.sc2.record import Match

TOURNAMENT, EXACT, RANDOM = "tournament", "exact", "random"


@dataclass(frozen=True)
class Duel:
    """Two tables to compare, in the order in which they are shown."""

    first: int
    second: int


@dataclass(frozen=True)
class Decision:
    """The comparator's decision: whether the table shown first is better, or `None` if unreadable."""

    first_wins: bool | None
    reason: str = ""


@dataclass(frozen=True)
class Bracket:
    """The result of a scheme.

    wins  : duels won by each entrant; empty without duels
    coins : decisions by a seeded coin
    """

    matches: Sequence[Match]
    wins: Mapping[int, int]
    coins: int
    winner: int


Scheme = Generator[Sequence[Duel], Sequence[Decision], Bracket]


def tournament(entrants: Sequence[int], rng: random.Random) -> Scheme:
    """Pair at random and keep the winners, round by round: one duel less than there are entrants.

    With an odd number, one gets a bye: drawn among those without an earlier bye, if any.
    """
    matches: list[Match] = []
    wins = Counter(dict.fromkeys(entrants, 0))
    coins, number = 0, 0
    remaining, rested = list(entrants), set[int]()
    while len(remaining) > 1:
        number += 1
        rng.shuffle(remaining)
        resting = None
        if len(remaining) % 2:
            resting = rng.choice([entrant for entrant in remaining if entrant not in rested] or remaining)
            rested.add(resting)
            remaining.remove(resting)
        duels = [Duel(first, second) for first, second in zip(remaining[::2], remaining[1::2], strict=False)]
        decisions = yield duels
        round_matches = [_match(number, duel, decision, rng) for duel, decision in zip(duels, decisions, strict=True)]
        coins += sum(match["how"] == "coin" for match in round_matches)
        remaining = [match["winner"] for match in round_matches]
        wins.update(remaining)
        if resting is not None:
            round_matches.append({"round": number, "first": resting, "winner": resting, "how": "bye"})
            remaining.append(resting)
        matches += round_matches
    return Bracket(matches, wins if number else {}, coins, remaining[0])


def exact(entrants: Sequence[int], rng: random.Random) -> Scheme:
    """Compare every two in both orders. The most wins decide, and ties are broken at random.

    source : argmax over c of Σ l'(c, c'), §3.2
    """
    duels = [Duel(first, second) for first in entrants for second in entrants if first != second]
    decisions = (yield duels) if duels else []
    matches = [_match(1, duel, decision, rng) for duel, decision in zip(duels, decisions, strict=True)]
    wins = Counter(dict.fromkeys(entrants, 0))
    wins.update(match["winner"] for match in matches)
    best = [first for first in entrants if wins[first] == max(wins.values())]
    coins = sum(match["how"] == "coin" for match in matches) + (len(best) > 1)
    return Bracket(matches, wins if duels else {}, coins, rng.choice(best))


def drawn(entrants: Sequence[int], rng: random.Random) -> Scheme:
    """Choose one at random, without duels."""
    yield from ()
    return Bracket([], {}, 0, rng.choice(list(entrants)))


def _match(number: int, duel: Duel, decision: Decision, rng: random.Random) -> Match:
    first_wins = rng.random() < 0.5 if decision.first_wins is None else decision.first_wins
    match: Match = {
        "round": number,
        "first": duel.first,
        "second": duel.second,
        "winner": duel.first if first_wins else duel.second,
        "how": "coin" if decision.first_wins is None else "comparator",
    }
    return {**match, "reason": decision.reason} if decision.reason else match


MakeScheme = Callable[[Sequence[int], random.Random], Scheme]
SCHEMES: Mapping[str, MakeScheme] = {TOURNAMENT: tournament, EXACT: exact, RANDOM: drawn}


def comparisons(scheme: str, samples: int) -> int:
    """Return the number of comparator calls that a scheme takes."""
    return {TOURNAMENT: samples - 1, EXACT: samples * (samples - 1), RANDOM: 0}[scheme]


def samples_within(budget: int, *, scheme: str, other_calls: int) -> int:
    """Return how many tables fit into a budget of calls per verdict.

    other_calls : calls other than tables and comparisons
    Raises: BadSettings if no table fits.
    """
    calls = budget - other_calls
    samples = {TOURNAMENT: (calls + 1) // 2, EXACT: isqrt(max(calls, 0)), RANDOM: calls}[scheme]
    if samples < 1:
        raise BadSettings(f"a budget of {budget} calls is not enough: {other_calls} are needed beside the tables")
    return samples
