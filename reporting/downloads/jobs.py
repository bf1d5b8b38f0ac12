"""Files that the worker makes of a study: queueing, finding and removing them."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from annotation.core.version import VERSION
from annotation.jobs.work import queue_job
from annotation.models import Study
from annotation.models.jobs import Job
from reporting.core.raters import departures
from reporting.models import MadeFile

Status = MadeFile.Status
MOST_KEPT = 5  # of a study
RANKING_LIMITS = ("in_flight", "max_cost", "limit")  # of a ranking that asks


def path_of(file: MadeFile) -> Path:
    """Return where a file is kept, on the disk that web server and worker share."""
    return Path(settings.DATA_DIR) / "files" / f"{file.key}.zip"


@transaction.atomic
def queue_file(study: Study, kind: str, options: dict[str, Any], by: User | None = None) -> tuple[MadeFile, bool]:
    """Queue the creation of a file, unless the same is under way. The second value is whether it is new."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    for item in files_of(study):
        if item.status in Job.UNDER_WAY and (item.kind, item.options) == (kind, options):
            return item, False
    item = MadeFile.objects.create(study=study, kind=kind, options=options, asked_by=by, software_version=VERSION)
    queue_job(item)
    return item, True


def files_of(study: Study) -> list[MadeFile]:
    """Return a study's files, the latest first. Those with the work of raters who have left since are removed."""
    files, departed = [], departures(study)
    for file in study.made_files.select_related("asked_by"):
        if file.status == Status.DONE and file.departed != departed:
            remove_file(file)
        else:
            files.append(file)
    return files


def remove_file(file: MadeFile) -> None:
    """Delete a file, and what is known of it."""
    with suppress(OSError):
        path_of(file).unlink(missing_ok=True)
    file.delete()


def remove_files(study: Study) -> None:
    """Delete all files of a study."""
    for file in study.made_files.all():
        remove_file(file)
