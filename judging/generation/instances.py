"""Selecting the instances that a system's texts are sampled for."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet

from annotation.core.database.bulk_sql import chunked
from annotation.core.errors import UnknownName
from annotation.models import Generation, Instance, Study

CHUNK = 200


@dataclass(frozen=True)
class InstanceSelection:
    """All instances, those of a data set, or some by id. `limit`: at most so many this time."""

    dataset: str = ""
    instances: tuple[str, ...] = ()
    limit: int | None = None


@dataclass(frozen=True)
class InstanceCounts:
    """Counts of the selected instances: with texts of the system, without a source text, and open."""

    chosen: int
    there: int
    without_source: int
    open: int


def check_selection(study: Study, selection: InstanceSelection) -> None:
    """Refuse names of a data set or of instances that the study doesn't have.

    Raises: UnknownName
    """
    if selection.dataset and not study.instances.filter(dataset=selection.dataset).exists():
        names = study.instances.order_by("dataset").values_list("dataset", flat=True).distinct()
        raise UnknownName(
            f"study {study.slug} has no data set {selection.dataset}; it has: {', '.join(names[:20]) or 'none yet'}"
        )
    requested = list(dict.fromkeys(selection.instances))
    existing: set[str] = set()
    for part in chunked(requested):
        existing.update(study.instances.filter(instance_id__in=part).order_by().values_list("instance_id", flat=True))
    if unknown := [item for item in requested if item not in existing]:
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        raise UnknownName(f"study {study.slug} has no instance {', '.join(unknown[:5])}{more}")


def count_instances(study: Study, name: str, selection: InstanceSelection) -> InstanceCounts:
    """Count the selected instances by state."""
    rows = _chosen(study, selection)
    ids = list(dict.fromkeys(selection.instances))
    parts = [rows.filter(instance_id__in=part) for part in chunked(ids)] if ids else [rows]
    selected = existing = empty = 0
    for part in parts:
        selected += part.count()
        existing += part.filter(_has(name)).count()
        empty += part.exclude(_has(name)).filter(source="").count()
    still = selected - existing - empty
    return InstanceCounts(selected, existing, empty, still if selection.limit is None else min(still, selection.limit))


def open_instances(study: Study, name: str, selection: InstanceSelection) -> Iterator[tuple[int, str, str]]:
    """Yield primary key, id and source of the instances without texts of the system, in the study's order."""
    remaining = selection.limit
    requested = frozenset(selection.instances)
    last = -1
    rows = _chosen(study, selection).exclude(_has(name)).exclude(source="").order_by("position")
    while remaining is None or remaining > 0:
        chunk = list(rows.filter(position__gt=last).values_list("position", "pk", "instance_id", "source")[:CHUNK])
        for position, pk, instance_id, source in chunk:
            last = position
            if (not requested or instance_id in requested) and (remaining is None or remaining > 0):
                remaining = None if remaining is None else remaining - 1
                yield pk, instance_id, source
        if len(chunk) < CHUNK:
            return


def _chosen(study: Study, selection: InstanceSelection) -> QuerySet[Instance]:
    rows = study.instances.all()
    return rows.filter(dataset=selection.dataset) if selection.dataset else rows


def _has(name: str) -> Exists:
    """Match instances with texts of a system."""
    return Exists(Generation.objects.filter(instance=OuterRef("pk"), system__name=name).order_by())
