"""Tasks that Redis delivers: each is done once, whatever Redis loses and whenever it does not answer."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from annotation.core.tasks.processes import this_machine, this_process
from annotation.core.tasks.stopping import StopFlag
from config import env
from judging.endpoints.tasks import probe
from reporting.worker import requeue_and_release
from tests.judging.builders import make_endpoint
from tools.with_postgres import free_port

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]
DEAD = f"{this_machine()}:999999999:x"  # above every process id


class Redis:
    """A server of Redis that keeps nothing on the disk."""

    def __init__(self) -> None:
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        program = shutil.which("redis-server")
        assert program, "install Debian's redis-server"
        arguments = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--daemonize", "no"]
        self.process = subprocess.Popen([program, *arguments], stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if b"Ready to accept connections" in line:
                return
        raise AssertionError("Redis does not start")

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


@pytest.fixture(scope="module")
def server() -> Iterator[Redis]:
    server = Redis()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def redis(server: Redis, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Redis]:
    """Deliver this test's tasks by Redis."""
    monkeypatch.setattr(env, "TASKS_URL", f"redis://127.0.0.1:{server.port}/0")
    settings.TASKS_URL = env.TASKS_URL
    settings.TASKS, settings.RQ_QUEUES = env.tasks()
    if server.process is None:
        server.start()
    yield server
    if server.process is not None:
        from annotation.core.tasks.redis_queue import redis_queue

        redis_queue().connection.flushall()


@pytest.fixture
def probed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the endpoints that tasks have probed."""
    found: list[int] = []

    def probe_endpoint(endpoint: Any) -> Any:
        found.append(endpoint.pk)
        return type("Probed", (), {"supports": {"chat": True}})

    monkeypatch.setattr("judging.endpoints.probing.probe_endpoint", probe_endpoint)
    return found


@pytest.fixture
def commit(django_capture_on_commit_callbacks: Any) -> Callable[[], Any]:
    return lambda: django_capture_on_commit_callbacks(execute=True)


@pytest.fixture
def _worker(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a worker run in this process: in the test's transaction, whose connection it would close, and with signals of its own."""
    monkeypatch.setattr("reporting.redis_worker.close_old_connections", lambda: None)
    monkeypatch.setattr("reporting.worker.WORKER_STOP", StopFlag())
    kept = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGALRM)}
    yield
    for one, handler in kept.items():
        signal.signal(one, handler)


def work() -> None:
    from reporting.redis_worker import RedisWorker

    RedisWorker(
        queue_names=["*"], interval=0, batch=True, backend_name="default", startup_delay=False, max_tasks=None,
        worker_id=this_process(), excluded_queue_names=[],
    ).run()  # fmt: skip


def delivered() -> int:
    from annotation.core.tasks.redis_queue import redis_queue

    return redis_queue().count


def statuses() -> list[str]:
    return list(DBTaskResult.objects.order_by("enqueued_at").values_list("status", flat=True))


@pytest.mark.usefixtures("redis", "_worker")
def test_a_task_is_delivered_when_it_is_committed_and_done_once(probed: list[int], commit: Callable[[], Any]) -> None:
    from annotation.core.tasks.redis_queue import deliver, deliver_due

    kept, lost = make_endpoint(), make_endpoint(name="lost")
    with commit():
        probe.enqueue(kept.pk)
        with transaction.atomic():
            probe.enqueue(lost.pk)
            transaction.set_rollback(True)
        assert delivered() == 0
    assert delivered() == 1
    deliver_due()
    assert delivered() == 1
    deliver([str(DBTaskResult.objects.get().pk)])  # twice, as when a worker is just taking it
    work()
    assert (probed, statuses(), delivered()) == ([kept.pk], ["SUCCESSFUL"], 0)
    assert DBTaskResult.objects.get().worker_ids[0].startswith(this_machine())


@pytest.mark.usefixtures("_worker")
def test_what_redis_loses_or_does_not_take_is_done_when_it_answers(
    redis: Redis, probed: list[int], commit: Callable[[], Any]
) -> None:
    from annotation.core.tasks.redis_queue import redis_queue

    first, second = make_endpoint(), make_endpoint(name="second")
    with commit():
        probe.enqueue(first.pk)
    redis_queue().connection.flushall()
    assert Client().get("/readyz").json()["failed"] == []
    redis.stop()
    with commit():
        probe.enqueue(second.pk)  # the request that asks for it is answered
    assert Client().get("/readyz").json()["failed"] == ["queued tasks are not done"]
    requeue_and_release()  # slots are released without Redis too
    assert statuses() == ["READY", "READY"]
    redis.start()
    requeue_and_release()
    work()
    assert (probed, statuses()) == ([first.pk, second.pk], ["SUCCESSFUL", "SUCCESSFUL"])


@pytest.mark.usefixtures("redis", "_worker")
def test_tasks_for_later_and_of_dead_workers_are_delivered_when_they_are_due(
    probed: list[int], commit: Callable[[], Any]
) -> None:
    later, dead = make_endpoint(), make_endpoint(name="dead")
    with commit():
        probe.using(run_after=timezone.now() + timedelta(hours=1)).enqueue(later.pk)
        probe.enqueue(dead.pk)
    DBTaskResult.objects.filter(args_kwargs__args__0=dead.pk).update(
        status="RUNNING", started_at=timezone.now(), worker_ids=[DEAD]
    )
    work()  # what Redis has is claimed already
    assert (probed, delivered()) == ([], 0)
    requeue_and_release()
    assert delivered() == 1
    work()
    assert (probed, statuses()) == ([dead.pk], ["READY", "SUCCESSFUL"])
    DBTaskResult.objects.update(run_after=timezone.now())
    work()
    assert probed == [dead.pk, later.pk]


@pytest.mark.usefixtures("redis", "_worker")
def test_a_worker_that_is_stopped_puts_its_task_back_and_takes_no_other(
    monkeypatch: pytest.MonkeyPatch, commit: Callable[[], Any]
) -> None:
    begun: list[int] = []

    def probe_endpoint(endpoint: Any) -> None:
        begun.append(endpoint.pk)
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()  # the signal's handler raises

    monkeypatch.setattr("judging.endpoints.probing.probe_endpoint", probe_endpoint)
    with commit():
        for name in ("one", "two"):
            probe.enqueue(make_endpoint(name=name).pk)
    work()
    assert len(begun) == 1
    assert statuses() == ["READY", "READY"]
    assert [task.worker_ids for task in DBTaskResult.objects.all()] == [[], []]
