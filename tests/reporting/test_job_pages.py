"""The walk through the page of each kind of job: the estimate, the start, the worker, and what a dead one leaves."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from annotation.core.errors import Interrupted, JobBusy
from annotation.core.reasons import reason
from annotation.core.tasks.task_queue import ATTEMPTS, requeue_tasks
from annotation.jobs import work
from annotation.models.jobs import LEASE, Job
from judging.models import Completion, Distillation, GenerationRun, JudgeAudit, JudgeTuning
from reporting.worker import DEATH_RULES, TandemWorker
from tests.factories import signed_in
from tests.fakes import Body, StandIn, prefer_first
from tests.judging.aspects.test_aspect_sets import answer
from tests.judging.builders import make_endpoint, make_judge, make_study, make_user
from tests.judging.tuning.test_tuning import make_voted_study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
HTMX = {"HX-Request": "true"}
BUSY = "data-poll"


@dataclass(frozen=True)
class Kind:
    """A kind of job: its page, what is sent to start one, its name, and the calls that it makes.

    restarted : whether the same can be started again once it is done
    """

    model: type[Job]
    page: str
    sent: dict[str, Any]
    name: str
    calls: int
    instances: int = 3
    start: str = "start"
    answer: Callable[[Body], str] = prefer_first
    restarted: bool = True

    @property
    def job(self) -> Any:
        """The one that there is."""
        return self.model._default_manager.get()


KINDS = {
    "sampling": Kind(
        GenerationRun,
        "/studies/tea/generate/",
        {"system": "owl", "endpoint": "stand-in", "samples": 2, "seed": 0, "template": "plain"},
        name="owl in tea",
        calls=6,
        restarted=False,
    ),
    "stress test": Kind(
        JudgeAudit,
        "/studies/tea/audits/",
        {"judge": "judy", "pairs": 3, "changes": ["position", "padding"]},
        name="Stress test of judy on tea",
        calls=9,
    ),
    "tuning": Kind(
        JudgeTuning,
        "/studies/tea/judges/tuning/",
        {"judge": "judy", "budget": 200, "methods": ["direct", "pairwise"], "held_out": 0.5, "seed": 0},
        name="judy-tuned",
        calls=45,
        instances=30,
    ),
    "aspects": Kind(
        Distillation,
        "/studies/tea/aspects/",
        {"endpoint": "stand-in", "pairs": 3, "seed": 0},
        name="aspects of tea",
        calls=7,
        start="distil",
        answer=answer,
    ),
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def researcher_of(kind: Kind, base_url: str = "https://models.example/v1") -> Client:
    study = make_voted_study(kind.instances) if kind.model is JudgeTuning else make_study(instances=kind.instances)
    make_judge(endpoint=make_endpoint(base_url, price_prompt=1, price_completion=1))
    return signed_in(make_user("rea", "researcher", study))


def started(kind: Kind, client: Client, **more: Any) -> Any:
    return client.post(f"{kind.page}{kind.start}/", {"in_flight": 2, **kind.sent, **more})


def let_work(monkeypatch: pytest.MonkeyPatch) -> None:
    # Signals and the caretaker belong to a process of its own.
    monkeypatch.setattr("reporting.worker.TandemWorker.configure_signals", lambda worker: None)
    monkeypatch.setattr("annotation.core.tasks.processes.RepeatingThread.run", lambda thread: None)
    call_command("worker", batch=True)


@every_kind
@pytest.mark.django_db
def test_estimate_comes_first_and_stores_nothing(kind: Kind) -> None:
    client = researcher_of(kind)
    for headers in ({}, HTMX):
        response: Any = client.post(f"{kind.page}estimate/", {"in_flight": 2, **kind.sent}, headers=headers)
        page = response.content.decode()
        assert response.status_code == 200
        assert ("<html" in page) == (not headers)
        assert f'formaction="{kind.page}{kind.start}/"' in page
    assert not kind.model._default_manager.exists()
    assert not DBTaskResult.objects.exists()


@every_kind
@pytest.mark.any_engine
def test_worker_does_it_once_and_the_page_follows(kind: Kind, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    with StandIn(answer=kind.answer) as server:
        client = researcher_of(kind, server.base_url)
        assert BUSY not in client.get(kind.page).content.decode()
        for _ in range(2):
            assert started(kind, client, max_cost="5").headers["Location"] == kind.page
        assert DBTaskResult.objects.count() == 1
        assert (kind.job.status, kind.job.is_busy) == ("queued", True)
        assert BUSY in client.get(kind.page, headers=HTMX).content.decode()
        let_work(monkeypatch)
        assert (kind.job.status, kind.job.message.code, kind.job.executor) == ("done", "", "")
        assert server.calls == Completion.objects.count() == kind.calls
        assert BUSY not in client.get(kind.page).content.decode()
        assert started(kind, client, max_cost="5").status_code == (302 if kind.restarted else 422)
        let_work(monkeypatch)
        assert server.calls == kind.calls


@every_kind
@pytest.mark.any_engine
def test_why_it_stopped_is_said_and_escaped(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    client = researcher_of(kind)
    started(kind, client)
    monkeypatch.setattr(work, "import_string", lambda path: _stopping)
    let_work(monkeypatch)
    assert (kind.job.status, kind.job.message) == ("stopped", reason("unexpected", error="<b>OSError"))
    page = client.get(kind.page).content.decode()
    assert "&lt;b&gt;OSError" in page
    assert "<b>OSError" not in page
    assert BUSY not in page


def _stopping(job: Job, **_settings: Any) -> None:
    with work.held(job):
        raise type("<b>OSError", (OSError,), {})


@every_kind
def test_job_of_a_dead_worker_goes_back_to_the_queue(kind: Kind) -> None:
    client = researcher_of(kind)
    started(kind, client)
    rows, long_ago = kind.model._default_manager, timezone.now() - LEASE - timedelta(seconds=1)
    assert requeue_tasks(DEATH_RULES) == 0
    DBTaskResult.objects.update(status="RUNNING", started_at=timezone.now(), worker_ids=["a"])
    assert requeue_tasks(DEATH_RULES) == 0
    DBTaskResult.objects.update(started_at=long_ago)
    rows.update(status="running", heartbeat_at=timezone.now())
    assert requeue_tasks(DEATH_RULES) == 0
    assert not work.queue_job(kind.job)
    rows.update(heartbeat_at=long_ago)
    assert requeue_tasks(DEATH_RULES) == 1
    assert kind.job.status == "queued"
    DBTaskResult.objects.update(status="RUNNING", started_at=long_ago, worker_ids=["a"] * ATTEMPTS)
    assert requeue_tasks(DEATH_RULES) == 0
    assert (kind.job.status, kind.job.message) == ("stopped", reason("workers_died", number=5))


@every_kind
@pytest.mark.any_engine
def test_it_is_stopped_and_resumed_on_its_page_and_by_the_api(kind: Kind) -> None:
    client = researcher_of(kind)
    started(kind, client, max_cost="5")
    at = f"/studies/tea/jobs/{kind.model.job_kind}/{kind.job.pk}/"
    assert f'action="{at}stop/"' in client.get(kind.page).content.decode()
    assert client.post(f"{at}stop/").headers["Location"] == kind.page
    assert (kind.job.status, kind.job.is_busy) == ("stopped", False)
    assert work.do_job.func(kind.model._meta.label, kind.job.pk) == ""
    assert f'action="{at}resume/"' in client.get(kind.page).content.decode()
    assert client.post(f"{at}resume/", {"max_cost": "much"}).status_code == 422
    assert client.post(f"{at}resume/", {"max_cost": "9"}).headers["Location"] == kind.page
    assert (kind.job.status, kind.job.max_cost) == ("queued", 9)

    api = "/api/v1/studies/tea/jobs/"
    (row,) = client.get(api).json()
    assert (row["kind"], row["name"]) == (kind.model.job_kind, kind.name)
    assert (row["status"], row["seconds_left"]) == ("queued", None)
    assert client.post(f"/api/v1{at}stop/").json()["status"] == "stopped"
    assert client.post(f"/api/v1{at}resume/").json()["status"] == "queued"
    assert (kind.job.max_cost, client.get(f"/api/v1{at}").json()["id"]) == (None, kind.job.pk)
    kind.model._default_manager.update(status="done", ended_at=timezone.now())
    assert client.post(f"/api/v1{at}resume/").json()["status"] == "done"
    assert client.post(f"/api/v1{at}stop/").json()["status"] == "done"
    assert client.get(f"{api}none/1/").status_code == 404


@every_kind
def test_lease_is_renewed_and_stopping_reaches_the_work(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    started(kind, researcher_of(kind))
    monkeypatch.setattr(work, "BEAT_SECONDS", 0.01)
    rows, long_ago = kind.model._default_manager, timezone.now() - 2 * LEASE
    with work.held(kind.job) as hold:
        hold.note(3, 9)
        rows.update(heartbeat_at=long_ago)
        while kind.job.heartbeat_at == long_ago:
            assert not hold.stop.wait_for(0.01)
        with pytest.raises(JobBusy), work.held(kind.job):
            pass
        rows.update(status="stopped")
        assert hold.stop.wait_for(60)
    job = kind.job
    assert (job.done, job.total, job.rate, job.heartbeat_at, job.executor) == (3, 9, None, None, "")


@every_kind
@pytest.mark.any_engine
def test_worker_that_is_stopped_hands_its_task_back(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    client = researcher_of(kind)
    started(kind, client)
    monkeypatch.setattr(work, "import_string", lambda path: Mock(side_effect=Interrupted))
    monkeypatch.setattr(work, "WORKER_STOP", Mock(is_set=lambda: True))
    task = DBTaskResult.objects.get()
    task.claim("one")
    names = {"queue_names": ["*"], "backend_name": "default", "worker_id": "one", "excluded_queue_names": []}
    worker = TandemWorker(**names, interval=0, batch=True, startup_delay=False, max_tasks=None)
    worker.running = False
    worker.run_task(task)
    task.refresh_from_db()
    assert (task.status, task.worker_ids, kind.job.status) == ("READY", [], "queued")
