"""The caveat of numbers on selected instances: by separability, or by a list of ids."""

from collections.abc import Sequence
from typing import Any

NOTE = "numbers as drawn are about the instances that were chosen, not about all: "


def selection_note(chosen: Sequence[dict[str, Any]]) -> str:
    """Describe in one line how instances were selected; empty where there are no rows."""
    if not chosen:
        return ""
    said = dict.fromkeys(
        f"{row['spec'] if row['measure'] else 'a list of ids'} of {row['pool']}"
        + (f" by separability ({row['measure']})" if row["measure"] else "")
        for row in chosen
    )
    return NOTE + "; ".join(said)
