"""The worker process: tasks whose worker dies or loses the database run again, a few times at most."""

from datetime import datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import OperationalError
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from annotation.core.tasks.processes import this_machine, this_process
from annotation.core.tasks.stopping import StopFlag
from annotation.core.tasks.task_queue import ATTEMPTS, LONGEST
from judging.endpoints import tasks
from judging.runs.execution import execute
from judging.runs.services import start_run
from reporting.worker import TandemWorker, requeue_and_release
from tests.factories import make_study
from tests.judging.builders import make_endpoint, make_judge

pytestmark = pytest.mark.django_db
DEAD = f"{this_machine()}:999999999:x"  # above every process id


@pytest.fixture
def task() -> DBTaskResult[Any, Any]:
    tasks.probe.enqueue(make_endpoint().pk)
    return DBTaskResult.objects.get()


@pytest.mark.parametrize(
    ("workers", "since", "status"),
    [
        pytest.param([DEAD], timedelta(0), "READY", id="its worker is dead"),
        pytest.param([this_process()], timedelta(0), "RUNNING", id="its worker runs"),
        pytest.param(["elsewhere:1:x"], timedelta(0), "RUNNING", id="a worker elsewhere"),
        pytest.param(["elsewhere:1:x"], LONGEST, "READY", id="a worker elsewhere, for too long"),
        pytest.param([DEAD] * ATTEMPTS, timedelta(0), "FAILED", id="workers die of it"),
    ],
)
def test_a_task_is_queued_again_when_its_worker_is_dead(
    task: DBTaskResult[Any, Any], workers: list[str], since: timedelta, status: str
) -> None:
    DBTaskResult.objects.update(status="RUNNING", started_at=timezone.now() - since, worker_ids=workers)
    requeue_and_release()
    task.refresh_from_db()
    assert task.status == status


def test_a_task_that_loses_the_database_is_queued_again_a_few_times(
    task: DBTaskResult[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judging.endpoints.probing.probe_endpoint", Mock(side_effect=OperationalError("gone")))
    worker = TandemWorker(
        queue_names=["*"], interval=0, batch=True, backend_name="default", startup_delay=False, max_tasks=None,
        worker_id=this_process(), excluded_queue_names=[],
    )  # fmt: skip
    found = []
    for _ in range(ATTEMPTS):
        task.claim(worker.worker_id)
        worker.run_task(task)
        task.refresh_from_db()
        found.append(task.status)
    assert found == ["READY"] * (ATTEMPTS - 1) + ["FAILED"]


def test_a_run_whose_worker_loses_the_database_stays_in_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    run = start_run(study=make_study(instances=1), judge=make_judge(endpoint=make_endpoint()))
    monkeypatch.setattr("judging.runs.execution.fill_cells", Mock(side_effect=OperationalError("gone")))
    with pytest.raises(OperationalError):
        execute(run.pk, stop=StopFlag())
    run.refresh_from_db()
    assert (run.status, run.workers.count()) == ("queued", 0)


def test_a_sign_of_life_is_stored_whenever_tasks_are_requeued(monkeypatch: pytest.MonkeyPatch) -> None:
    made_at: list[datetime] = []
    monkeypatch.setattr("reporting.worker.note_worker", made_at.append)
    requeue_and_release()
    assert len(made_at) == 1
