"""A command beside a database that is not ready says what to do, without a stack trace."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.weekly
def test_command_names_the_migrations_that_an_empty_database_lacks(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "manage.py", "findings", "birds"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": f"sqlite:///{tmp_path}/empty.sqlite3"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert "The database lacks migrations:" in ended.stderr
    assert "tandem migrate" in ended.stderr
