"""Importing a file of any kind, which its fields may show."""

from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings

from annotation.core.files.file_bounds import Bound, bound_of_upload
from annotation.core.files.lines import FileData
from annotation.core.files.mapping import FieldMapping, fits, parse_mapping
from annotation.core.reasons import Reason
from annotation.importing.formats.public_forms import AUTO, first_fields, recognised
from annotation.importing.uploads import read_upload
from annotation.models import ImportRecord, Study
from judging.importing import elsewhere
from judging.importing import services as judgments

JUDGED_IMPORTS: Mapping[str, Callable[..., tuple[Study, Reason]]] = {
    "judgments": judgments.import_upload,
    **dict.fromkeys(elsewhere.READERS, elsewhere.import_upload),
}
MOST_MAPPINGS = 20  # of earlier imports, one of which may fit a file
NEW_STUDY = ("title", "task_kind", "question")  # settings that an import may give a new study


def import_file(
    *,
    kind: str,
    data: FileData,
    name: str,
    slug: str,
    dataset: str,
    mapping: str = "",
    bound: Bound | None = None,
    **options: Any,
) -> tuple[Study, Reason]:
    """Import a file of any kind but whole studies, as `read_upload` does.

    mapping : lines FIELD=COLUMN
    options : names of systems; settings of a new study where it is made
    Raises: BadFile listing the bad lines.
    """
    kind, fields = resolved(kind=kind, data=data, name=name, slug=slug, mapping=mapping)
    bound = bound or bound_of_upload(kind, settings.UPLOAD_MAX_ROWS)
    bound.refuse_rows(data, name)
    file: dict[str, Any] = {"kind": kind, "data": data, "name": name, "slug": slug, "dataset": dataset, "bound": bound}
    if fields:
        file["mapping"] = fields
    if kind not in JUDGED_IMPORTS:
        return read_upload(**file, **options)
    return JUDGED_IMPORTS[kind](**file, **{name: options[name] for name in NEW_STUDY if name in options})


def resolved(*, kind: str, data: FileData, name: str, slug: str, mapping: str) -> tuple[str, FieldMapping]:
    """Return the kind of a file, and how its fields are mapped.

    kind : AUTO for that of the mapping, of the study's latest mapping of the same fields, or of the form that the fields show
    Raises: BadFile for a file of no known form; Unacceptable for a mapping that can't be read.
    """
    columns = parse_mapping(filter(str.strip, mapping.splitlines()))
    if kind != AUTO:
        return kind, columns
    if columns:
        return kind_of_mapping(columns), columns
    fields = first_fields(data)
    for record in ImportRecord.objects.filter(study__slug=slug, options__has_key="mapping").order_by("-pk")[
        :MOST_MAPPINGS
    ]:
        if fits(record.options["mapping"], fields):
            return record.kind, record.options["mapping"]
    form = recognised(data, name)
    return form.kind, form if form.convert else columns


def kind_of_mapping(columns: Mapping[str, str]) -> str:
    """Return the kind of files that have the fields of a mapping."""
    wide = any(column.startswith("ratings.") for column in columns)
    return "ratings" if wide or "rating" in columns else "judgments" if "judge" in columns else "study"
