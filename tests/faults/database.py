"""The database's side of a run with faults, in a separate process: that of `tests.stress`, and judges, uploads, files, tasks.

python -m tests.faults.database
"""

import json
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.stress.database import COMMANDS, STUDY
from tests.stress.database import main as answer

TRIES = 60  # half a second each: the database may be away
LONGEST_WAIT = 6000  # twentieths of a second
SENT, SENT_INSTANCES = "sent-", 4_000  # a file that takes some seconds to read


def hire(*, address: str, standin: str, in_flight: int) -> str:
    """Queue a judge's run on all pairs; return a sign-in link for the researcher."""
    from annotation.members.accounts import grant_role, login_link
    from annotation.models import Study
    from judging.endpoints.services import add_endpoint
    from judging.runs.judges import add_judge
    from judging.runs.services import queue_run

    endpoint, _ = add_endpoint(name="stand-in", base_url=standin, model="small")
    judge, _ = add_judge(name="judge", method="direct", endpoint=endpoint, order="both", seed=1)
    queue_run(study=Study.objects.get(slug=STUDY), judge=judge, in_flight=in_flight)
    return login_link(user=grant_role(username="researcher", role="study-admin")[0], base_url=address)


def begin(*, kind: str) -> bool:
    """Queue a report, a bundle, or the reading of a file, and wait until a worker is at it; False where it was done before that was seen."""
    from django.core.files.base import ContentFile

    from annotation.models import Study, Upload
    from reporting.downloads.jobs import queue_file
    from reporting.models import MadeFile
    from reporting.uploads.jobs import take_in

    if kind == "upload":
        number = Study.objects.filter(slug__startswith=SENT).count()
        group = Study.objects.get(slug=STUDY).group
        study = Study.objects.create(slug=f"{SENT}{number}", title="Sent", group=group)
        sent = ContentFile(lines(SENT_INSTANCES), name="study.jsonl")
        row: MadeFile | Upload = take_in(
            study=study, kind="study", files=[sent], options={"dataset": "", "system_1": "", "system_2": ""}
        )
    else:
        row, _ = queue_file(Study.objects.get(slug=STUDY), kind, {})
    waiting = type(row)._default_manager.filter(pk=row.pk, status="queued")
    running = type(row)._default_manager.filter(pk=row.pk, status="running")
    for _ in range(LONGEST_WAIT):
        if not waiting.exists():
            return running.exists()
        time.sleep(0.05)
    raise TimeoutError(f"no worker has begun with the {kind}")


def lines(instances: int) -> bytes:
    """Return a study's file with this many instances, each of one generation of two systems."""
    rows = (
        {"instance_id": f"i{n}", "source": f"Source {n}.", "generations": {"a": [f"A {n}."], "b": [f"B {n}."]}}
        for n in range(instances)
    )
    return "\n".join(map(json.dumps, rows)).encode()


def open_work() -> dict[str, int]:
    """Count tasks and runs that are not done yet."""
    from django_tasks_db.models import DBTaskResult

    from annotation.core.tasks.task_queue import UNDER_WAY
    from annotation.models import Upload
    from judging.jobs.leases import ACTIVE
    from judging.models import JudgeRun

    return {
        "uploads": Upload.objects.filter(status__in=["queued", "running"]).count(),
        "tasks": DBTaskResult.objects.filter(status__in=UNDER_WAY).count(),
        "runs": JudgeRun.objects.filter(status__in=ACTIVE).count(),
    }


def resume() -> int:
    """Take up a run that an error has stopped, as a researcher would; return how many there were."""
    from judging.models import JudgeRun
    from judging.runs.services import resume_run

    stopped = list(JudgeRun.objects.filter(status=JudgeRun.Status.FAILED))
    for run in stopped:
        resume_run(run=run)
    return len(stopped)


def examine(*, uploads: dict[str, bool | None], instances: int) -> dict[str, Any]:
    """Count what is there, and list what must not be so.

    uploads : by the study's name, whether the server said that it is stored
    """
    from django.db import connection

    from annotation.models import SeparabilityJob, Study, Upload
    from judging.models import Completion, JudgeRun, Judgment
    from reporting.downloads.jobs import path_of
    from reporting.models import MadeFile
    from reporting.uploads.jobs import folder_of

    found: list[str] = []
    sent = {study.slug: None for study in Study.objects.filter(slug__startswith=SENT)}
    for name, said in {**uploads, **sent}.items():
        study = Study.objects.filter(slug=name).first()
        if study is None:
            found += [f"{name} was confirmed and is not there"] * bool(said)
            continue
        n = SENT_INSTANCES if name in sent else instances
        texts = study.instances.values("generations").count()
        counted = study.instances.count(), texts, study.instances.values("matchups").count()
        upload = study.uploads.first()  # none, where the process was killed before it had the file
        told = upload.status == "failed" and bool(upload.message) if upload else not said
        found += [f"{name} is there in part, or lost: {counted}, {upload}"] * (
            counted != (n, 2 * n, n) and not (counted == (0, 0, 0) and told)
        )
    for upload in Upload.objects.all():
        found += [f"{upload.study}: the upload is {upload.status}"] * (upload.status in ("queued", "running"))
        found += [f"{upload.study}: the sent file is left"] * folder_of(upload).exists()
    run = JudgeRun.objects.get()
    cells = Counter(run.judgments.values_list("status", flat=True))
    cells_wanted = 2 * run.study.instances.values("matchups__pairs").count()
    if (run.status, dict(cells)) != ("done", {"parsed": cells_wanted}):
        found.append(f"the judge's run is {run.status} ({run.message}) with {dict(cells)}, not {cells_wanted} parsed")
    asked = Judgment.objects.filter(calls=0).count()
    found += [f"{asked} judgments have no completion"] * bool(asked)
    files = list(MadeFile.objects.all())
    for made in files:
        if made.status in ("queued", "running"):
            found.append(f"{made} is not done")
        elif made.status == "done" and zipfile.ZipFile(path_of(made)).testzip() is not None:
            found.append(f"{made} is damaged")
    folder = path_of(files[0]).parent if files else None
    left = sorted(path.name for path in folder.iterdir()) if folder and folder.exists() else []
    kept = {path_of(made).name for made in files}
    found += [f"left among the files: {name}" for name in left if name not in kept]
    jobs = Counter(SeparabilityJob.objects.values_list("status", flat=True))
    found += [f"separability: {dict(jobs)}"] * bool({"queued", "running"} & set(jobs))
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA integrity_check")
            found += [f"SQLite: {row[0]}" for row in cursor.fetchall() if row[0] != "ok"]
    told = [(one.status, one.message if one.status == "failed" else "") for one in Upload.objects.all()]
    return {
        "problems": found,
        "completions": Completion.objects.count(),
        "files": dict(Counter(made.status for made in files)),
        "failures": sorted({made.message.text for made in files if made.message}),
        "separability": dict(jobs),
        "sent": {f"{status} {why}"[:90]: n for (status, why), n in Counter(told).items()},
    }


def patiently(command: Callable[..., Any], **values: Any) -> Any:
    """Carry out a command as soon as the database is there."""

    from django.db import DatabaseError, connections

    for _ in range(TRIES - 1):
        try:
            return command(**values)
        except DatabaseError:
            connections.close_all()
            time.sleep(0.5)
    return command(**values)


if __name__ == "__main__":
    commands = {**COMMANDS, **{one.__name__: one for one in (hire, begin, open_work, resume, examine)}}
    answer({name: partial(patiently, command) for name, command in commands.items()})
