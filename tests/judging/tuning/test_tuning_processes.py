"""A tuning and a stress test whose processes are killed: the same command continues, and no answer is paid for twice."""

import signal
import sqlite3
from pathlib import Path

import pytest

from tests import migrated
from tests.fakes import StandIn
from tests.judging.runs.test_processes import IN_FLIGHT, Installation, end

pytestmark = [pytest.mark.slow, pytest.mark.weekly]

# Two candidates on 20 instances each, then the better one, which is the untuned judge itself, on the 20 held out.
CALLS, COST = 60, 60 * 18 / 1_000_000
TUNE = ("tune_judge", "tea", "--judge", "judy", "--budget", "400", "--method", "direct", "pairwise", "--shots")
# Each of ten pairs as it is, in the other order, and with one text longer.
AUDIT = (
    "audit_judge",
    "tea",
    "--judge",
    "judy",
    "--sample",
    "10",
    "--change",
    "position",
    "--change",
    "padding",
    "--run",
)
PREPARED = """
from django.core.management import call_command
from tests.judging.tuning.test_tuning import make_voted_study
make_voted_study()
call_command("add_endpoint", "local", base_url="{}", model="small", price_prompt="1", price_completion="1")
call_command("add_judge", "judy", method="direct", endpoint="local")
"""


def expire_heartbeat(installation: Installation, table: str) -> None:
    """Let the lease of a killed process run out."""
    connection = sqlite3.connect(installation.folder / "tandem.sqlite3", timeout=20)
    with connection:
        connection.execute(f"UPDATE {table} SET heartbeat_at = '2020-01-01'")
    connection.close()


def killed_and_continued(folder: Path, command: tuple[str, ...], table: str, kills: tuple[int, ...], calls: int) -> str:
    """Kill a command after so many answers each time, then let it end; return what it prints."""
    installation, answered = Installation(folder), 0
    migrated.copy_file(folder / "tandem.sqlite3")
    command = (*command, "--in-flight", str(IN_FLIGHT))
    with StandIn() as server:
        installation.run("shell", "-c", PREPARED.format(server.base_url))
        for until in kills:
            server.reset(hold_after=until - answered)
            process = installation.start(*command)
            server.wait_for_calls(until - answered + IN_FLIGHT)
            assert end(process, signal.SIGKILL)[0] == -signal.SIGKILL
            answered = until
            assert installation.rows("SELECT count(*) FROM judging_completion") == [(answered,)]
            expire_heartbeat(installation, table)
        server.reset()
        out = installation.run(*command)
        assert server.calls == calls - answered
    assert installation.rows("SELECT count(*) FROM judging_completion") == [(calls,)]
    return out


def test_killed_tuning_continues_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    # In the second candidate's run; among the instances that are held out.
    out = killed_and_continued(tmp_path, TUNE, "judging_judgetuning", (30, 50), CALLS)
    assert "tuned: judy-tuned" in out
    installation = Installation(tmp_path)
    [(cost,)] = installation.rows("SELECT sum(cost) FROM judging_judgment")
    assert cost == pytest.approx(COST)
    assert installation.rows("SELECT status, name FROM judging_judgetuning") == [("done", "judy-tuned")]


def test_killed_stress_test_continues_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    out = killed_and_continued(tmp_path, AUDIT, "judging_judgeaudit", (10, 20), 30)
    assert "answers: 30\nopen: 0\nunread: unparsed 0" in out
    [(calls, cached, cost)] = Installation(tmp_path).rows("SELECT calls, cached, cost FROM judging_judgeaudit")
    assert (calls, cached) == (30, 0)
    assert cost == pytest.approx(COST / 2)
