"""Copying a study's settings, and optionally its texts."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from annotation.importing.content import row_of, store_instances
from annotation.importing.formats.study_file import InstanceRow
from annotation.importing.new_studies import record_origin, settings_of
from annotation.members.accounts import grant_creator_role
from annotation.models import ComparisonTable, Generation, Instance, Matchup, Pair, ResearchGroup, Study, System
from annotation.studies.presets import batch_defaults
from annotation.studies.services import ensure_study

_CHUNK = 500
_PairName = tuple[str, str, str, int]


@transaction.atomic
def copy_study(
    *,
    study: Study,
    slug: str,
    group: ResearchGroup,
    title: str = "",
    with_instances: bool = False,
    by: User | None = None,
) -> Study:
    """Create a study with the settings of another one, a new seed and consent version 1.

    Ratings, batches, raters, roles and the log are not copied.

    with_instances : copy systems, instances, generations, matchups, pairs and comparison tables
    by             : becomes a study admin of the copy
    Raises: AnnotationError if the slug is invalid or taken.
    """

    def finish(copy: Study) -> None:
        select = batch_defaults(study).select
        record_origin(study=copy, kind="copy", name=study.slug, select=select, with_instances=with_instances)
        if by is not None:
            grant_creator_role(user=by, study=copy)
        if with_instances:
            _copy_texts(study, copy)

    settings = {**settings_of(study), "title": title or study.title}
    return ensure_study(slug=slug, group=group, must_be_new=True, on_made=finish, **settings)


def _copy_texts(source: Study, copy: Study) -> None:
    # All systems first: their order decides which one of two is A.
    System.objects.bulk_create(
        System(study=copy, name=one.name, family=one.family, position=one.position) for one in source.systems.all()
    )
    for instances in _chunks(source):
        store_instances(study=copy, rows=_as_rows(instances), name=source.slug)
        _copy_tables(source, copy, [instance.instance_id for instance in instances])


def _chunks(study: Study) -> Iterator[list[Instance]]:
    """Yield the study's instances in chunks, in order."""
    last = -1
    while chunk := list(study.instances.filter(position__gt=last).order_by("position")[:_CHUNK]):
        yield chunk
        last = chunk[-1].position


def _as_rows(instances: Sequence[Instance]) -> list[InstanceRow]:
    """Return instances as rows of a study file."""
    ids = [instance.pk for instance in instances]
    texts: dict[int, dict[str, list[str]]] = {pk: {} for pk in ids}
    generations = Generation.objects.filter(instance__in=ids).order_by("system__position", "index")
    for pk, system, text in generations.values_list("instance_id", "system__name", "text"):
        texts[pk].setdefault(system, []).append(text)
    met: dict[int, list[tuple[str, str]]] = {pk: [] for pk in ids}
    matchups = Matchup.objects.filter(instance__in=ids).order_by("pk")
    for pk, a, b in matchups.values_list("instance_id", "system_a__name", "system_b__name"):
        met[pk].append((a, b))
    return [row_of(one, number, texts[one.pk], met[one.pk]) for number, one in enumerate(instances, start=1)]


def _copy_tables(source: Study, copy: Study, instance_ids: list[str]) -> None:
    named = Pair.objects.filter(matchup__instance__instance_id__in=instance_ids)
    tables = ComparisonTable.objects.filter(study=source, pair__in=named).order_by("pk")
    names = _names(named.filter(matchup__instance__study=source))
    places = {name: pk for pk, name in _names(named.filter(matchup__instance__study=copy)).items()}
    ComparisonTable.objects.bulk_create(
        (ComparisonTable(study=copy, pair_id=places[names[table.pair_id]], **_contents(table)) for table in tables),
        batch_size=_CHUNK,
    )


def _names(pairs: Any) -> dict[int, _PairName]:
    """Return names of pairs that are the same in both studies."""
    rows = pairs.order_by().values_list(
        "pk", "matchup__instance__instance_id", "matchup__system_a__name", "matchup__system_b__name", "index"
    )
    return {pk: (instance, a, b, index) for pk, instance, a, b, index in rows}


def _contents(table: ComparisonTable) -> dict[str, Any]:
    return {name: getattr(table, name) for name in ("table_id", "variant", "aspects", "rows", "made_by")}
