"""The database's side of a run with faults, in a separate process: that of `tests.stress`, and judges, uploads, files, tasks.

python -m tests.faults.database
"""

import time
import zipfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.stress.database import COMMANDS, STUDY
from tests.stress.database import main as answer

TRIES = 60  # half a second each: the database may be away


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


def open_work() -> dict[str, int]:
    """Count tasks and runs that are not done yet."""
    from django_tasks_db.models import DBTaskResult

    from annotation.core.task_queue import UNDER_WAY
    from judging.jobs.leases import ACTIVE
    from judging.models import JudgeRun

    return {
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

    from annotation.models import SeparabilityJob, Study
    from judging.models import Completion, JudgeRun, Judgment
    from reporting.downloads.jobs import path_of
    from reporting.models import MadeFile

    found: list[str] = []
    whole = (instances, 2 * instances, instances)
    for name, said in uploads.items():
        study = Study.objects.filter(slug=name).first()
        if study is None:
            found += [f"{name} was confirmed and is not there"] * bool(said)
            continue
        texts = study.instances.values("generations").count()
        counted = study.instances.count(), texts, study.instances.values("matchups").count()
        found += [f"{name} is there in part: {counted}, not {whole}"] * (counted != whole)
    run = JudgeRun.objects.get()
    cells = Counter(run.judgments.of_every_question().values_list("status", flat=True))
    cells_wanted = 2 * run.study.instances.values("matchups__pairs").count()
    if (run.status, dict(cells)) != ("done", {"parsed": cells_wanted}):
        found.append(f"the judge's run is {run.status} ({run.message}) with {dict(cells)}, not {cells_wanted} parsed")
    asked = Judgment.objects.of_every_question().filter(calls=0).count()
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
    return {
        "problems": found,
        "completions": Completion.objects.count(),
        "files": dict(Counter(made.status for made in files)),
        "failures": sorted({made.message for made in files if made.message}),
        "separability": dict(jobs),
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
    commands = {**COMMANDS, **{one.__name__: one for one in (hire, open_work, resume, examine)}}
    answer({name: partial(patiently, command) for name, command in commands.items()})
