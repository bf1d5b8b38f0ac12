"""Versions of aspects as JSON and as lines of text, and an estimate of distilling them."""

from decimal import Decimal
from typing import Any

from judging.calls.dry_run import CallsEstimate
from judging.core.pricing import cost_line
from judging.models import AspectSet


def as_dict(version: AspectSet) -> dict[str, Any]:
    """Return a version for JSON."""
    return {
        "name": str(version),
        "task": version.task,
        "version": version.version,
        "aspects": version.aspects,
        "made_by": version.made_by,
        "created_at": version.created_at.isoformat(),
    }


def origin_of(version: AspectSet) -> str:
    """Say in a line where a version comes from."""
    made = version.made_by
    if made.get("how") == "edited":
        return f"edited from {made['from']} by {made['by']}"
    if made.get("how") == "distilled":
        lost = f", {made['lost']} lost" if made["lost"] else ""
        filled = f", {made['filled']} filled in by frequency" if made["filled"] else ""
        return (
            f"distilled by {made['model']} at {made['endpoint']} from {made['pairs']} pairs of {made['study']} "
            f"(seed {made['seed']}; {made['texts']} texts{lost}{filled})"
        )
    return "of unknown origin"


def estimate_lines(found: CallsEstimate, cap: Decimal | None = None) -> list[str]:
    """Format a forecast; one above the cap says so."""
    kinds = ", ".join(f"{kind.calls:,} {kind.kind}" for kind in found.kinds if kind.calls)
    said = [f"calls: about {found.calls:,}{f' ({kinds})' if kinds else ''}; answers already there: {found.cached:,}"]
    if not found.calls:
        return said
    return [
        *said,
        f"tokens: about {found.prompt_tokens:,} sent and {found.completion_tokens:,} written (by the number of characters)",
        cost_line(found.cost, found.currency, total=found.cost, cap=cap),
    ]
