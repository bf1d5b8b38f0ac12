"""Real processes: killed, interrupted and stopped half-way, on a database file of their own."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import migrated
from tests.fakes import StandIn
from tests.tools.helpers import wait_until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent.parent.parent
IN_FLIGHT = 4
PAIRS = 20
TIMEOUT = 600


class Installation:
    """Tandem with its data in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "TANDEM_DATA_DIR": str(folder),
            "DATABASE_URL": "",
            "ENDPOINT_ALLOWLIST": "127.0.0.1",
        }

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.Popen(
            command, cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, *arguments: str) -> str:
        """Run a command that succeeds; return what it printed."""
        process = self.start(*arguments)
        out, err = process.communicate(timeout=TIMEOUT)
        assert process.returncode == 0, err
        return out

    @staticmethod
    def script(*commands: tuple[str, ...]) -> str:
        """Return a script that runs commands, for Django's shell."""
        calls = "".join(f"call_command(*{command!r})\n" for command in commands)
        return f"from django.core.management import call_command\n{calls}"

    def copy(self, name: str) -> str:
        """Return a script that copies the database as it stands, for Django's shell."""
        target = str(self.folder / f"{name}.sqlite3")
        return f"from django.db import connection\nconnection.cursor().execute('VACUUM INTO %s', [{target!r}])\n"

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """Read the database from outside."""
        connection = sqlite3.connect(self.folder / "tandem.sqlite3", timeout=20)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()


def installation_of(prepared: Path, folder: Path) -> Installation:
    """Return an installation with a copy of a prepared database."""
    shutil.copy(prepared, folder / "tandem.sqlite3")
    return Installation(folder)


@pytest.fixture(scope="module")
def server() -> Iterator[StandIn]:
    """Run a stand-in for all tests of this module: its address is part of what is set up once."""
    with StandIn() as running:
        yield running


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, server: StandIn) -> Path:
    """Make a database with a study and a judge, once for this module."""
    folder = tmp_path_factory.mktemp("installation")
    installation = Installation(folder)
    installation.run("shell", "-c", preparing(installation, server) + installation.copy("prepared"))
    return folder


def preparing(installation: Installation, server: StandIn) -> str:
    """Give an installation its migrated database; return a script that stores a study of twenty pairs and a judge in it."""
    lines = [
        f'{{"instance_id": "i{n}", "dataset": "talk", "source": "Talk {n}.", '
        f'"generations": {{"heron": ["Heron on {n}."], "wren": ["Wren on {n}."]}}}}'
        for n in range(PAIRS)
    ]
    (installation.folder / "study.jsonl").write_text("\n".join(lines), encoding="utf-8")
    migrated.copy_file(installation.folder / "tandem.sqlite3")
    return installation.script(
        ("import_study", str(installation.folder / "study.jsonl"), "--study", "tea"),
        ("add_endpoint", "local", "--base-url", server.base_url, "--model", "small"),
        ("add_judge", "judy", "--method", "direct", "--endpoint", "local"),
    )


@pytest.fixture
def installation(template: Path, tmp_path: Path) -> Installation:
    return installation_of(template / "prepared.sqlite3", tmp_path)


@pytest.fixture
def stand_in(server: StandIn) -> StandIn:
    """Return the stand-in, set to answer ten requests and then to keep its callers waiting."""
    server.reset(hold_after=10)
    return server


RUN = ("run_judge", "tea", "--judge", "judy", "--in-flight", str(IN_FLIGHT))


def end(process: subprocess.Popen[str], number: int) -> tuple[int, str, str]:
    """Send a signal, wait for the end, return exit code and output."""
    process.send_signal(number)
    out, err = process.communicate(timeout=TIMEOUT)
    return process.returncode, out, err


def wait_for_both(installation: Installation, second: subprocess.Popen[str]) -> None:
    """Wait until the run has two workers; fails when the second one has ended."""

    def have_joined() -> bool:
        assert second.poll() is None
        return installation.rows("SELECT count(*) FROM judging_runworker") == [(2,)]

    wait_until(have_joined, "both to share the run")


