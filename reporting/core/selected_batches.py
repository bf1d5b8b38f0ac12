"""How the instances of batches were selected, read from the batches."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Count, QuerySet

from annotation.models import Batch
from reporting.core.instance_selection import caveat_rows


def selection_rows(rated: QuerySet[Batch], batches: Iterable[Batch] | None = None) -> list[dict[str, Any]]:
    """Return one row per selection of instances by separability or by a list, in the order of the batches.

    rated   : the batches whose ratings enter findings
    batches : restricts them; all when left out
    """
    wanted = rated if batches is None else rated.filter(pk__in=[batch.pk for batch in batches])
    counted = wanted.annotate(hit_count=Count("hits"))
    return [row for batch in counted for row in caveat_rows(batch.name, batch.selection, batch.hit_count)]
