"""Gold verdicts of instances."""

from typing import Any


def gold_verdict(gold: dict[str, Any] | None, system_a: str, system_b: str) -> int | None:
    """Return which of two systems the gold prefers: −1 A, +1 B, 0 a tie, or None if it doesn't say."""
    if not gold:
        return None
    if "better" in gold:
        return {system_a: -1, system_b: 1, "tie": 0}.get(gold["better"])
    scores = gold.get("scores") or {}
    a, b = scores.get(system_a), scores.get(system_b)
    if a is None or b is None:
        return None
    return int(b > a) - int(a > b)
