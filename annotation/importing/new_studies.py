"""Creating studies from templates and files, and copying them."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max

from annotation.core.conversations import stored_content
from annotation.core.reasons import NO_REASON, Reason
from annotation.importing.content import row_of, store_instances
from annotation.importing.formats.study_file import InstanceRow
from annotation.importing.uploads import read_upload
from annotation.members.accounts import grant_creator_role
from annotation.models import (
    ComparisonTable,
    Generation,
    ImportRecord,
    Instance,
    Matchup,
    Pair,
    ResearchGroup,
    Study,
    System,
)
from annotation.studies.presets import BLANK, BatchDefaults, StudyTemplate, recorded_selection
from annotation.studies.services import ensure_study


def create_study(
    *,
    slug: str,
    group: ResearchGroup,
    settings: Mapping[str, Any],
    template: StudyTemplate,
    by: User | None = None,
    file: Mapping[str, Any] | None = None,
) -> tuple[Study, Reason]:
    """Create a study with these settings. Return it and the summary of its file's import, or "".

    template : recorded with the study, with its batch defaults
    by       : becomes a study admin of it
    file     : arguments of `read_upload` for a file of kind `study` or `mturk`; a bad file creates no study
    Raises: AnnotationError for a taken slug or an invalid setting; BadFile.
    """

    def finish(study: Study) -> None:
        if template.name != BLANK:
            record_origin(study=study, kind="template", name=template.name, select=template.batch.select)
        if by is not None:
            grant_creator_role(user=by, study=study)

    arguments = {**settings, "slug": slug, "group": group, "must_be_new": True, "on_made": finish}
    if file is not None:
        return read_upload(**file, **arguments)
    return ensure_study(**arguments), NO_REASON


def record_origin(*, study: Study, kind: str, name: str, select: str, **options: Any) -> ImportRecord:
    """Record a study's template or original: its name, a hash of the settings, and the batch defaults."""
    plan = BatchDefaults(select, study.pairs_per_hit, study.raters_per_hit)
    settings = {name: str(value) for name, value in settings_of(study).items()}
    return ImportRecord.objects.create(
        study=study,
        kind=kind,
        file_name=name,
        sha256=hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest(),
        options={"select": plan.select, "pairs": plan.pairs, "raters": plan.raters, **options},
    )


NOT_SETTINGS = frozenset(
    {"id", "key", "group", "slug", "consent_version", "seed", "created_at", "archived_at", "importer", "merging"}
)


def settings_of(study: Study) -> dict[str, Any]:
    """Return a study's settings by name."""
    names = [field.name for field in Study._meta.fields if field.name not in NOT_SETTINGS]
    return {name: getattr(study, name) for name in names}


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
    each_text: bool = False,
    by: User | None = None,
) -> Study:
    """Create a study with the settings of another one, a new seed and consent version 1.

    Ratings, batches, raters, roles and the log are not copied.

    with_instances : copy systems, instances, generations, matchups, pairs and comparison tables
    each_text      : copy instances with each text as a system of its own, named SYSTEM/1, SYSTEM/2, …, and with all pairs of
                     texts; gold and comparison tables, which are about the systems, are left out
    by             : becomes a study admin of the copy
    Raises: AnnotationError if the slug is invalid or taken.
    """

    def finish(copy: Study) -> None:
        select = recorded_selection(study)
        record_origin(study=copy, kind="copy", name=study.slug, select=select, with_instances=with_instances)
        if by is not None:
            grant_creator_role(user=by, study=copy)
        if with_instances:
            _copy_texts(study, copy)
        elif each_text:
            _copy_each_text(study, copy)

    settings = {**settings_of(study), "title": title or study.title}
    return ensure_study(slug=slug, group=group, must_be_new=True, on_made=finish, **settings)


def _copy_texts(source: Study, copy: Study) -> None:
    # All systems first: their order decides which one of two is A.
    System.objects.bulk_create(
        System(study=copy, name=system.name, family=system.family, position=system.position)
        for system in source.systems.all()
    )
    for instances in _chunks(source):
        store_instances(study=copy, rows=_as_rows(instances), name=source.slug)
        _copy_tables(source, copy, [instance.instance_id for instance in instances])


def _copy_each_text(source: Study, copy: Study) -> None:
    # A query that groups has no order of its own, and the order decides which one of two is A.
    systems = source.systems.annotate(most=Max("generations__index")).exclude(most=None).order_by("position")
    named = [(f"{system.name}/{n + 1}", system.family) for system in systems for n in range(system.most + 1)]
    System.objects.bulk_create(
        System(study=copy, name=name, family=family, position=position) for position, (name, family) in enumerate(named)
    )
    for instances in _chunks(source):
        rows = [
            replace(
                row,
                generations={
                    f"{system}/{n}": [text]
                    for system, texts in row.generations.items()
                    for n, text in enumerate(texts, start=1)
                },
                gold=None,
                matchups=None,
            )
            for row in _as_rows(instances)
        ]
        store_instances(study=copy, rows=rows, name=source.slug)


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
    columns = ("instance_id", "system__name", "text", "messages")
    for pk, system, text, messages in generations.values_list(*columns):
        texts[pk].setdefault(system, []).append(stored_content(text, messages))
    met: dict[int, list[tuple[str, str]]] = {pk: [] for pk in ids}
    matchups = Matchup.objects.filter(instance__in=ids).order_by("pk")
    for pk, a, b in matchups.values_list("instance_id", "system_a__name", "system_b__name"):
        met[pk].append((a, b))
    return [
        row_of(instance, number, texts[instance.pk], met[instance.pk])
        for number, instance in enumerate(instances, start=1)
    ]


def _copy_tables(source: Study, copy: Study, instance_ids: list[str]) -> None:
    named = Pair.objects.filter(matchup__instance__instance_id__in=instance_ids)
    tables = ComparisonTable.objects.filter(study=source, pair__in=named).order_by("pk")
    names = _names(named.filter(matchup__instance__study=source))
    targets = {name: pk for pk, name in _names(named.filter(matchup__instance__study=copy)).items()}
    ComparisonTable.objects.bulk_create(
        (ComparisonTable(study=copy, pair_id=targets[names[table.pair_id]], **_contents(table)) for table in tables),
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
