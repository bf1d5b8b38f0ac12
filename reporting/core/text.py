"""Numbers and names as plain text."""

from collections.abc import Iterable
from typing import Any

from annotation.core.counting import unit_of
from annotation.core.tables import UNDEFINED, fixed

SCRIPTED = "includes ratings by scripted raters: programs, not people"
JUDGE = "judge:"  # prefix of judges' names in findings


def rater_name(name: str) -> str:
    """Return a rater's name in findings without the prefix of judges."""
    return name.removeprefix(JUDGE)


def subject(configurations: Iterable[dict[str, Any]]) -> str:
    """Return what pages call the raters under “people”: programs are no people."""
    people = [configuration["raters"][0] for configuration in configurations]
    rated = [row for row in people if row["ratings"]]
    scripted = bool(rated) and all(row.get("scripted_raters") == row["raters"] for row in rated)
    return "scripted raters" if scripted else "people"


def counted(number: int, of: str) -> str:
    """Write a number with its unit, as the JSON names it."""
    return f"{number} {unit_of(number, of)}"


def estimate_text(estimate: dict[str, Any], digits: int = 3, n: str = "") -> str:
    """Format an estimate as `0.384 [0.310, 0.455], n = 150 rating sets`, or with the reason for a missing one.

    n : what it rests on in words, if not its own
    """
    if estimate["value"] is None:
        return f"{UNDEFINED} ({estimate['why']})"
    own = f"n = {counted(estimate['n'], estimate['of'])}"
    if estimate.get("n_instances") is not None and estimate["of"] != "instances":
        own += f", {counted(estimate['n_instances'], 'instances')}"
    if "n_clusters" in estimate:
        own += f", {counted(estimate['n_clusters'], 'clusters')}"
    if "effective_n" in estimate:
        own += f", as good as {estimate['effective_n']:.1f} of equal size"
    n = n or own
    if estimate.get("coin") is not None:
        n += f"; a coin has {fixed(estimate['coin'], digits)}"
    if estimate["low"] is None:
        why = f" ({estimate['why']})" if estimate.get("why") else ""
        return f"{fixed(estimate['value'], digits)}, {n}{why}"
    value, low, high = (fixed(estimate[key], digits) for key in ("value", "low", "high"))
    return f"{value} [{low}, {high}], {n}"


def share_text(share: dict[str, Any]) -> str:
    """Format a share that is counted and not estimated, as `8.5% of 2139 pairs`."""
    value = UNDEFINED if share["value"] is None else f"{100 * share['value']:.3g}%"
    return f"{value} of {counted(share['n'], share['of'])}"


def level_text(level: float) -> str:
    """Write the level of intervals as 95%."""
    return f"{level * 100:g}%"


def printable(text: str) -> str:
    """Replace control characters: names come from uploaded files, and these could drive a terminal."""
    return "".join(character if character.isprintable() else "�" for character in text)
