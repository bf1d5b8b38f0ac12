"""Rules that list raters for an admin to look at. A flag decides nothing: it leaves no rater out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.types import FloatArray
from reporting.core.estimates import Estimate

MIN_VOTES = 10  # fewer show no pattern
MIN_COMPARED = 20  # votes beside others', for the comparison with chance
QUICK_SECONDS = 2.0  # on a pair, median
QUICK_WORDS = 1500.0  # words a minute: some five times what people read
CHARACTERS_PER_WORD = 6.0  # with the blank; so the limit is 9,000 characters a minute in any script

# What a flag says of its numbers, which are those of its evidence.
FLAGS: dict[str, str] = {
    "always_left": "All %(preferences)s preferences are for the text on the left, whichever system’s it was.",
    "always_right": "All %(preferences)s preferences are for the text on the right, whichever system’s it was.",
    "alternating": "%(votes)s ratings go left and right in turn, without an exception.",
    "all_ties": "All %(votes)s ratings are ties.",
    "quick_pairs": "%(seconds)s s a pair (median of %(timed)s), less than %(limit)s s.",
    "quick_reading": "%(words)s words a minute, as long as the texts are (%(timed)s pairs); more than %(limit)s take no reading.",
    "agreement": (
        "Agrees with %(agreement)s of the others’ ratings, where %(chance)s would by chance, and less than people do "
        "among themselves (%(people)s)."
    ),
}
FORMATS = {"seconds": ".1f", "words": ".0f", "limit": "g", "agreement": ".3f", "chance": ".3f", "people": ".3f"}


@dataclass(frozen=True, eq=False)
class OnePerson:
    """What the rules look at; votes are in the order in which the pairs were shown.

    on_left, a_is_left : of the votes whose sides are known

    agreement : estimate of the leave-one-out agreement; chance : what it would be by chance; people : that of everyone
    """

    on_left: FloatArray
    verdict: FloatArray
    a_is_left: FloatArray
    seconds_median: float | None
    words_per_minute: float | None
    timed: int
    agreement: Estimate
    chance: float
    people: float


def flags_of(person: OnePerson) -> list[dict[str, Any]]:
    """Return the flags of one person, each with its evidence."""
    return [
        {"flag": name, "evidence": evidence}
        for name, evidence in (
            ("always_left", _one_side(person, -1)),
            ("always_right", _one_side(person, 1)),
            ("alternating", _alternating(person)),
            ("all_ties", _all_ties(person)),
            ("quick_pairs", _quick_pairs(person)),
            ("quick_reading", _quick_reading(person)),
            ("agreement", _agreement(person)),
        )
        if evidence
    ]


def flag_text(flag: Mapping[str, Any]) -> str:
    """Say a flag with its numbers."""
    evidence = {name: f"{value:{FORMATS.get(name, '')}}" for name, value in flag["evidence"].items()}
    return str(FLAGS[flag["flag"]]) % evidence


def _one_side(person: OnePerson, side: int) -> dict[str, Any] | None:
    preferred = person.on_left != 0
    # Only where both orders were shown: else a side is a system, and to prefer one is no fault.
    both_orders = len(np.unique(person.a_is_left[preferred])) == 2
    if preferred.sum() < MIN_VOTES or not both_orders or (person.on_left[preferred] != side).any():
        return None
    return {"preferences": int(preferred.sum()), "at_least": MIN_VOTES}


def _alternating(person: OnePerson) -> dict[str, Any] | None:
    sides = person.on_left
    if len(sides) < MIN_VOTES or (sides == 0).any() or (sides[1:] == sides[:-1]).any():
        return None
    return {"votes": len(sides), "at_least": MIN_VOTES}


def _all_ties(person: OnePerson) -> dict[str, Any] | None:
    if len(person.verdict) < MIN_VOTES or person.verdict.any():
        return None
    return {"votes": len(person.verdict), "at_least": MIN_VOTES}


def _quick_pairs(person: OnePerson) -> dict[str, Any] | None:
    if person.timed < MIN_VOTES or person.seconds_median is None or person.seconds_median >= QUICK_SECONDS:
        return None
    return {"seconds": person.seconds_median, "limit": QUICK_SECONDS, "timed": person.timed, "at_least": MIN_VOTES}


def _quick_reading(person: OnePerson) -> dict[str, Any] | None:
    if person.timed < MIN_VOTES or person.words_per_minute is None or person.words_per_minute <= QUICK_WORDS:
        return None
    return {"words": person.words_per_minute, "limit": QUICK_WORDS, "timed": person.timed, "at_least": MIN_VOTES}


def _agreement(person: OnePerson) -> dict[str, Any] | None:
    """No better than chance, and surely worse than people are among themselves: a hard task alone is no reason."""
    found = person.agreement
    if found["n"] < MIN_COMPARED or found["high"] is None:
        return None
    if found["value"] > person.chance or found["high"] >= person.people:
        return None
    evidence = {"agreement": found["value"], "high": found["high"], "chance": person.chance, "people": person.people}
    return {**evidence, "votes": found["n"], "at_least": MIN_COMPARED}
