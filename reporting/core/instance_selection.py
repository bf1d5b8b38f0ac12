"""The caveat of numbers on selected instances: by separability, by judges' doubts or disagreement, or by a list of ids."""

from collections.abc import Iterable, Mapping
from typing import Any

BY_SEPARABILITY = ("top", "stratified", "importance")
OTHERS = {
    "ids": "a list of ids",
    "active": "a draw that prefers those of which judges are less sure",
    "disagree": "a draw of those on which judges disagree",
}


def selection_note(selections: Iterable[Mapping[str, Any]]) -> str:
    """Describe in one line how instances were selected, or an empty string where there are no rows."""
    described = dict.fromkeys(
        f"{row['spec']} of {row['pool']} by separability ({row['measure']})"
        if row["measure"]
        else f"{OTHERS[row['kind']]} of {row['pool']}"
        for row in selections
    )
    if not described:
        return ""
    return f"numbers as drawn are about the instances that were chosen, not about all: {'; '.join(described)}"


def caveat_rows(batch: str, selection: Mapping[str, Any], hits: int) -> list[dict[str, Any]]:
    """Return one row for each time that a batch's instances were chosen otherwise than at random: at first, then at each extension.

    Random selections and selections of all instances are left out: their numbers need no caveat.

    selection : as the batch records it
    hits      : of the batch
    """
    return [row for row in _selections(batch, selection, hits) if row["kind"] in (*BY_SEPARABILITY, *OTHERS)]


def _selections(batch: str, selection: Mapping[str, Any], count: int) -> Iterable[dict[str, Any]]:
    extensions = [extension for extension in selection.get("extensions", []) if "asked" in extension]
    at_first = count - sum(extension["hits"] for extension in extensions)
    for part, hits in [(selection, at_first), *((extension, extension["hits"]) for extension in extensions)]:
        spec = part.get("asked", {}).get("spec", "")
        measure = (part.get("separability") or {}).get("measure") or part.get("similarity")
        yield {
            "batch": batch,
            "spec": spec,
            "kind": spec.partition(":")[0],
            "measure": measure,
            "instances": hits,
            "pool": part.get("pool"),
        }
