"""Which instances of a study a system's texts are sampled for, and how these stand."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet

from annotation.errors import UnknownName
from annotation.models import Generation, Instance, Study
from judging.errors import BadSettings
from judging.services.statements import parts

CHUNK = 200


@dataclass(frozen=True)
class Where:
    """Which instances are asked about: all, those of a data set, or some; `limit`: at most so many this time."""

    dataset: str = ""
    instances: tuple[str, ...] = ()
    limit: int | None = None


@dataclass(frozen=True)
class Standing:
    """How the chosen instances stand: with texts of the system, without a source to ask about, and still open."""

    chosen: int
    there: int
    without_source: int
    open: int


def check_where(study: Study, where: Where) -> None:
    """Refuse names of a data set or of instances that the study doesn't have.

    Raises: UnknownName; BadSettings for a limit that is none
    """
    if where.limit is not None and where.limit < 1:
        raise BadSettings(f"the limit must be 1 or more, got {where.limit}")
    if where.dataset and not study.instances.filter(dataset=where.dataset).exists():
        names = study.instances.order_by("dataset").values_list("dataset", flat=True).distinct()
        raise UnknownName(
            f"study {study.slug} has no data set {where.dataset}; it has: {', '.join(names[:20]) or 'none yet'}"
        )
    wanted = list(dict.fromkeys(where.instances))
    known: set[str] = set()
    for part in parts(wanted):
        known.update(study.instances.filter(instance_id__in=part).order_by().values_list("instance_id", flat=True))
    if unknown := [one for one in wanted if one not in known]:
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        raise UnknownName(f"study {study.slug} has no instance {', '.join(unknown[:5])}{more}")


def standing_of(study: Study, name: str, where: Where) -> Standing:
    """Count the chosen instances by what is to be done with them."""
    chosen = there = empty = 0
    for part in _parts_of(_chosen(study, where), where):
        chosen += part.count()
        there += part.filter(_has(name)).count()
        empty += part.exclude(_has(name)).filter(source="").count()
    still = chosen - there - empty
    return Standing(chosen, there, empty, still if where.limit is None else min(still, where.limit))


def open_instances(study: Study, name: str, where: Where) -> Iterator[tuple[int, str, str]]:
    """Yield primary key, id and source of the instances that have no text of the system yet, in the study's order."""
    left = where.limit
    wanted = frozenset(where.instances)
    last = -1
    rows = _chosen(study, where).exclude(_has(name)).exclude(source="").order_by("position")
    while left is None or left > 0:
        chunk = list(rows.filter(position__gt=last).values_list("position", "pk", "instance_id", "source")[:CHUNK])
        for position, pk, instance_id, source in chunk:
            last = position
            if (not wanted or instance_id in wanted) and (left is None or left > 0):
                left = None if left is None else left - 1
                yield pk, instance_id, source
        if len(chunk) < CHUNK:
            return


def _chosen(study: Study, where: Where) -> QuerySet[Instance]:
    rows = study.instances.all()
    return rows.filter(dataset=where.dataset) if where.dataset else rows


def _parts_of(rows: QuerySet[Instance], where: Where) -> Iterator[QuerySet[Instance]]:
    if not where.instances:
        yield rows
        return
    for part in parts(list(dict.fromkeys(where.instances))):
        yield rows.filter(instance_id__in=part)


def _has(name: str) -> Exists:
    """Match instances with texts of a system."""
    return Exists(Generation.objects.filter(instance=OuterRef("pk"), system__name=name).order_by())
