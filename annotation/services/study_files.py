"""Reading a study file, or a file of labelled outputs or preference pairs, into a study."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from annotation.formats.labelled import parse_labelled
from annotation.formats.study_file import DEFAULT_DATASET, InstanceRow, parse_study_file
from annotation.models import Study
from annotation.services.content import Stored, store_instances
from annotation.services.studies import ensure_study, record_import


def import_study(
    *, data: bytes, name: str, slug: str, dataset: str = DEFAULT_DATASET, **settings: Any
) -> tuple[Study, Stored]:
    """Read a study file whole or not at all; the study is made when it isn't there.

    Raises: BadFile listing every line that can't be taken.
    """
    rows = parse_study_file(data, name, dataset=dataset)
    return _store(rows, kind="study", data=data, name=name, slug=slug, settings=settings, dataset=dataset)


def import_sources(
    *, data: bytes, name: str, slug: str, dataset: str = DEFAULT_DATASET, **settings: Any
) -> tuple[Study, Stored]:
    """Read a file of source texts without generations, whole or not at all: these are sampled, or read, later.

    Raises: BadFile listing every line that can't be taken.
    """
    rows = parse_study_file(data, name, dataset=dataset, sources_only=True)
    return _store(rows, kind="sources", data=data, name=name, slug=slug, settings=settings, dataset=dataset)


def import_labelled(
    *,
    form: str,
    data: bytes,
    name: str,
    slug: str,
    dataset: str = "",
    tags: Sequence[str] = (),
    side_seed: int = 0,
    **settings: Any,
) -> tuple[Study, Stored]:
    """Read labelled outputs or preference pairs whole or not at all; the study is made when it isn't there.

    form : of `annotation.formats.labelled.FIELDS`; for the rest see `parse_labelled`
    Raises: BadFile listing every line that can't be taken.
    """
    rows = parse_labelled(data, name, form=form, dataset=dataset, tags=tags, seed=side_seed)
    options = {"dataset": rows[0].dataset, "tags": list(tags), "side_seed": side_seed}
    return _store(rows, kind=form, data=data, name=name, slug=slug, settings=settings, **options)


def _store(
    rows: Sequence[InstanceRow],
    *,
    kind: str,
    data: bytes,
    name: str,
    slug: str,
    settings: dict[str, Any],
    **options: Any,
) -> tuple[Study, Stored]:
    with transaction.atomic():  # only now: while SQLite writes, every rater waits
        study = ensure_study(slug=slug, **settings)
        stored = store_instances(study=study, rows=rows, name=name)
        if stored.added or stored.extended:
            record_import(study=study, kind=kind, name=name, data=data, counts=stored.counts, **options)
        return study, stored


def summary(name: str, study: Study, stored: Stored) -> str:
    """Say in one line what an import did."""
    if not stored.added and not stored.extended:
        return f"{name}: nothing new; all {stored.unchanged} instances are in study {study.slug} already"
    parts = [f"{stored.added} instances added"]
    if stored.extended:
        parts.append(f"{stored.extended} given further systems")
    if stored.unchanged:
        parts.append(f"{stored.unchanged} there already")
    return f"{name}: {', '.join(parts)} (study {study.slug})"
