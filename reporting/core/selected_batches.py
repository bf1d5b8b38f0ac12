"""Selections of instances, read from the batches."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import Count, QuerySet

from annotation.core.database.aggregates import grouped
from annotation.models import Batch
from reporting.core.instance_selection import caveat_rows

Key = tuple[str, int, int]


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
    batches_wanted = rated if batches is None else rated.filter(pk__in=[batch.pk for batch in batches])
    for batch in batches_wanted.annotate(hit_count=Count("hits")):
        yield from ((batch, row) for row in caveat_rows(batch.name, batch.selection, batch.hit_count))
