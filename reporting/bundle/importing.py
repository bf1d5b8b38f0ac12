"""Making a study from a bundle: its records are stored, and its findings compared with the bundle's numbers."""

from functools import partial
from pathlib import Path

from django.db import transaction

from annotation.core.errors import AnnotationError
from annotation.core.names import short_name_problem
from annotation.core.reasons import Reason, reason
from annotation.core.tasks.progress import READING, STORING, report
from annotation.models import Event, ImportRecord, ResearchGroup, Study
from annotation.models.members import main_group
from annotation.studies.services import ensure_study, record_import, validate
from reporting.bundle.layout import MANIFEST, BadBundle, Progress, silent
from reporting.bundle.numbers import all_numbers
from reporting.bundle.opening import Bundle, open_bundle, unpacked
from reporting.bundle.records import TABLES
from reporting.bundle.storing import settings_of, store
from reporting.bundle.verifying import refuse_differences, verify_bundle
from reporting.exports.folders import sha256_of


def import_bundle(
    folder: Path,
    *,
    slug: str,
    group: ResearchGroup | None = None,
    progress: Progress = silent,
) -> Study:
    """Create a study with all rows of a bundle, or nothing if its findings differ in any digit.

    Accounts and platforms' ids are in no bundle: raters keep their pseudonyms, and channels are closed and have new addresses.

    Raises: BadBundle; AnnotationError for a taken name, or a judge or endpoint of the same name and other settings.
    """
    # Before minutes of verifying.
    if problem := short_name_problem(Study, "slug", slug):
        raise AnnotationError(problem)
    validate(Study(slug=slug, title=slug, group=group or main_group()))
    bundle = _verified(folder)
    with transaction.atomic():
        settings = {**settings_of(bundle), **({} if group is None else {"group": group})}
        study = ensure_study(slug=slug, must_be_new=True, **settings)
        _store(bundle, study, progress)
    return study


def import_upload(path: Path, *, name: str, study: Study) -> Reason:
    """Import an uploaded bundle, a ZIP archive, into an empty study. Return a summary.

    Raises: as `import_bundle`; AnnotationError for a study in which there is something.
    """
    with unpacked(path, name) as folder:
        bundle = _verified(folder, partial(report, READING))
        with transaction.atomic():
            study = Study.objects.select_for_update().get(pk=study.pk)
            # The log of how the study was made may be there.
            own = [table for table in TABLES if not table.same and table.model not in (Event, ImportRecord)]
            if full := [table.model._meta.verbose_name_plural for table in own if table.rows(study).exists()]:
                raise AnnotationError(reason("study_not_empty", study=study.slug, contents=str(full[0])))
            for setting, value in settings_of(bundle).items():
                setattr(study, setting, value)
            validate(study)
            study.save()
            _store(bundle, study, partial(report, STORING))
    return reason("bundle_imported", name=name)


def verify_upload(path: Path, *, name: str, study: Study) -> Reason:
    """Verify an uploaded bundle, a ZIP archive, without storing it. Return a summary.

    study : where it was sent; the bundle may be of any
    Raises: as `verify_bundle`.
    """
    with unpacked(path, name) as folder:
        return reason("bundle_verified", name=name, result=verify_bundle(folder, partial(report, READING)).result)


def _verified(folder: Path, progress: Progress = silent) -> Bundle:
    if not open_bundle(folder).contents.texts:
        raise BadBundle(reason("bundle_without_texts"))
    return verify_bundle(folder, progress)


def _store(bundle: Bundle, study: Study, progress: Progress) -> None:
    """Store all rows, and compare the findings, within a transaction."""
    store(bundle, study, progress)
    numbers = all_numbers(study, bundle.contents)
    refuse_differences(bundle.numbers, numbers, "numbers_not_of_study", other_name=True)
    manifest = bundle.folder / MANIFEST
    record_import(
        study=study,
        kind="bundle",
        name=bundle.folder.name,
        data=manifest.read_bytes(),
        counts={"files": len(bundle.manifest["files"])},
        manifest=sha256_of(manifest),
    )
    progress(len(TABLES) + 1, len(TABLES) + 1)
