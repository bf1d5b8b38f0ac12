"""Uploads: storing files, importing them into a study by a task with progress, and removing them."""

import json
import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path, PurePath
from time import time
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.files import File
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Q
from django.utils import timezone
from django_tasks import task

from annotation.core.errors import AnnotationError, BadFile, BadLine, UnknownName
from annotation.core.files.file_bounds import bound_of_upload
from annotation.core.files.sent_files import DATA_FILES, Joined, is_packed, is_zip, join, read_sent, unpack
from annotation.core.keys import new_key
from annotation.core.reasons import Reason, reason
from annotation.core.reasons import restored as restored_reason
from annotation.core.refusals import restored, stored
from annotation.core.tasks import progress
from annotation.core.tasks.processes import is_gone, this_process
from annotation.core.tasks.task_queue import UNDER_WAY as TASK_UNDER_WAY
from annotation.core.tasks.task_queue import DeathRule, QueuedTask, is_orphan, last_task
from annotation.importing.formats.public_forms import AUTO
from annotation.importing.staging import is_under_way, settle_abandoned
from annotation.members.permissions import is_site_admin
from annotation.models import Study, Upload
from reporting.bundle.opening import is_bundle

if TYPE_CHECKING:
    from reporting.uploads.look import Look

log = logging.getLogger(__name__)
Status = Upload.Status
UNDER_WAY = (Status.QUEUED, Status.RUNNING)
SMALL = 128 * 1024  # bytes of text; read at once, by the process that takes it in
KEPT_FOR, MOST_KEPT = timedelta(days=30), 1_000  # results of a study's uploads
MOST_LISTED = 20  # uploads of a study that the page lists
GRACE = timedelta(minutes=1)  # until a small file that no process has begun to read is queued
ABANDONED_AFTER = timedelta(hours=1)  # a folder without a row: its process ended between the two
PROGRESS = "progress.json"
SENT = "sent.json"  # of files that were kept: their study, names and size
REFUSED = "refused.json"  # why files became no study
NEW = "new_study"  # option of an upload with which its study was created
# Kinds of files that hold a whole study. Only site admins may import them, since they are large and bring rows that all
# studies share.
BUNDLE = "bundle"
STUDY_IMPORTS = (BUNDLE, "bundle-check")
KNOWN_ENDINGS = (*DATA_FILES, ".csv", ".tsv", ".xlsx", ".zip")
UNPACKED = 2  # times as large as what may be sent the rows of Parquet files and archives may be


def _uploads() -> Path:
    return Path(settings.DATA_DIR) / "uploads"


def folder_of(upload: Upload) -> Path:
    """Return where an upload's files are kept, on the disk that web server and worker share."""
    return _uploads() / upload.key


def take_in(
    *, study: Study, kind: str, files: Sequence[File[bytes]], options: Mapping[str, str], by: User | None = None
) -> Upload:
    """Store files, and queue their import into a study. Small texts are imported before this returns.

    files   : of one data set, or one ZIP archive of a folder
    options : of `import_file`
    Raises: AnnotationError if they are too large or can't be stored.
    """
    return begin(study=study, key=keep(study, files), kind=kind, options=options, by=by)


def keep(study: Study | None, files: Sequence[File[bytes]], **values: Any) -> str:
    """Store files for a study, and return the key of their folder, which is removed after an hour unless they are imported.

    study  : None for files of a new study
    values : kept with the files
    Raises: AnnotationError if they are too large or can't be stored.
    """
    key, size = new_key(), 0
    folder = _uploads() / key
    try:
        folder.mkdir(mode=0o700, parents=True)
        for number, file in enumerate(files):
            ending = PurePath(str(file.name)).suffix.lower()
            path = folder / f"{number:05d}{ending if ending in KNOWN_ENDINGS else '.data'}"
            size += _keep(file, path, settings.UPLOAD_MAX_BYTES - size)
        sent = {"study": study and study.pk, "names": [str(file.name) for file in files], "size": size, **values}
        (folder / SENT).write_text(json.dumps(sent), encoding="utf-8")
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise AnnotationError(f"the file can't be kept: {error.strerror}") from None
        raise
    return key


def sent_with(key: str, **expected: Any) -> dict[str, Any]:
    """Return what was kept with files: their names, size and further values.

    Raises: UnknownName if there are none, or their values are not the expected ones.
    """
    sent = _noted(key, SENT)
    if any(sent.get(name, "") != value for name, value in expected.items()):
        raise UnknownName("these files are no longer there; please send them again")
    return sent


def keep_values(key: str, **values: Any) -> None:
    """Change values that are kept with files."""
    (_uploads() / key / SENT).write_text(json.dumps({**_noted(key, SENT), **values}), encoding="utf-8")


