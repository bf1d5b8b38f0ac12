"""Storing generations of one system that were sampled for a study's instances."""

from collections.abc import Mapping, Sequence

from django.db import transaction

from annotation.importing.content import row_of, store_instances
from annotation.importing.formats.study_file import InstanceRow
from annotation.models import Generation, Instance, Study


@transaction.atomic
def store_generations(*, study: Study, system: str, texts: Mapping[int, Sequence[str]], name: str) -> set[int]:
    """Add a system's texts to instances, given by primary key. Return the instances that were changed.

    Deleted instances, and those with texts of this system, are skipped. A new system gets the last position; matchups
    and pairs are made as for a study file.
    name : of the texts' source, for errors
    Raises: BadFile for a system's name or a text that can't be stored.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    systems = {system.pk: system.name for system in study.systems.order_by("position")}
    present: dict[int, set[int]] = {pk: set() for pk in texts}
    rows = Generation.objects.filter(instance__in=list(texts), index=0).order_by()
    for instance, pk in rows.values_list("instance_id", "system_id"):
        present[instance].add(pk)
    order = [*systems.values(), *([] if system in systems.values() else [system])]
    fresh = {
        instance.pk: _row(
            number, instance, system, texts[instance.pk], [systems[pk] for pk in present[instance.pk]], order
        )
        for number, instance in enumerate(study.instances.filter(pk__in=list(texts)).order_by("position"), start=1)
        if system not in {systems[pk] for pk in present[instance.pk]}
    }
    if fresh:
        store_instances(study=study, rows=[*fresh.values()], name=name)
    return {*fresh}


def _row(
    number: int, instance: Instance, system: str, texts: Sequence[str], extra: Sequence[str], order: Sequence[str]
) -> InstanceRow:
    """Return an instance as a row of a study file. The earlier one of two systems is A."""
    meetings = (sorted((system, second), key=order.index) for second in sorted(extra, key=order.index))
    return row_of(instance, number, {system: list(texts)}, ((item, second) for item, second in meetings))
