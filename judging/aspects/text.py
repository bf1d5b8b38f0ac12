"""Versions of aspects as JSON and as lines of text."""

from typing import Any

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
