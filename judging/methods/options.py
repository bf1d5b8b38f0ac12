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


def is_switch(value: object) -> bool:
    """Tell whether a value is true or false."""
    return isinstance(value, bool)


def is_number_of_samples(value: object) -> bool:
    """Tell whether a value is a valid number of samples."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_SAMPLES


def is_number_of_shots(value: object) -> bool:
    """Tell whether a value is a valid number of examples."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_SHOTS


def is_choice_of_aspects(value: object) -> bool:
    """Tell whether a value names an aspect model, or is a list of aspects."""
    if isinstance(value, list):
        return 1 <= len(value) <= MOST_ASPECTS and all(isinstance(aspect, str) and aspect.strip() for aspect in value)
    return value in (FIXED, ASKED, OFFLINE, ONLINE)


def is_asked_for(aspects: object) -> bool:
    """Tell whether aspects are generated for each pair."""
    return aspects in (ASKED, ONLINE)


def is_budget(value: object) -> bool:
    """Tell whether a value is a valid budget of calls, or `None`."""
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_BUDGET)


def is_scheme(value: object) -> bool:
    """Tell whether a value names a scheme for finding the most consistent table."""
    return value in ("tournament", "exact", "random")


def is_schema(value: object) -> bool:
    """Tell whether a value is a valid setting for JSON schemas."""
    return value == "auto" or isinstance(value, bool)


RULES: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "ties": (is_switch, "true or false"),
    "logprobs": (is_switch, "true or false"),
    "weighted": (is_switch, "true or false"),
    "samples": (is_number_of_samples, f"a whole number from 1 to {MOST_SAMPLES}"),
    "shots": (is_number_of_shots, f"a whole number from 0 to {MOST_SHOTS}"),
    "aspects": (
        is_choice_of_aspects,
        f"{FIXED} (or {OFFLINE}), {ASKED} (or {ONLINE}), or a list of up to {MOST_ASPECTS} texts",
    ),
    "aspect_samples": (is_number_of_samples, f"a whole number from 1 to {MOST_SAMPLES}"),
    "verdicts": (is_number_of_samples, f"a whole number from 1 to {MOST_SAMPLES}"),
    "budget": (is_budget, f"a whole number of calls from 1 to {MOST_BUDGET}, or null"),
    "scheme": (is_scheme, "tournament, exact or random"),
    "schema": (is_schema, "auto, true or false"),
}


def check_options(given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Refuse unknown options and invalid values.

    Raises: BadSettings
    """
    for name, value in given.items():
        if name not in known:
            raise BadSettings(f"there is no option {name}; there are {', '.join(known) or 'none'}")
        fits, wanted = RULES[name]
        if not fits(value):
            raise BadSettings(f"{name} is {wanted}, got {value!r}")
