"""Reading an uploaded file of any kind that a study takes."""

from typing import Any

from annotation.errors import AnnotationError
from annotation.formats.labelled import FIELDS
from annotation.formats.study_file import DEFAULT_DATASET
from annotation.models import Study
from annotation.services.mturk import import_mturk
from annotation.services.rating_files import import_ratings
from annotation.services.study_files import import_labelled, import_sources, import_study, summary
from annotation.services.tables import import_tables


def read_upload(
    *, kind: str, data: bytes, name: str, slug: str, dataset: str, system_1: str, system_2: str, **settings: Any
) -> tuple[Study, str]:
    """Read a file into a study; returns the study and one line that says what came of it.

    Raises: BadFile listing every line that can't be taken; AnnotationError for an unknown kind.
    """
    if kind == "study":
        study, stored = import_study(data=data, name=name, slug=slug, dataset=dataset or DEFAULT_DATASET, **settings)
        return study, summary(name, study, stored)
    if kind == "sources":
        study, stored = import_sources(data=data, name=name, slug=slug, dataset=dataset or DEFAULT_DATASET, **settings)
        return study, summary(name, study, stored)
    if kind in FIELDS:
        study, stored = import_labelled(form=kind, data=data, name=name, slug=slug, dataset=dataset, **settings)
        return study, summary(name, study, stored)
    if kind == "mturk":
        study, stored, ratings = import_mturk(
            data=data, name=name, slug=slug, system_1=system_1, system_2=system_2, dataset=dataset, **settings
        )
        return study, _said(name, f"{ratings.added} ratings on {stored.added} new instances", ratings.added)
    if kind == "ratings":
        study, ratings = import_ratings(data=data, name=name, slug=slug)
        return study, _said(name, f"{ratings.added} ratings", ratings.added)
    if kind == "tables":
        study, added, _ = import_tables(data=data, name=name, slug=slug)
        return study, _said(name, f"{added} comparison tables", added)
    raise AnnotationError(f"{kind!r} is no kind of file")


def _said(name: str, what: str, added: int) -> str:
    return f"{name}: {what} added" if added else f"{name}: nothing new; everything in it is in the study already"
