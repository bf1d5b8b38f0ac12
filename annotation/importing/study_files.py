"""Importing study files, source texts, labelled outputs, preference pairs and outputs of systems."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from annotation.core.errors import BadLine
from annotation.core.files.file_bounds import FOR_COMMANDS, Bound
from annotation.core.files.lines import FileData, refuse
from annotation.core.files.mapping import NOTHING, FieldMapping, in_own_columns, recorded
from annotation.core.names import trim
from annotation.core.reasons import Reason, reason
from annotation.importing.content import StoredInstances, stage_instances
from annotation.importing.formats.alpacaeval import parse_outputs
from annotation.importing.formats.labelled import parse_labelled
from annotation.importing.formats.study_file import DEFAULT_DATASET, InstanceRow, read_study_file
from annotation.importing.notices import with_notices
from annotation.importing.staging import open_import
from annotation.models import Study

OUTPUTS, ALPACAEVAL = "outputs", "alpacaeval"


@in_own_columns
def import_study(
    *,
    data: FileData,
    name: str,
    slug: str,
    dataset: str = DEFAULT_DATASET,
    sources_only: bool = False,
    bound: Bound = FOR_COMMANDS,
    mapping: FieldMapping = NOTHING,
    **settings: Any,
) -> tuple[Study, StoredInstances]:
    """Import a study file, or source texts without generations, whole or not at all. A missing study is created.

    mapping : field → column, see `annotation.core.files.mapping`
    Raises: BadFile listing the bad lines.
    """
    reading: dict[str, Any] = {"sources_only": sources_only, "bound": bound, "mapping": mapping}
    read = partial(read_study_file, data, name, dataset=trim(dataset), **reading)
    file: dict[str, Any] = {
        "kind": "sources" if sources_only else "study",
        "data": data,
        "name": name,
        "dataset": dataset,
    }
    return _store(read, slug, settings, **file, **recorded(mapping))


def import_labelled(
    *,
    form: str,
    data: FileData,
    name: str,
    slug: str,
    dataset: str = "",
    tags: Sequence[str] = (),
    side_seed: int = 0,
    bound: Bound = FOR_COMMANDS,
    **settings: Any,
) -> tuple[Study, StoredInstances]:
    """Import labelled outputs or preference pairs, whole or not at all. A missing study is created.

    form : key of `annotation.importing.formats.labelled.FIELDS`; for the other arguments see `parse_labelled`
    Raises: BadFile listing the bad lines.
    """
    rows = parse_labelled(data, name, form=form, dataset=trim(dataset), tags=tags, seed=side_seed, bound=bound)
    options = {"dataset": rows[0].dataset, "tags": list(tags), "side_seed": side_seed}
    return _store(lambda: (rows, []), slug, settings, kind=form, data=data, name=name, **options)


@in_own_columns
def import_outputs(
    *,
    data: FileData,
    name: str,
    slug: str,
    dataset: str = "",
    reference: str = "",
    bound: Bound = FOR_COMMANDS,
    mapping: FieldMapping = NOTHING,
    **settings: Any,
) -> tuple[Study, StoredInstances]:
    """Import AlpacaEval's outputs of systems, whole or not at all. A missing study is created.

    reference : see `parse_outputs`
    Raises: BadFile listing the bad lines.
    """
    reading: dict[str, Any] = {"reference": trim(reference), "bound": bound, "mapping": mapping}
    rows = parse_outputs(data, name, dataset=trim(dataset) or ALPACAEVAL, **reading)
    options = {"reference": reference, **recorded(mapping)}
    return _store(lambda: (rows, []), slug, settings, kind=OUTPUTS, data=data, name=name, **options)


def _store(
    read: Callable[[], tuple[Iterable[InstanceRow], list[BadLine]]],
    slug: str,
    settings: dict[str, Any],
    *,
    name: str,
    **file: Any,
) -> tuple[Study, StoredInstances]:
    """Store the instances of a file, which is read twice: all of them would take more memory than a block."""
    rows, bad = read()
    texts = sum(1 + sum(map(len, row.generations.values())) for row in rows)
    with open_import(slug, rows=texts, parts=2, settings=settings) as target:
        again, of_second_reading = read()
        stored = stage_instances(target=target, rows=again, name=name, bad=bad)
        refuse(name, of_second_reading)  # of a file that has changed meanwhile
        if stored.added or stored.extended:
            target.record(name=name, counts=stored.counts, **file)
    return target.study, stored


def summary(name: str, study: Study, stored: StoredInstances) -> Reason:
    """Return one line on what an import did, and one for each notice."""
    if not stored.added and not stored.extended:
        contents = reason("instances", number=stored.unchanged)
        return reason("nothing_new_of", name=name, contents=contents, study=study.slug)
    others = {"given_systems": stored.extended, "already_imported": stored.unchanged, "empty_texts": stored.blank}
    parts = [
        reason("added", contents=reason("instances", number=stored.added)),
        *(reason(code, number=number) for code, number in others.items() if number),
    ]
    added = reason("imported_into", name=name, contents=parts, study=study.slug)
    return with_notices(added, stored.notices)
