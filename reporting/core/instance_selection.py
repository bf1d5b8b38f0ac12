"""The caveat of numbers on selected instances: by separability, or by a list of ids."""

from collections.abc import Iterable, Mapping
from typing import Any

BY_SEPARABILITY = ("top", "stratified", "importance")
LIST = "ids"


def selection_note(chosen: Iterable[Mapping[str, Any]]) -> str:
    """Describe in one line how instances were selected; empty where there are no rows."""
    described = dict.fromkeys(
        f"{row['spec']} of {row['pool']} by separability ({row['measure']})"
        if row["measure"]
        else f"a list of ids of {row['pool']}"
        for row in chosen
    )
    if not described:
        return ""
    return f"numbers as drawn are about the instances that were chosen, not about all: {'; '.join(described)}"


def caveat_rows(batch: str, selection: Mapping[str, Any], hits: int) -> list[dict[str, Any]]:
    """Return one row for each time that a batch's instances were chosen by separability or by a list: at first, then at each extension.

    Random selections and selections of all instances are left out: their numbers need no caveat.

    selection : as the batch records it
    hits      : of the batch
    """
    return [row for row in _selections(batch, selection, hits) if row["kind"] in (*BY_SEPARABILITY, LIST)]


def _selections(batch: str, selection: Mapping[str, Any], count: int) -> Iterable[dict[str, Any]]:
    extensions = [one for one in selection.get("extensions", []) if "asked" in one]
    at_first = count - sum(one["hits"] for one in extensions)
    for made, hits in [(selection, at_first), *((one, one["hits"]) for one in extensions)]:
        spec = made.get("asked", {}).get("spec", "")
        measure = (made.get("separability") or {}).get("measure") or made.get("similarity")
        yield {
            "batch": batch,
            "spec": spec,
            "kind": spec.partition(":")[0],
            "measure": measure,
            "instances": hits,
            "pool": made.get("pool"),
        }
