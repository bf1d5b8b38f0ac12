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
    origin = version.made_by
    if origin.get("how") == "edited":
        return f"edited from {origin['from']} by {origin['by']}"
    if origin.get("how") == "distilled":
        lost = f", {origin['lost']} lost" if origin["lost"] else ""
        filled = f", {origin['filled']} filled in by frequency" if origin["filled"] else ""
        return (
            f"distilled by {origin['model']} at {origin['endpoint']} from {origin['pairs']} pairs of {origin['study']} "
            f"(seed {origin['seed']}; {origin['texts']} texts{lost}{filled})"
        )
    return "of unknown origin"


def estimate_lines(estimate: CallsEstimate, cap: Decimal | None = None) -> list[str]:
    """Format a forecast. One above the cap says so."""
    kinds = ", ".join(f"{kind.calls:,} {kind.kind}" for kind in estimate.kinds if kind.calls)
    sentences = [
        f"calls: about {estimate.calls:,}{f' ({kinds})' if kinds else ''}; answers already there: {estimate.cached:,}"
    ]
    if not estimate.calls:
        return sentences
    return [
        *sentences,
        f"tokens: about {estimate.prompt_tokens:,} sent and {estimate.completion_tokens:,} written (by the number of characters)",
        cost_line(estimate.cost, estimate.currency, total=estimate.cost, cap=cap),
    ]
