"""Numbers and names as plain text."""

from collections.abc import Iterable
from typing import Any

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


def level_text(level: float) -> str:
    """Write the level of intervals as 95%."""
    return f"{level * 100:g}%"
