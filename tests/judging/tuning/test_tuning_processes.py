"""A tuning whose process is killed: the same command continues, and no answer is paid for twice."""

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
PREPARED = """
from django.core.management import call_command
from tests.judging.tuning.test_tuning import make_voted_study
make_voted_study()
call_command("add_endpoint", "local", base_url="{}", model="small", price_prompt="1", price_completion="1")
call_command("add_judge", "judy", method="direct", endpoint="local")
"""


def expire_heartbeat(installation: Installation) -> None:
    """Let the lease of a killed process run out."""
    connection = sqlite3.connect(installation.folder / "tandem.sqlite3", timeout=20)
    with connection:
        connection.execute("UPDATE judging_judgetuning SET heartbeat_at = '2020-01-01'")
    connection.close()


def test_killed_tuning_continues_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    installation = Installation(tmp_path)
    migrated.copy_file(tmp_path / "tandem.sqlite3")
    command = (*TUNE, "--in-flight", str(IN_FLIGHT))
    with StandIn() as server:
        installation.run("shell", "-c", PREPARED.format(server.base_url))
        answered = 0
        for until in (30, 50):  # in the second candidate's run; among the instances that are held out
            server.reset(hold_after=until - answered)
            process = installation.start(*command)
            server.wait_for_calls(until - answered + IN_FLIGHT)
            assert end(process, signal.SIGKILL)[0] == -signal.SIGKILL
            answered = until
            assert installation.rows("SELECT count(*) FROM judging_completion") == [(answered,)]
            expire_heartbeat(installation)
        server.reset()
        out = installation.run(*command)
        assert server.calls == CALLS - answered
        assert "tuned judge agrees with" in out
        assert installation.rows("SELECT count(*) FROM judging_completion") == [(CALLS,)]
        [(cost,)] = installation.rows("SELECT sum(cost) FROM judging_judgment")
        assert cost == pytest.approx(COST)
        assert installation.rows("SELECT status, name FROM judging_judgetuning") == [("done", "judy-tuned")]