def _noted(key: str, name: str) -> dict[str, Any]:
    try:
        noted: dict[str, Any] = json.loads((_uploads() / PurePath(key).name / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return noted


def kept(study: Study | None, key: str) -> Upload:
    """Return files that were kept for a study as an upload that is not saved.

    Raises: UnknownName if there are none.
    """
    sent = sent_with(key, study=study and study.pk)
    return Upload(study_id=sent["study"], key=key, names=sent["names"], size=sent["size"])


def begin(
    *,
    study: Study | None,
    key: str,
    kind: str,
    options: Mapping[str, str],
    by: User | None = None,
    new_study: Callable[[], Study] | None = None,
) -> Upload:
    """Queue the import of files that were kept. Small texts are imported before this returns.

    new_study : creates the study, which is deleted again if the import is refused
    Raises: UnknownName if they are gone.
    """
    upload = kept(study, key)
    upload.options, upload.asked_by = dict(options), by
    try:
        upload.kind = kind = _kind(upload, kind)
        if kind in STUDY_IMPORTS and by is not None and not is_site_admin(by):
            raise AnnotationError(f"{upload.name} is a bundle, a whole study: only site admins import it")
        with transaction.atomic():
            if new_study is not None:
                upload.study, upload.options[NEW] = new_study(), "yes"
            upload.save()
            (folder_of(upload) / (SENT if new_study is None else REFUSED)).unlink(missing_ok=new_study is not None)
            is_large = upload.size > SMALL or kind in STUDY_IMPORTS or any(map(is_packed, upload.names))
            if queued := is_large or is_under_way(upload.study):
                read_files.enqueue(upload.pk)
    except BaseException:
        if new_study is None:
            shutil.rmtree(folder_of(upload), ignore_errors=True)
        raise
    if not queued:
        read_files.call(upload.pk)
        return Upload.objects.filter(pk=upload.pk).first() or upload
    return upload


def look(
    *, study: Study | None, key: str, kind: str, options: Mapping[str, str], slug: str = "", **settings: Any
) -> "Look":
    """Return what the first records of kept files would become.

    slug, settings : of a study that is not there yet
    Raises: UnknownName if they are gone; AnnotationError if they can't be read.
    """
    from reporting.uploads.look import Look, look_at  # of all kinds of files, as below

    upload = kept(study, key)
    upload.kind = _kind(upload, kind)
    if upload.kind == BUNDLE:
        return Look(BUNDLE, "Tandem’s bundle, a whole study", 0, False, (), {})
    slug = slug if study is None else study.slug
    return look_at(_joined(upload, _files(upload)), kind=kind, slug=slug, options=options, **settings)


def _kind(upload: Upload, kind: str) -> str:
    """Return the kind of files, that of a bundle where it is to be recognised and they are one."""
    is_archive = kind == AUTO and len(upload.names) == 1 and is_zip(upload.names[0])
    return BUNDLE if is_archive and any(map(is_bundle, _files(upload))) else kind


def refusal_of_new_study(key: str) -> tuple[Reason, list[BadLine]]:
    """Return why kept files became no study, and the bad lines; empty if they were not refused."""
    noted = _noted(key, REFUSED)
    return restored_reason(noted.get("message")), [restored(**line) for line in noted.get("bad_lines", ())]


def discard(key: str) -> None:
    """Remove files that were kept."""
    shutil.rmtree(_uploads() / key, ignore_errors=True)


def _keep(file: File[bytes], path: Path, limit: int) -> int:
    size = 0
    with path.open("xb") as out:
        for chunk in file.chunks():
            size += len(chunk)
            if size > limit:
                raise AnnotationError(f"more than {settings.UPLOAD_MAX_BYTES // 2**20:,} MB were sent")
            out.write(chunk)
    return size


@task()
def read_files(upload_id: int) -> bool:
    """Import an upload into its study, whole or not at all. An import whose process has ended starts again."""
    upload = Upload.objects.select_related("study").filter(pk=upload_id).first()
    if upload is None or upload.status not in UNDER_WAY:
        return False
    _update(upload, status=Status.RUNNING, executor=this_process())
    try:
        with progress.noted_in(folder_of(upload) / PROGRESS):
            summary = _read(upload)
    except BadFile as error:
        _finish(upload, Status.FAILED, error.reason, [stored(line) for line in error.lines])
    except AnnotationError as error:
        _finish(upload, Status.FAILED, error.reason)
    except BaseException as error:
        # The database is busy, or can't be reached; or the worker is stopping, and the task is queued again.
        if isinstance(error, OperationalError | InterfaceError) or not isinstance(error, Exception):
            _update(upload, status=Status.QUEUED, executor="")
        else:
            _finish(upload, Status.FAILED, reason("unexpected", error=repr(error)))
        raise
    else:
        _finish(upload, Status.DONE, summary)
    return upload.status == Status.DONE


def _read(upload: Upload) -> Reason:
    # Web processes import this module to enqueue, and rarely read a file: neither the importers of all kinds of files nor,
    # for bundles, what computes findings are loaded before.
    files = _files(upload)
    if upload.kind in STUDY_IMPORTS:
        if len(files) > 1 or not is_zip(upload.names[0]):
            raise AnnotationError(reason("not_one_archive", name=upload.name))
        from reporting.bundle.importing import import_upload, verify_upload

        read = import_upload if upload.kind == BUNDLE else verify_upload
        return read(files[0], name=upload.names[0], study=upload.study)
    from reporting.uploads.files import import_file

    joined = _joined(upload, files)
    with joined.own_lines():
        file: dict[str, Any] = {"data": joined.data, "name": joined.name, "slug": upload.study.slug, **upload.options}
        file.pop(NEW, None)
        return import_file(kind=upload.kind, **file)[1]


def _files(upload: Upload) -> list[Path]:
    files = sorted(path for path in folder_of(upload).glob("[0-9]*") if path.is_file())
    if len(files) != len(upload.names):
        raise AnnotationError(reason("file_gone", name=upload.name))
    return files


def _joined(upload: Upload, files: list[Path]) -> Joined:
    """Return the bytes of an upload's files, joined if there are several or an archive."""
    folder, limit = folder_of(upload), UNPACKED * settings.UPLOAD_MAX_BYTES
    bound = bound_of_upload(upload.kind, settings.UPLOAD_MAX_ROWS)
    if len(files) > 1:
        return join(list(zip(files, upload.names, strict=True)), upload.name, limit=limit, bound=bound)
    if not is_zip(upload.names[0]):
        return read_sent(files[0], upload.names[0], limit=limit, bound=bound)
    unpacked = folder / "unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)  # of a process that has ended
    unpack(files[0], unpacked, upload.names[0], limit=limit)
    return read_sent(unpacked, upload.names[0], limit=limit, bound=bound)


def _finish(upload: Upload, status: str, message: Reason, bad_lines: Sequence[dict[str, Any]] = ()) -> None:
    study = upload.study
    # What the study has beside the upload with which it was created.
    added = (study.instances.all(), study.uploads.exclude(pk=upload.pk), study.annotators.all(), study.channels.all())
    if status == Status.FAILED and NEW in upload.options and not any(rows.exists() for rows in added):
        noted = json.dumps({"message": message.stored(), "bad_lines": bad_lines})
        with suppress(OSError):
            (folder_of(upload) / REFUSED).write_text(noted, encoding="utf-8")
        study.delete()
        return
    _update(upload, status=status, message=message, bad_lines=list(bad_lines), finished_at=timezone.now())
    shutil.rmtree(folder_of(upload), ignore_errors=True)
    finished = study.uploads.exclude(status__in=UNDER_WAY)
    surplus = list(finished.values_list("pk", flat=True)[MOST_KEPT:])
    finished.filter(Q(pk__in=surplus) | Q(finished_at__lt=timezone.now() - KEPT_FOR)).delete()


def _update(upload: Upload, **values: Any) -> None:
    Upload.objects.filter(pk=upload.pk).update(**values)
    for name, value in values.items():
        setattr(upload, name, value)


def progress_of(upload: Upload) -> progress.Noted | None:
    """Return the progress of a running import."""
    return progress.noted(folder_of(upload) / PROGRESS)


def refusal_of(upload: Upload) -> AnnotationError | None:
    """Return the error of a failed upload, as its importer raised it."""
    if upload.status != Status.FAILED:
        return None
    if upload.bad_lines:
        return BadFile(upload.name, [restored(**line) for line in upload.bad_lines])
    return AnnotationError(upload.message)


def look_after_uploads() -> None:
    """Queue uploads whose web process has ended while it read them. Remove files of no upload, and rows of ended imports."""
    settle_abandoned()
    for upload in Upload.objects.filter(status__in=UNDER_WAY):
        queued = last_task(read_files.module_path, args__0=upload.pk)
        is_left = is_gone(upload.executor) if upload.executor else upload.asked_at < timezone.now() - GRACE
        if queued is None and is_left:
            log.info("upload %s goes to the queue: the process that read it has ended", upload.key)
            read_files.enqueue(upload.pk)
        elif queued is not None and queued.status not in TASK_UNDER_WAY:
            _finish(
                upload, Status.FAILED, reason("file_not_imported", name=upload.name, error=queued.exception_class_path)
            )
    keys = set(Upload.objects.filter(status__in=UNDER_WAY).values_list("key", flat=True))
    old = time() - ABANDONED_AFTER.total_seconds()
    for folder in _uploads().glob("*"):
        with suppress(OSError):
            if folder.name not in keys and folder.stat().st_mtime < old:
                shutil.rmtree(folder)
    for part in Path(settings.FILE_UPLOAD_TEMP_DIR).glob("*.upload*"):  # of a request whose process was killed
        with suppress(OSError):
            if part.stat().st_mtime < old:
                part.unlink()


def _give_up(task: QueuedTask, why: Reason) -> None:
    upload = Upload.objects.filter(pk__in=task.args_kwargs["args"], status__in=UNDER_WAY).first()
    if upload is not None:
        _finish(upload, Status.FAILED, reason("file_unread", name=upload.name, why=why))


DEATH_RULE = DeathRule(is_orphan, give_up=_give_up)
