"""A PostgreSQL that restarts: the connections that it ended are replaced, and a vote that loses one is not saved yet."""

import json
import subprocess
import sys

import pytest

from annotation.core.unavailable import RETRY_SECONDS
from tests.tools.helpers import ROOT, TOOLS

pytestmark = pytest.mark.slow


def test_requests_survive_the_end_of_all_connections_to_the_database() -> None:
    command = [
        sys.executable,
        str(TOOLS / "with_postgres.py"),
        sys.executable,
        "-m",
        "tests.annotation.core.lost_connections",
    ]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout.splitlines()[-1])

    assert told["before"] == [200] * 4
    assert told["ended"] >= 4  # else it was no test
    assert told["after"] == [200] * 4
    assert told["within"] == {"status": 503, "retry_after": str(RETRY_SECONDS), "not_saved": True, "ended": 1}
    assert told["stored_within"] == 0
    assert told["again"]["status"] == 302
    assert told["stored_again"] == 1
