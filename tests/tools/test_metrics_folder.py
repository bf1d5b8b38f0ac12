"""The folder of a web server's counters: it goes with its server, or at the next start when that was killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from config.serving.metrics_folder import metrics_folder
from tests.tools.helpers import ROOT

HOLD = (
    "from config.serving.metrics_folder import metrics_folder as f\nwith f() as path: print(path, flush=True); input()"
)


def test_folder_of_a_killed_server_is_removed_at_the_next_start_and_a_running_ones_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    running, killed = (
        subprocess.Popen(
            [sys.executable, "-c", HOLD], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    )
    with running, killed:
        assert running.stdout is not None
        assert killed.stdout is not None
        in_use, left = (Path(process.stdout.readline().strip()) for process in (running, killed))  # type: ignore[union-attr]
        killed.kill()
        killed.wait()
        assert left.is_dir()
        with metrics_folder() as own:
            assert set(tmp_path.iterdir()) == {in_use, Path(own)}
        running.communicate("\n")
    assert list(tmp_path.iterdir()) == []
