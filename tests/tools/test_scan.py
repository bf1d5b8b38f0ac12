"""`make scan` tells what was found from what could not be asked, and looks for secrets in either case."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.tools.helpers import TOOLS

UV = """#!/bin/sh
case "$*" in
*pip-audit*base.txt) {audit} ;;
*detect-secrets*) echo looked for secrets; {hook} ;;
esac
"""
NOT_ASKED = "echo 'ERROR:pip_audit._cli:Dependency not found on PyPI and could not be audited: django' >&2; exit 1"
VULNERABLE = "echo 'Found 1 known vulnerability in 1 package' >&2; echo 'django 1.0 PYSEC-1'; exit 1"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("audit", "hook", "code", "said"),
    [
        pytest.param("exit 0", "exit 0", 0, "nothing found", id="clean"),
        pytest.param(NOT_ASKED, "exit 0", 2, "NOT CHECKED: the package index gives no advisories", id="index away"),
        pytest.param(VULNERABLE, "exit 0", 1, "django 1.0 PYSEC-1", id="vulnerable"),
        pytest.param("exit 0", "exit 1", 1, "looked for secrets", id="secret"),
        pytest.param(NOT_ASKED, "exit 1", 1, "NOT CHECKED", id="secret while the index is away"),
    ],
)
def test_the_exit_code_tells_what_was_found_from_what_was_not_asked(
    tmp_path: Path, audit: str, hook: str, code: int, said: str
) -> None:
    for folder in ("tools", ".venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    script = shutil.copy(TOOLS / "scan.sh", tmp_path / "tools")
    uv = tmp_path / ".venv/bin/uv"
    uv.write_text(UV.format(audit=audit, hook=hook))
    uv.chmod(0o755)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/a.py").touch()
    subprocess.run(["git", "add", "tests"], cwd=tmp_path, check=True)
    ended = subprocess.run(["sh", script], capture_output=True, text=True, check=False)
    assert ended.returncode == code, ended.stderr
    assert said in ended.stdout + ended.stderr
    assert "looked for secrets" in ended.stdout
