"""Files that the worker makes of a study: queueing, making with progress, and removing them."""

import json
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from threading import Event, Thread
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.utils import timezone
from django_tasks import task

from annotation.core.errors import AnnotationError, Interrupted
from annotation.core.reasons import NO_REASON, reason
from annotation.core.tasks.processes import this_process
from annotation.core.tasks.stopping import WORKER_STOP
from annotation.models import Study
from judging.endpoints.services import find_endpoint
from judging.models import JudgeRun
from judging.tables.stored_checks import require_tables
from reporting.bundle.exporting import export_bundle
from reporting.bundle.layout import Contents, Progress
from reporting.core.charts import to_svg
from reporting.core.people import departures
from reporting.exports.elsewhere import WantedVerdicts
from reporting.logic.ranking import ranking_chart
from reporting.logic.stored_ranking import TextRanking, rank_stored
from reporting.models import MadeFile
from reporting.refinement.given_preferences import FILES, write_preferences
from reporting.refinement.refining import Repair, write_refined
from reporting.refinement.training_files import Options
from reporting.report.building import write_report

Status = MadeFile.Status
UNDER_WAY = (Status.QUEUED, Status.RUNNING)
MOST_KEPT = 5  # of a study
COMPRESSED = (".gz", ".parquet")
RANKING_LIMITS = ("in_flight", "max_cost", "limit")  # of a ranking that asks
PROGRESS_SECONDS = 1.0
DEAD_AFTER = timedelta(minutes=5)  # without a heartbeat; before, a task of a dead worker is queued again
ENDED = "the worker ended while it made this; please ask again"


def _bundle(made: MadeFile, folder: Path, progress: Progress) -> None:
    export_bundle(made.study, folder, Contents(**made.options), progress)


def _report(made: MadeFile, folder: Path, progress: Progress) -> None:
    write_report(made.study, folder)
    progress(1, 1)


def _preferences(made: MadeFile, folder: Path, progress: Progress) -> None:
    asked = dict(made.options)
    write_preferences(made.study, folder, asked.pop("form"), WantedVerdicts(**asked))
    progress(1, 1)


def _refined(made: MadeFile, folder: Path, progress: Progress) -> None:
    asked = dict(made.options)
    form, method, seed = asked.pop("form"), asked.pop("method"), asked.pop("seed")
    options = Options(form, seed=seed, **{name: asked.pop(name) for name in ("negated", "down_sample", "held_out")})
    repair = Repair(WantedVerdicts(**asked), method, seed)
    folder.mkdir()
    numbers = write_refined(made.study, folder / FILES[form], repair, options)
    numbers["written"] = {Path(name).name: rows for name, rows in numbers["written"].items()}
    _write(folder / "repair.json", numbers)
    progress(1, 1)


def _ranking(made: MadeFile, folder: Path, progress: Progress) -> None:
    asked = dict(made.options)
    running = {name: asked.pop(name) for name in RANKING_LIMITS}
    is_asking, wanted = asked.pop("run"), TextRanking(**asked)
    found = _asked_ranking(made, wanted, running, progress) if is_asking else rank_stored(made.study, wanted)
    folder.mkdir()
    _write(folder / "ranking.json", found)
    (folder / "ranking.svg").write_text(to_svg(ranking_chart(found)), encoding="utf-8")
    progress(1, 1)


def _asked_ranking(made: MadeFile, wanted: TextRanking, running: dict[str, Any], progress: Progress) -> dict[str, Any]:
    # As in `_table_checks`.
    from reporting.logic.live_ranking import RankingProgress, rank_by_asking

    def tell(asking: RankingProgress) -> None:
        progress(asking.sorts - asking.unfinished, asking.sorts)

    running["max_cost"] = None if running["max_cost"] is None else Decimal(running["max_cost"])
    ranking = rank_by_asking(made.study, wanted, **running, stop=WORKER_STOP, on_step=tell)
    asking, ended = ranking.asking, ranking.asking.ended
    if ended and ended.signal and asking.unfinished:
        left = None if running["limit"] is None else max(1, running["limit"] - asking.asked)
        _update(made, options=made.options | {"limit": left})
        raise Interrupted
    if ended and ended.status == JudgeRun.Status.FAILED:
        raise AnnotationError(ended.message)
    return ranking.found


def _table_checks(made: MadeFile, folder: Path, progress: Progress) -> None:
    # Web processes import this module to enqueue, and must not load the HTTP client of endpoints.
    from judging.tables.checking import checked_by_entailment

    asked = made.options
    require_tables(made.study, asked["variant"])
    found = checked_by_entailment(
        made.study,
        endpoint=find_endpoint(asked["endpoint"]),
        variant=asked["variant"],
        params=asked["params"],
        max_cost=None if asked["max_cost"] is None else Decimal(asked["max_cost"]),
        stop=WORKER_STOP,
        since=made.asked_at,
        **({} if asked["in_flight"] is None else {"in_flight": asked["in_flight"]}),
    )
    folder.mkdir()
    _write(folder / "checks.json", found.document)
    progress(1, 1)


def _write(path: Path, numbers: dict[str, Any]) -> None:
    path.write_text(json.dumps(numbers, ensure_ascii=False, allow_nan=False, indent=1) + "\n", encoding="utf-8")


