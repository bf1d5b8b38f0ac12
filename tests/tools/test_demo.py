"""The demo: loads the example study once, repairs a load that was cut off, serves it, stops without a trace."""

import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command

from annotation.models import Batch, Study
from judging.models import JudgeRun
from reporting.management.commands import demo
from tests import migrated
from tests.tools.helpers import ROOT, descendants, is_running, kill_if_running, wait_until

pytestmark = pytest.mark.slow

ROLES = ("admin", "researcher", "annotator")


def run_demo() -> str:
    said = StringIO()
    call_command("demo", "--no-serve", "--port", "8123", stdout=said)
    return said.getvalue()


def load_only(monkeypatch: pytest.MonkeyPatch, *, steps: int) -> None:
    """Have the demo stopped by Ctrl-C when it has made so many of its steps."""
    made = []

    def call(name: str, *arguments: str, **options: Any) -> Any:
        if name in {step[1][0] for step in demo.STEPS}:
            if len(made) == steps:
                raise KeyboardInterrupt
            made.append(name)
        return call_command(name, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(demo, "call_command", call)
        with pytest.raises(SystemExit) as stopped:
            call_command("demo", "--no-serve", stdout=StringIO(), stderr=StringIO())
    assert stopped.value.code == 130
    assert len(made) == steps


def assert_all_is_there() -> None:
    study = Study.objects.get(slug="example")
    assert Batch.objects.filter(study=study, name="try-it").count() == 1
    runs = JudgeRun.objects.filter(study=study)
    assert {run.judge.name: run.status for run in runs} == {"longer": "done", "coin": "done"}
    assert not any(run.judgments.filter(status="pending").exists() for run in runs)


@pytest.mark.any_engine
@pytest.mark.django_db(transaction=True)
def test_demo_repairs_a_load_that_was_cut_off_and_prints_a_link_for_each_role(monkeypatch: pytest.MonkeyPatch) -> None:
    for steps in (1, 5, len(demo.STEPS) - 1):
        load_only(monkeypatch, steps=steps)
    first = run_demo()
    assert_all_is_there()
    links = re.findall(r"^ +(\w+) +(http://localhost:8123/\S+)$", first, re.MULTILINE)
    assert [role for role, _ in links] == list(ROLES)
    assert len({link for _, link in links}) == len(ROLES)
    assert not any(user.has_usable_password() for user in get_user_model().objects.all())

    called = []
    monkeypatch.setattr(demo, "call_command", lambda name, *rest, **options: called.append(name))
    second = run_demo()
    assert set(called) == {"migrate", "grant"}
    assert "Loading" not in second


class Served:
    """`manage.py serve` in a process of its own, with its own data folder."""

    def __init__(self, folder: Path) -> None:
        self.database = folder / "db.sqlite3"
        migrated.copy_file(self.database)
        self.take_back_a_migration()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.said = folder / "said"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("DJANGO", "PYTEST"))}
        own = {"TANDEM_DATA_DIR": str(folder / "data"), "DATABASE_URL": f"sqlite:///{self.database}"}
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "serve", "--port", str(self.port)],
                cwd=ROOT,
                env=kept | own,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.below: list[int] = []

    def take_back_a_migration(self) -> None:
        """Leave the quickest of all migrations to be done: all of them take ten seconds of a processor."""
        with closing(sqlite3.connect(self.database)) as database, database:
            database.execute("DROP TABLE django_session")
            database.execute("DELETE FROM django_migrations WHERE app = 'sessions'")

    def has_sessions(self) -> bool:
        """Tell whether the migration that is taken back was done."""
        with closing(sqlite3.connect(self.database)) as database:
            found = database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'django_session'").fetchone()
        return bool(found[0])

    def wait_until_served(self) -> str:
        """Wait for the address to be printed and for all programs to run; return what was printed."""
        wait_until(lambda: "Ctrl-C" in self.said.read_text() or self.process.poll() is not None, "the address")
        assert self.process.poll() is None, self.said.read_text()
        # The web server with its two workers, the worker.
        wait_until(lambda: len(descendants(self.process.pid)) >= 4, "all programs to run")
        self.below = descendants(self.process.pid)
        return self.said.read_text()

    def gone(self) -> None:
        for pid in self.below:
            wait_until(lambda pid=pid: not is_running(pid), f"process {pid} to end")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        for pid in self.below:
            kill_if_running(pid)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path)
    yield served
    served.stop()


@pytest.mark.weekly
def test_killed_supervisor_leaves_nothing_running(served: Served) -> None:
    served.wait_until_served()
    served.process.kill()
    served.process.wait()
    served.gone()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", served.port)) != 0


@pytest.mark.weekly
def test_serve_migrates_the_database_offers_the_first_admin_in_and_serves(served: Served) -> None:
    said = served.wait_until_served()
    assert served.has_sessions()
    assert said.startswith("There is no site admin yet.")
    assert f"http://localhost:{served.port}/" in said
    with urllib.request.urlopen(f"http://127.0.0.1:{served.port}/healthz", timeout=60) as answer:
        assert answer.status == 200
    os.kill(served.process.pid, signal.SIGTERM)
    assert served.process.wait(timeout=60) == 0, served.said.read_text()
    served.gone()
