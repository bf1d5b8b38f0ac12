"""Creating studies from templates and files, and copying them."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max

from annotation.core.conversations import stored_content
from annotation.core.database.aggregates import grouped
from annotation.core.reasons import NO_REASON, Reason
from annotation.importing.content import row_of, store_instances
from annotation.importing.formats.study_file import InstanceRow
from annotation.members.accounts import grant_creator_role
from annotation.models import (
    ComparisonTable,
    Generation,
    ImportRecord,
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
        from annotation.importing.uploads import read_upload  # pages create studies without files

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
    for rows in _rows(source):
        store_instances(study=copy, rows=rows, name=source.slug)
        _copy_tables(source, copy, [row.instance_id for row in rows])


def _copy_each_text(source: Study, copy: Study) -> None:
    # A query that groups has no order of its own, and the order decides which one of two is A.
    systems = source.systems.annotate(most=Max("generations__index")).exclude(most=None).order_by("position")
    named = [(f"{system.name}/{n + 1}", system.family) for system in systems for n in range(system.most + 1)]
    System.objects.bulk_create(
        System(study=copy, name=name, family=family, position=position) for position, (name, family) in enumerate(named)
    )
    for rows in _rows(source):
        split = []
        for row in rows:
            texts = {
                f"{system}/{n}": [text]
                for system, texts in row.generations.items()
                for n, text in enumerate(texts, start=1)
            }
            split.append(replace(row, generations=texts, gold=None, matchups=None))
        store_instances(study=copy, rows=split, name=source.slug)


def _rows(study: Study) -> Iterator[list[InstanceRow]]:
    """Yield the study's instances as rows of a study file, in order, some at a time."""
    last = -1
    while instances := list(study.instances.filter(position__gt=last).order_by("position")[:_CHUNK]):
        last = instances[-1].position
        ids = [instance.pk for instance in instances]
        texts: dict[int, dict[str, list[str]]] = {pk: {} for pk in ids}
        generations = Generation.objects.filter(instance__in=ids).order_by("system__position", "index")
        for pk, system, text, messages in generations.values_list("instance_id", "system__name", "text", "messages"):
            texts[pk].setdefault(system, []).append(stored_content(text, messages))
        matchups = Matchup.objects.filter(instance__in=ids).order_by("pk")
        systems = matchups.values_list("instance_id", "system_a__name", "system_b__name")
        compared = grouped((pk, (a, b)) for pk, a, b in systems)
        yield [
            row_of(instance, number, texts[instance.pk], compared.get(instance.pk, ()))
            for number, instance in enumerate(instances, start=1)
        ]


def _copy_tables(source: Study, copy: Study, instance_ids: list[str]) -> None:
    pairs = Pair.objects.filter(matchup__instance__instance_id__in=instance_ids).order_by()
    systems = ("matchup__system_a__name", "matchup__system_b__name")
    keys, targets = (
        pairs.filter(matchup__instance__study=study).values_list(
            "pk", "matchup__instance__instance_id", *systems, "index"
        )
        for study in (source, copy)
    )
    name_of = {pk: tuple(name) for pk, *name in keys}
    copy_of = {tuple(name): pk for pk, *name in targets}
    tables = ComparisonTable.objects.filter(study=source, pair__in=pairs).order_by("pk")
    names = ("table_id", "variant", "aspects", "rows", "made_by")
    copies = (
        ComparisonTable(
            study=copy, pair_id=copy_of[name_of[table.pair_id]], **{name: getattr(table, name) for name in names}
        )
        for table in tables
    )
    ComparisonTable.objects.bulk_create(copies, batch_size=_CHUNK)
