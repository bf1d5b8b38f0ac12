"""The making of files of a study, by the worker. Web processes do not load what it needs, such as the client of endpoints."""

import json
import shutil
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from annotation.core.errors import AnnotationError, Interrupted
from annotation.core.reasons import reason
from annotation.core.tasks.stopping import StopFlag
from annotation.jobs.work import Hold, held
from judging.endpoints.services import find_endpoint
from judging.models import JudgeRun
from judging.tables.checking import checked_by_entailment
from judging.tables.entailment_calls import require_tables
from reporting.bundle.exporting import export_bundle
from reporting.bundle.layout import Contents
from reporting.core.charts import to_svg
from reporting.core.raters import departures
from reporting.downloads.jobs import MOST_KEPT, RANKING_LIMITS, Status, path_of, remove_file
from reporting.exports.elsewhere import WantedVerdicts
from reporting.logic.live_ranking import RankingProgress, rank_by_asking
from reporting.logic.ranking import ranking_chart
from reporting.logic.stored_ranking import TextRanking, rank_stored
from reporting.models import MadeFile
from reporting.refinement.given_preferences import FILES, write_preferences
from reporting.refinement.refining import Repair, write_refined
from reporting.refinement.training_files import Options
from reporting.report.building import write_report

COMPRESSED = (".gz", ".parquet")


def _preferences(file: MadeFile, folder: Path, hold: Hold) -> None:
    options = dict(file.options)
    rows = write_preferences(file.study, folder, options.pop("form"), WantedVerdicts(**options))
    hold.note(0, sum(rows.values()))


def _refined(file: MadeFile, folder: Path, hold: Hold) -> None:
    file_options = dict(file.options)
    form, method, seed = file_options.pop("form"), file_options.pop("method"), file_options.pop("seed")
    options = Options(
        form, seed=seed, **{name: file_options.pop(name) for name in ("negated", "down_sample", "held_out")}
    )
    repair = Repair(WantedVerdicts(**file_options), method, seed)
    folder.mkdir()
    numbers = write_refined(file.study, folder / FILES[form], repair, options)
    numbers["written"] = {Path(name).name: rows for name, rows in numbers["written"].items()}
    _write(folder / "repair.json", numbers)


def _ranking(file: MadeFile, folder: Path, hold: Hold) -> None:
    options = dict(file.options)
    running = {name: options.pop(name) for name in RANKING_LIMITS}
    is_asking, settings = options.pop("run"), TextRanking(**options)
    if is_asking:

        def tell(asking: RankingProgress) -> None:
            hold.note(asking.sorts - asking.unfinished, asking.sorts)

        running["max_cost"] = None if running["max_cost"] is None else Decimal(running["max_cost"])
        asked = rank_by_asking(file.study, settings, **running, stop=hold.stop, on_step=tell)
        asking, ended = asked.asking, asked.asking.ended
        if ended and ended.signal and asking.unfinished:
            remaining = None if running["limit"] is None else max(1, running["limit"] - asking.asked)
            file.options |= {"limit": remaining}
            file.save(update_fields=["options"])
            raise Interrupted
        if ended and ended.status == JudgeRun.Status.FAILED:
            raise AnnotationError(ended.reason)
        ranking = asked.found
    else:
        ranking = rank_stored(file.study, settings)
    folder.mkdir()
    _write(folder / "ranking.json", ranking)
    (folder / "ranking.svg").write_text(to_svg(ranking_chart(ranking)), encoding="utf-8")


def _table_checks(file: MadeFile, folder: Path, hold: Hold) -> None:
    options = file.options
    require_tables(file.study, options["variant"])
    checks = checked_by_entailment(
        file.study,
        endpoint=find_endpoint(options["endpoint"]),
        variant=options["variant"],
        params=options["params"],
        max_cost=None if options["max_cost"] is None else Decimal(options["max_cost"]),
        stop=hold.stop,
        since=file.created_at,
        **({} if options["in_flight"] is None else {"in_flight": options["in_flight"]}),
    )
    folder.mkdir()
    _write(folder / "checks.json", checks)


def _write(path: Path, numbers: dict[str, Any]) -> None:
    path.write_text(json.dumps(numbers, ensure_ascii=False, allow_nan=False, indent=1) + "\n", encoding="utf-8")


MAKERS: dict[str, Callable[[MadeFile, Path, Hold], object]] = {
    MadeFile.Kind.BUNDLE: lambda file, folder, hold: export_bundle(
        file.study, folder, Contents(**file.options), hold.step
    ),
    MadeFile.Kind.REPORT: lambda file, folder, _hold: write_report(file.study, folder),
    MadeFile.Kind.PREFERENCES: _preferences,
    MadeFile.Kind.REFINED: _refined,
    MadeFile.Kind.RANKING: _ranking,
    MadeFile.Kind.TABLE_CHECKS: _table_checks,
}


def make(file: MadeFile, *, stop: StopFlag | None = None) -> None:
    """Create a file. One that a stopped worker has begun is created from the start."""
    with held(file, stop) as hold:
        file.study.refuse_reading()
        file.departed = departures(file.study)
        file.size = _make(file, hold)
        file.save(update_fields=["departed", "size"])
        total = hold.total if file.kind == MadeFile.Kind.PREFERENCES else max(1, hold.total)  # rows, or parts
        hold.note(total, total)
    for older in file.study.made_files.filter(status=Status.DONE)[MOST_KEPT:]:
        remove_file(older)


def _make(job_file: MadeFile, hold: Hold) -> int:
    """Write the folder and pack it under another name, which the file's replaces when it is complete."""
    target = path_of(job_file)
    work = target.with_name(f".{target.stem}")
    shutil.rmtree(work, ignore_errors=True)  # one that a killed worker left
    try:
        work.mkdir(mode=0o700, parents=True)
        folder, packed = work / f"{job_file.study.slug}-{job_file.kind}", work / "packed.zip"
        MAKERS[job_file.kind](job_file, folder, hold)
        with zipfile.ZipFile(packed, "w") as file:
            for path in sorted(folder.rglob("*")):
                how = zipfile.ZIP_STORED if path.suffix in COMPRESSED else zipfile.ZIP_DEFLATED
                file.write(path, path.relative_to(folder.parent), how)
        size = packed.stat().st_size
        packed.replace(target)
    except OSError as error:
        raise AnnotationError(reason("file_not_written", error=error.strerror)) from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return size
