"""Jobs whose worker is killed: the next two workers do them once, and nothing that was stored is lost or doubled."""

import signal
import time
from pathlib import Path

import pytest

from tests import migrated
from tests.judging.runs.test_processes import Installation, end
from tests.judging.tuning.test_tuning_processes import expire_heartbeat

pytestmark = [pytest.mark.slow, pytest.mark.weekly]

QUEUED = """
from annotation.separability.jobs import SeparabilityRequest, start_separability
from reporting.downloads.jobs import queue_file
from tests.annotation.separability.separability_studies import drawn_texts, study_of
study = study_of(*drawn_texts(6))
{}
"""
# A worker that notes in a file each time that it begins, and then waits if it is told to.
WORKER = """
import time
from pathlib import Path
from django.conf import settings
from django.core.management import call_command
from annotation.separability import measure
from reporting.downloads import making
def noted(work):
    def begin(*given):
        with (Path(settings.DATA_DIR) / "begun").open("a") as file:
            file.write("x")
        time.sleep({})
        return work(*given)
    return begin
measure.AlignmentMeasure.matrices = noted(measure.AlignmentMeasure.matrices)
making.MAKERS["report"] = noted(making.MAKERS["report"])
call_command("worker", batch=True)
"""
REQUEUE = """
from django_tasks_db.models import DBTaskResult
from annotation.core.tasks.task_queue import requeue_tasks
from reporting.worker import DEATH_RULES
DBTaskResult.objects.update(started_at="2020-01-01T00:00:00Z")
assert requeue_tasks(DEATH_RULES) == 1
"""


@pytest.mark.parametrize(
    ("queued", "table", "stored"),
    [
        pytest.param(
            'start_separability(study, SeparabilityRequest("rouge1", group="0,1"))',
            "annotation_separabilityjob",
            "SELECT count(*) = 6 FROM annotation_alignment",
            id="separability",
        ),
        pytest.param(
            'queue_file(study, "report", {})',
            "reporting_madefile",
            "SELECT size > 0 FROM reporting_madefile",
            id="file",
        ),
    ],
)
def test_killed_worker_leaves_the_job_to_one_of_two_others(
    tmp_path: Path, queued: str, table: str, stored: str
) -> None:
    installation, begun = Installation(tmp_path), tmp_path / "begun"
    migrated.copy_file(tmp_path / "tandem.sqlite3")
    installation.run("shell", "-c", QUEUED.format(queued))
    killed = installation.start("shell", "-c", WORKER.format(600))
    while not begun.exists():
        time.sleep(0.1)
    assert end(killed, signal.SIGKILL)[0] == -signal.SIGKILL
    expire_heartbeat(installation, table)
    installation.run("shell", "-c", REQUEUE)
    assert installation.rows(f"SELECT status FROM {table}") == [("queued",)]
    begun.unlink()
    workers = [installation.start("shell", "-c", WORKER.format(1)) for _ in range(2)]
    for worker in workers:
        _out, err = worker.communicate(timeout=240)
        assert worker.returncode == 0, err
    assert installation.rows(f"SELECT status, executor FROM {table}") == [("done", "")]
    assert installation.rows(stored) == [(1,)]
    assert begun.read_text() == "x"
