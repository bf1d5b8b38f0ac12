"""How a study's instances were selected, and the caveat of numbers on selected ones."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Count, Exists, OuterRef, QuerySet

from annotation.batches.sampling import UNEQUAL_CHANCES
from annotation.core.database.aggregates import grouped
from annotation.models import Batch, Rating

Key = tuple[str, int, int]  # of a configuration
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


def selection_rows(rated: QuerySet[Batch], batches: Iterable[Batch] | None = None) -> list[dict[str, Any]]:
    """Return one row per selection of instances by separability or by a list, in the order of the batches.

    rated   : the batches whose ratings enter findings
    batches : restricts them; all when left out
    """
    return [row for _, row in _selections(rated, batches)]


def selection_rows_by_configuration(
    rated: QuerySet[Batch], batches: Iterable[Batch] | None = None
) -> dict[Key, list[dict[str, Any]]]:
    """Return `selection_rows` of each configuration that has any, by `Configuration.key`."""
    return grouped(
        ((batch.dataset, batch.system_a_id, batch.system_b_id), row) for batch, row in _selections(rated, batches)
    )


def _selections(rated: QuerySet[Batch], batches: Iterable[Batch] | None) -> Iterator[tuple[Batch, dict[str, Any]]]:
    selected = rated if batches is None else rated.filter(pk__in=[batch.pk for batch in batches])
    for batch in selected.annotate(hit_count=Count("hits")):
        yield from ((batch, row) for row in _caveat_rows(batch.name, batch.selection, batch.hit_count))


def _caveat_rows(batch: str, selection: Mapping[str, Any], count: int) -> Iterator[dict[str, Any]]:
    """Yield one row for each time that a batch's instances were chosen otherwise than at random: at first, then at each extension.

    Random selections and selections of all instances are left out: their numbers need no caveat.

    selection : as the batch records it
    count     : HITs of the batch
    """
    extensions = [extension for extension in selection.get("extensions", []) if "asked" in extension]
    at_first = count - sum(extension["hits"] for extension in extensions)
    for part, hits in [(selection, at_first), *((extension, extension["hits"]) for extension in extensions)]:
        spec = part.get("asked", {}).get("spec", "")
        kind = spec.partition(":")[0]
        if kind in (*BY_SEPARABILITY, *OTHERS):
            yield {
                "batch": batch,
                "spec": spec,
                "kind": kind,
                "measure": (part.get("separability") or {}).get("measure") or part.get("similarity"),
                "instances": hits,
                "pool": part.get("pool"),
            }


def with_mixed_draws(rated: QuerySet[Batch], batches: Iterable[Batch] | None = None) -> set[Key]:
    """Return the configurations for which recorded chances don't hold, since several draws are mixed.

    A chance is that of one draw. Instances of a second draw have others, and `active` draws from what earlier batches
    left, which is like all instances only where these were random.
    """
    voted = Rating.objects.filter(display__assignment__hit__batch=OuterRef("pk"))
    selected = None if batches is None else {batch.pk for batch in batches}
    in_order = rated.order_by("pk").annotate(has_votes=Exists(voted))
    by_configuration = grouped(((batch.dataset, batch.system_a_id, batch.system_b_id), batch) for batch in in_order)
    return {key for key, drawn in by_configuration.items() if _are_mixed(drawn, selected)}


def _are_mixed(in_order: Sequence[Any], selected: set[int] | None) -> bool:
    used = [batch.has_votes and (selected is None or batch.pk in selected) for batch in in_order]
    kinds = [
        "ids"
        if batch.origin == Batch.Origin.IMPORTED
        else batch.selection.get("asked", {}).get("spec", "").partition(":")[0]
        for batch in in_order
    ]
    drawn = [index for index, kind in enumerate(kinds) if used[index] and kind in UNEQUAL_CHANCES]
    if len(drawn) != 1 or kinds[drawn[0]] != "active":
        return len(drawn) > 1
    earlier = kinds[: drawn[0]]
    return any(kind in (*BY_SEPARABILITY, *OTHERS) for kind in earlier) or any(used[drawn[0] + 1 :])