def test_run_that_two_processes_share_survives_the_end_of_both_and_of_a_worker(
    tmp_path: Path, stand_in: StandIn
) -> None:
    """Nothing is lost or asked twice but the calls in flight, and a worker or the same command continues the run."""
    installation = Installation(tmp_path)
    first = installation.start("shell", "-c", preparing(installation, stand_in) + installation.script(RUN))
    stand_in.wait_for_calls(10 + IN_FLIGHT)
    second = installation.start(*RUN)
    wait_for_both(installation, second)
    end(first, signal.SIGKILL)
    stand_in.wait_for_calls(10 + 2 * IN_FLIGHT)  # the killed one's, asked again
    assert stand_in.most_in_flight == 2 * IN_FLIGHT  # of which the killed one's were never answered
    end(second, signal.SIGKILL)

    worker = installation.start("worker", "--interval", "0.05")
    stand_in.wait_for_calls(10 + 3 * IN_FLIGHT)
    code, _, err = end(worker, signal.SIGTERM)
    assert (code, "Traceback" in err) == (0, False)
    assert installation.rows("SELECT status FROM judging_judgerun") == [("queued",)]
    assert installation.rows("SELECT count(*) FROM judging_completion") == [(10,)]

    stand_in.release()
    assert installation.run(*RUN).startswith(f"asked {PAIRS} = ")
    assert installation.rows("SELECT status FROM judging_judgerun") == [("done",)]
    assert installation.rows("SELECT count(*) FROM judging_judgment WHERE status = 'parsed'") == [(PAIRS,)]
    assert stand_in.calls == PAIRS + 3 * IN_FLIGHT


@pytest.mark.weekly
def test_run_survives_every_end_of_its_process(installation: Installation, stand_in: StandIn) -> None:
    """Nothing is lost or asked twice but the calls in flight, and the same command or a worker continues the run.

    A run that is paused takes the answers of its calls in flight, too.
    """
    ends, answered = 0, 10

    def started(*arguments: str) -> subprocess.Popen[str]:
        """Start a process, and wait until all it asks is kept waiting."""
        nonlocal ends
        ends += 1
        process = installation.start(*arguments)
        stand_in.wait_for_calls((stand_in.hold_after or 0) + ends * IN_FLIGHT)
        return process

    def status() -> object:
        [(found,)] = installation.rows("SELECT status FROM judging_judgerun")
        return found

    def completions() -> object:
        [(stored,)] = installation.rows("SELECT count(*) FROM judging_completion")
        return stored

    process = started(*RUN)
    connection = sqlite3.connect(installation.folder / "tandem.sqlite3", timeout=20)
    with connection:
        connection.execute("UPDATE judging_judgerun SET status = 'paused'")
    connection.close()
    heard = installation.rows("SELECT heartbeat_at FROM judging_runworker")
    wait_until(
        lambda: installation.rows("SELECT heartbeat_at FROM judging_runworker") != heard, "the process to be told"
    )
    stand_in.reset(hold_after=0)
    out, err = process.communicate(timeout=TIMEOUT)
    answered, ends = answered + IN_FLIGHT, 0
    assert (process.returncode, "stopped by another process" in err) == (3, True), err
    assert f"pending {PAIRS - answered}" in out
    assert status() == "paused"
    assert completions() == answered  # each slot was free again only after its answer was in the database

    code, out, err = end(started(*RUN), signal.SIGINT)
    assert code == 130
    assert out.startswith(f"asked {answered} = ")
    assert f"pending {PAIRS - answered}" in out
    assert "the same command resumes" in err
    assert "Traceback" not in err
    assert status() == "paused"
    assert installation.rows("SELECT count(*) FROM judging_runworker") == [(0,)]

    assert end(started(*RUN), signal.SIGKILL)[0] == -signal.SIGKILL
    assert completions() == answered

    code, _, err = end(started("worker", "--interval", "0.05"), signal.SIGTERM)
    assert (code, "Traceback" in err) == (0, False)
    assert status() == "queued"
    assert stand_in.calls == ends * IN_FLIGHT

    stand_in.release()
    installation.run("worker", "--interval", "0.05", "--batch")
    assert status() == "done"
    assert installation.rows("SELECT count(*) FROM judging_judgment WHERE status = 'parsed'") == [(PAIRS,)]
    assert stand_in.calls == PAIRS - answered + ends * IN_FLIGHT
