"""A PostgreSQL that restarts: the connections that it ended are replaced, and a vote that loses one is not saved yet."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from annotation.core.middleware import RETRY_SECONDS
from tests.annotation.allocation.test_stress import migrated_database
from tests.tools.helpers import ROOT, TOOLS

# Beside SQLite it starts a PostgreSQL; the tests on PostgreSQL have one.
_weekly = [pytest.mark.weekly] if connection.vendor == "sqlite" else []
pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow, *_weekly]


@pytest.fixture
def with_database(tmp_path: Path) -> Iterator[list[str]]:
    """Return what a command begins with that has a PostgreSQL database to itself."""
    if connection.vendor == "sqlite":
        yield [sys.executable, str(TOOLS / "with_postgres.py")]
        return
    with migrated_database(tmp_path) as url:
        yield ["env", f"DATABASE_URL={url}", f"TANDEM_DATA_DIR={tmp_path}"]


def test_requests_survive_the_end_of_all_connections_to_the_database(with_database: list[str]) -> None:
    command = [*with_database, sys.executable, "-m", "tests.annotation.core.lost_connections"]
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
