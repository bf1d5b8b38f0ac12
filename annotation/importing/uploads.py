"""Importing an uploaded file of texts, tables or people's ratings."""

from typing import Any

from django.conf import settings as django_settings

from annotation.core.counting import number_of
from annotation.core.errors import AnnotationError
from annotation.core.files.file_bounds import Bound, bound_of_upload
from annotation.core.files.lines import FileData
from annotation.core.files.mapping import NOTHING, FieldMapping
from annotation.core.reasons import Reason, reason
from annotation.importing.formats.labelled import FIELDS
from annotation.importing.formats.study_file import DEFAULT_DATASET
from annotation.importing.mturk_results import import_mturk
from annotation.importing.notices import with_notices
from annotation.importing.rating_files import import_ratings
from annotation.importing.study_files import OUTPUTS, import_labelled, import_outputs, import_study, summary
from annotation.importing.tables import import_tables
from annotation.models import Study


def read_upload(
    *,
    kind: str,
    data: FileData,
    name: str,
    slug: str,
    dataset: str,
    system_1: str = "",
    system_2: str = "",
    mapping: FieldMapping = NOTHING,
    bound: Bound | None = None,
    **settings: Any,
) -> tuple[Study, Reason]:
    """Import a file into a study. Return the study, a summary and notices.

    data    : as of `annotation.core.files.sent_files`: rows of Parquet are JSON Lines already
    mapping : see `annotation.core.files.mapping`
    bound   : by default that of uploads
    Raises: BadFile listing the bad lines; AnnotationError for an unknown kind.
    """
    bound = bound or bound_of_upload(kind, django_settings.UPLOAD_MAX_ROWS)
    bound.refuse_rows(data, name)
    file: dict[str, Any] = {"data": data, "name": name, "slug": slug}
    if mapping:
        file["mapping"] = mapping
    if kind in ("study", "sources"):
        file |= {"dataset": dataset or DEFAULT_DATASET, "sources_only": kind == "sources"}
        study, stored = import_study(**file, bound=bound, **settings)
        return study, summary(name, study, stored)
    if kind in FIELDS:
        study, stored = import_labelled(**file, form=kind, dataset=dataset, bound=bound, **settings)
        return study, summary(name, study, stored)
    if kind == OUTPUTS:
        study, stored = import_outputs(**file, dataset=dataset, reference=system_1, bound=bound, **settings)
        return study, summary(name, study, stored)
    if kind == "mturk":
        study, stored, ratings = import_mturk(
            **file, system_1=system_1, system_2=system_2, dataset=dataset, bound=bound, **settings
        )
        contents = f"{number_of(ratings.added, 'rating')} on {number_of(stored.added, 'new instance')}"
        return study, with_notices(_summary(name, contents, ratings.added), (*stored.notices, *ratings.notices))
    if kind == "ratings":
        study, ratings = import_ratings(**file)
        is_news = ratings.added or len(ratings.notices)
        return study, with_notices(_summary(name, number_of(ratings.added, "rating"), is_news), ratings.notices)
    if kind == "tables":
        study, added, _ = import_tables(**file)
        return study, _summary(name, number_of(added, "comparison table"), added)
    raise AnnotationError(f"{kind!r} is no kind of file")


def _summary(name: str, contents: str, is_news: int) -> Reason:
    return reason("imported", name=name, contents=contents) if is_news else reason("nothing_new", name=name)
