"""Writing a study as a bundle."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from django.utils import timezone

from annotation.core.database.snapshot import one_snapshot
from annotation.core.files.parquet import INTEGER, PARQUET, is_available, write_parquet
from annotation.core.version import VERSION
from annotation.models import Study
from annotation.planning.frozen_plans import frozen_plan
from judging.methods.prompts import files_named
from judging.models import Judge, Judgment
from reporting.bundle.layout import (
    EVERYTHING,
    FORMAT_VERSION,
    KIND,
    MANIFEST,
    NUMBERS,
    PLAN,
    PROMPTS,
    STUDY,
    Contents,
    Progress,
    row_file,
    silent,
)
from reporting.bundle.numbers import all_numbers, filters_of_numbers
from reporting.bundle.opening import Bundle
from reporting.bundle.records import TABLES
from reporting.bundle.rows import NUMBERED, READABLE, description_of
from reporting.bundle.verifying import compare_elsewhere
from reporting.exports.files import types_of
from reporting.exports.folders import Folder, new_folder


def export_bundle(
    study: Study, folder: Path, contents: Contents = EVERYTHING, progress: Progress = silent
) -> dict[str, Any]:
    """Write a study as it is at one moment into a new folder. Return the manifest.

    The folder appears as a whole, after its numbers were computed from its rows again and found the same.

    progress : called with the number of files written
    Raises: AnnotationError if the folder exists or can't be written.
    """
    total = len(READABLE) + len(TABLES) + 2
    with new_folder(folder) as part_folder:
        with one_snapshot():
            for done, _ in enumerate(_files(study, part_folder, contents), start=1):
                progress(done, total)
            manifest = _manifest(study, part_folder, contents)
        part_folder.write_json(MANIFEST, manifest)
        compare_elsewhere(part_folder.path)
        progress(total, total)
    return manifest


def _files(study: Study, part_folder: Folder, contents: Contents) -> Iterator[None]:
    study.refresh_from_db()
    for name, rows in READABLE.items():
        part_folder.write_rows(row_file(name), rows(study, contents))
        if is_available():
            _write_parquet(part_folder, name)
        yield
    for table in TABLES:
        part_folder.write_rows(row_file(table.name), table.written(study, contents))
        yield
    for name, text in _prompts(study):
        part_folder.write_text(f"{PROMPTS}/{name}", text)
    if plan := frozen_plan(study):
        part_folder.write_text(PLAN, plan.text)
    part_folder.write_json(STUDY, description_of(study))
    part_folder.write_json(NUMBERS, all_numbers(study, contents))
    yield


def _write_parquet(part_folder: Folder, name: str) -> None:
    """Write the rows of a file beside it, for tools that read columns. A file without rows has no columns."""
    rows = Bundle(part_folder.path, {"files": part_folder.files}).rows(name)
    if first := next(rows, None):
        types = {column: INTEGER if column in NUMBERED else kind for column, kind in types_of(list(first)).items()}
        part_folder.write_file(f"{name}{PARQUET}", lambda path: write_parquet(path, chain([first], rows), types))


def _manifest(study: Study, part_folder: Folder, contents: Contents) -> dict[str, Any]:
    plan = frozen_plan(study)
    return {
        "kind": KIND,
        "format_version": FORMAT_VERSION,
        "software_version": VERSION,
        "study": study.slug,
        "exported_at": timezone.now().isoformat(),
        "contents": contents.as_json(),
        "plan": plan.as_json() if plan else None,
        "withdrawn_raters": study.annotators.exclude(withdrawn_at=None).count(),
        "seeds": {
            "study": study.seed,
            "findings": filters_of_numbers().seed,
            "batches": dict(study.batches.values_list("name", "seed")),
            "judges": dict(_judges(study).values_list("name", "seed")),
        },
        "files": dict(part_folder.files),
    }


def _judges(study: Study) -> Any:
    return Judge.objects.filter(runs__study=study).distinct().order_by("name")


def _prompts(study: Study) -> Iterator[tuple[str, str]]:
    """Yield the wordings that a study's judges were asked with: researchers' own, and those that come with Tandem."""
    own = {judge.prompt_file for judge in _judges(study).select_related("prompt_file")} - {None}
    for prompt in sorted(own, key=str):
        yield f"{prompt}.txt", prompt.text
    judgments = Judgment.objects.filter(run__study=study).order_by()
    for path in files_named(judgments.values_list("prompt_version", flat=True).distinct()):
        yield f"{path.parent.name}/{path.name}", path.read_text(encoding="utf-8")
