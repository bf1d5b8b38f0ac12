"""How the instances of batches were selected, read from the batches."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Count, QuerySet

from annotation.models import Batch

BY_SEPARABILITY = ("top", "stratified", "importance")
LIST = "ids"


def selection_rows(rated: QuerySet[Batch], batches: Iterable[Batch] | None = None) -> list[dict[str, Any]]:
    """Return one row per selection of instances by separability or by a list, in the order of the batches.

    Random selections and selections of all instances are left out: their numbers need no caveat.

    rated   : the batches whose ratings enter findings
    batches : restricts them; all when left out
    """
    wanted = rated if batches is None else rated.filter(pk__in=[batch.pk for batch in batches])
    return [
        row
        for batch in wanted.annotate(hit_count=Count("hits"))
        for row in _selections(batch)
        if row["kind"] in (*BY_SEPARABILITY, LIST)
    ]


def _selections(batch: Batch) -> Iterable[dict[str, Any]]:
    """Yield the selection of a batch, then that of each extension."""
    extensions = [one for one in batch.selection.get("extensions", []) if "asked" in one]
    at_first = batch.hit_count - sum(one["hits"] for one in extensions)  # type: ignore[attr-defined]
    for made, hits in [(batch.selection, at_first), *((one, one["hits"]) for one in extensions)]:
        spec = made.get("asked", {}).get("spec", "")
        measure = (made.get("separability") or {}).get("measure") or made.get("similarity")
        yield {
            "batch": batch.name,
            "spec": spec,
            "kind": spec.partition(":")[0],
            "measure": measure,
            "instances": hits,
            "pool": made.get("pool"),
        }