MAKERS: dict[str, Callable[[MadeFile, Path, Progress], None]] = {
    MadeFile.Kind.BUNDLE: _bundle,
    MadeFile.Kind.REPORT: _report,
    MadeFile.Kind.PREFERENCES: _preferences,
    MadeFile.Kind.REFINED: _refined,
    MadeFile.Kind.RANKING: _ranking,
    MadeFile.Kind.TABLE_CHECKS: _table_checks,
}


def path_of(made: MadeFile) -> Path:
    """Return where a file is kept, on the disk that web server and worker share."""
    return Path(settings.DATA_DIR) / "files" / f"{made.key}.zip"


@transaction.atomic
def queue_file(study: Study, kind: str, options: dict[str, Any], by: User | None = None) -> tuple[MadeFile, bool]:
    """Queue the making of a file, unless the same is under way; the second value tells whether it is new."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    for made in files_of(study):
        if made.status in UNDER_WAY and (made.kind, made.options) == (kind, options):
            return made, False
    made = MadeFile.objects.create(study=study, kind=kind, options=options, asked_by=by)
    asks = kind == MadeFile.Kind.TABLE_CHECKS or options.get("run")
    (ask_for_file if asks else make_file).enqueue(made.pk)
    return made, True


@task()
def make_file(made_id: int) -> bool:
    """Make a file; one that a stopped worker has begun is made from the start."""
    made = MadeFile.objects.select_related("study").filter(pk=made_id).first()
    if made is None or made.status == Status.DONE:
        return False
    made.study.refuse_reading()
    _update(made, status=Status.RUNNING, executor=this_process(), message=NO_REASON, departed=departures(made.study))
    try:
        with _recorded(made) as progress:
            size = _make(made, progress)
    except Interrupted:
        _update(made, status=Status.QUEUED, executor="")
        raise SystemExit(0) from None  # the task stays, for the next worker
    except AnnotationError as error:
        _update(made, status=Status.FAILED, message=error.reason, finished_at=timezone.now())
        return False
    except Exception as error:
        _update(made, status=Status.FAILED, message=reason("unexpected", error=repr(error)), finished_at=timezone.now())
        raise
    except BaseException:  # the worker is stopping, and the task is queued again
        _update(made, status=Status.QUEUED, executor="")
        raise
    _update(made, status=Status.DONE, size=size, done=made.done, total=made.total, finished_at=timezone.now())
    for older in made.study.made_files.filter(status=Status.DONE)[MOST_KEPT:]:
        remove_file(older)
    return True


@task()
def ask_for_file(made_id: int) -> bool:
    """Make a file for which a model is asked; a worker that is to stop ends it between two calls."""
    return bool(make_file.call(made_id))


def _make(made: MadeFile, progress: Progress) -> int:
    """Write the folder and pack it under another name, which the file's replaces when it is complete."""
    target = path_of(made)
    try:
        with _work_folder(target) as work:
            folder = work / f"{made.study.slug}-{made.kind}"
            MAKERS[made.kind](made, folder, progress)
            packed = work / "packed.zip"
            with zipfile.ZipFile(packed, "w") as file:
                for path in sorted(folder.rglob("*")):
                    how = zipfile.ZIP_STORED if path.suffix in COMPRESSED else zipfile.ZIP_DEFLATED
                    file.write(path, path.relative_to(folder.parent), how)
            size = packed.stat().st_size
            packed.replace(target)
    except OSError as error:
        raise AnnotationError(f"the file can't be written: {error.strerror}") from None
    return size


@contextmanager
def _work_folder(target: Path) -> Iterator[Path]:
    """Make an empty folder beside a file; one that a killed worker left goes first."""
    folder = target.with_name(f".{target.stem}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def files_of(study: Study) -> list[MadeFile]:
    """Return a study's files, the latest first; those with the work of raters who have left since are removed."""
    found, left = [], departures(study)
    for made in study.made_files.select_related("asked_by"):
        if made.status == Status.RUNNING and _is_dead(made):
            _update(made, status=Status.FAILED, message=ENDED)
        if made.status == Status.DONE and made.departed != left:
            remove_file(made)
        else:
            found.append(made)
    return found


def _is_dead(made: MadeFile) -> bool:
    return (made.heartbeat_at or made.asked_at) < timezone.now() - DEAD_AFTER


def remove_file(made: MadeFile) -> None:
    """Delete a file, and what is known of it."""
    with suppress(OSError):
        path_of(made).unlink(missing_ok=True)
    made.delete()


def remove_files(study: Study) -> None:
    """Delete all files of a study."""
    for made in study.made_files.all():
        remove_file(made)


@contextmanager
def _recorded(made: MadeFile) -> Iterator[Progress]:
    """Record progress and heartbeats from another thread: what is exported is one view of the data, in which nothing is written."""
    stop, last = Event(), (0, 0)

    def tell(done: int, total: int) -> None:
        nonlocal last
        last = done, total

    def record() -> None:
        try:
            while not stop.wait(PROGRESS_SECONDS):
                with suppress(DatabaseError):  # for example a lock; the next one will do
                    _update(made, done=last[0], total=last[1])
        finally:
            connection.close()  # this thread's

    thread = Thread(target=record, daemon=True)
    thread.start()
    try:
        yield tell
    finally:
        stop.set()
        thread.join()
        made.done, made.total = last


def _update(made: MadeFile, **values: object) -> None:
    MadeFile.objects.filter(pk=made.pk).update(heartbeat_at=timezone.now(), **values)
    for name, value in values.items():
        setattr(made, name, value)
