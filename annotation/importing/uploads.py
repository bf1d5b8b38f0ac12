"""Importing an uploaded file of texts, tables or people's ratings."""

from typing import Any

from django.conf import settings as django_settings

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
    file: dict[str, Any] = {"data": data, "name": name, "slug": slug, **({"mapping": mapping} if mapping else {})}
    texts: dict[str, Any] = {**file, "dataset": dataset, "bound": bound, **settings}
    if kind in ("study", "sources"):
        texts |= {"dataset": dataset or DEFAULT_DATASET, "sources_only": kind == "sources"}
        study, stored = import_study(**texts)
    elif kind in FIELDS:
        study, stored = import_labelled(form=kind, **texts)
    elif kind == OUTPUTS:
        study, stored = import_outputs(reference=system_1, **texts)
    else:
        if kind == "mturk":
            study, stored, ratings = import_mturk(system_1=system_1, system_2=system_2, **texts)
            contents = reason("ratings_on_instances", number=ratings.added, instances=stored.added)
            is_news = bool(stored.added or ratings.added or ratings.notices)
            notices = (*stored.notices, *ratings.notices)
        elif kind == "ratings":
            study, ratings = import_ratings(**file)
            contents, notices = reason("ratings", number=ratings.added), ratings.notices
            is_news = bool(ratings.added or notices)
        elif kind == "tables":
            study, added, _ = import_tables(**file)
            contents, is_news, notices = reason("comparison_tables", number=added), bool(added), ()
        else:
            raise AnnotationError(f"{kind!r} is no kind of file")
        outcome = reason("imported", name=name, contents=contents) if is_news else reason("nothing_new", name=name)
        return study, with_notices(outcome, notices)
    return study, summary(name, study, stored)
