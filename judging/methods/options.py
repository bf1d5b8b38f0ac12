"""The options of methods: parameters of a judge that are not sent, and their valid values."""

from collections.abc import Callable, Mapping
from typing import Any

from judging.core.errors import BadSettings

MOST_SAMPLES = 100
MOST_SHOTS = 5
MOST_ASPECTS = 20
FIXED, ASKED = "fixed", "asked"
# The same for tables, in the paper's terms.
OFFLINE, ONLINE = "offline", "online"
MOST_BUDGET = 1000
FEWEST_IN_CELL, LONGEST_CELL = 20, 400  # characters of a table's cell; 400 is more than twice the length asked for
CELL = "longest_cell"  # the parameter with these characters
FITTED = ("temperature", "seed")  # parameters that are left out of a new judge's calls where its endpoint rejects them
MOST_APART = 4  # points between the least and the largest score
EXAMPLE = {"source", "first", "second", "better"}
Rule = tuple[Callable[[Any], bool], str]  # whether a value fits, and what does in words


def is_choice_of_aspects(value: Any) -> bool:
    """Tell whether a value names an aspect model, or is a list of aspects."""
    if isinstance(value, list):
        return 1 <= len(value) <= MOST_ASPECTS and all(isinstance(aspect, str) and aspect.strip() for aspect in value)
    return value in (FIXED, ASKED, OFFLINE, ONLINE)


def is_list_of_examples(value: Any) -> bool:
    """Tell whether a value is a list of pairs with their answers."""
    return (
        isinstance(value, list)
        and len(value) <= MOST_SHOTS
        and all(
            isinstance(example, dict) and set(example) == EXAMPLE and example["better"] in ("A", "B")
            for example in value
        )
        and all(isinstance(text, str) for example in value for text in example.values())
    )


def is_asked_for(aspects: object) -> bool:
    """Tell whether aspects are generated for each pair."""
    return aspects in (ASKED, ONLINE)


def whole(minimum: int, maximum: int) -> Rule:
    """Return the rule of a whole number from `minimum` to `maximum`."""
    return (
        lambda value: type(value) is int and minimum <= value <= maximum,
        f"a whole number from {minimum} to {maximum}",
    )


SWITCH: Rule = (lambda value: isinstance(value, bool), "true or false")
IF_OFFERED: Rule = (lambda value: value == "auto" or isinstance(value, bool), "auto, true or false")
RULES: Mapping[str, Rule] = {
    "ties": SWITCH,
    "logprobs": SWITCH,
    "weighted": SWITCH,
    "together": SWITCH,
    "samples": whole(1, MOST_SAMPLES),
    "shots": whole(0, MOST_SHOTS),
    "aspects": (
        is_choice_of_aspects,
        f"{FIXED} (or {OFFLINE}), {ASKED} (or {ONLINE}), or a list of up to {MOST_ASPECTS} texts",
    ),
    "example_tables": SWITCH,
    "comparator_shots": whole(0, MOST_SHOTS),
    "aspect_samples": whole(1, MOST_SAMPLES),
    "verdicts": whole(1, MOST_SAMPLES),
    "budget": (
        lambda value: value is None or whole(1, MOST_BUDGET)[0](value),
        f"a whole number of calls from 1 to {MOST_BUDGET}, or null",
    ),
    "scheme": (lambda value: value in ("tournament", "exact", "random"), "tournament, exact or random"),
    "tie_below": (
        lambda value: isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST_APART,
        f"a number from 0 to {MOST_APART}: a share for probabilities, points for scores",
    ),
    "examples": (
        is_list_of_examples,
        f"a list of up to {MOST_SHOTS} examples with the texts source, first, second, and better, which is A or B",
    ),
    "longest_cell": (
        lambda value: value is None or whole(FEWEST_IN_CELL, LONGEST_CELL)[0](value),
        f"a whole number of characters from {FEWEST_IN_CELL} to {LONGEST_CELL}, or null",
    ),
    "schema": IF_OFFERED,
    "verdict_schema": IF_OFFERED,
}


def check_options(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Refuse unknown options and invalid values.

    Raises: BadSettings
    """
    for name, value in options.items():
        if name not in defaults:
            raise BadSettings(f"unknown option {name}; allowed: {', '.join(defaults) or 'none'}")
        fits, expectation = RULES[name]
        if not fits(value):
            raise BadSettings(f"{name} is {expectation}, got {value!r}")
