"""The web server and the worker run as one: whatever ends one of them, or the process above, nothing stays behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.helpers import ROOT, is_running, kill_if_running, read_pid, wait_until

pytestmark = pytest.mark.slow

# Programs that, like the web server, have a child in their process group; all write down their process ids.
DRIVER = """
import os, pathlib, signal, sys
from functools import partial
from annotation.core.tasks import serving
folder, kind, serving.GRACE = pathlib.Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
def program(name):
    if kind == "stubborn":
        signal.signal(signal.SIGTERM, lambda number, frame: (folder / f"{name}.told").touch())
    who = "child" if os.fork() == 0 else "main"
    (folder / f"{name}.{who}").write_text(f"{os.getpid()}\\n")
    if kind == "ending" and (name, who) == ("second", "main"):
        sys.exit(3)
    while True:
        signal.pause()
programs = {name: partial(program, name) for name in ("first", "second")}
sys.exit(serving.run_together(programs, follow_parent=kind == "following"))
"""


class Served:
    """Both programs, with their process ids read from their files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[str] | None = None

    def start(self, kind: str, *, grace: float = 30.0, above: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        self.process = subprocess.Popen(
            [*above, sys.executable, "-c", DRIVER, str(self.folder), kind, str(grace)],
            env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        return self.process

    def pids(self) -> list[int]:
        """Wait until both programs and their children run; return their process ids."""
        files = [self.folder / f"{name}.{who}" for name in ("first", "second") for who in ("main", "child")]
        wait_until(lambda: all(read_pid(file) is not None for file in files), "the programs to start")
        return [int(file.read_text()) for file in files]

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
        for file in [*self.folder.glob("*.main"), *self.folder.glob("*.child")]:
            kill_if_running(read_pid(file))
        if self.process is not None and self.process.stderr is not None:
            self.process.wait()
            self.process.stderr.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    run = Served(tmp_path)
    yield run
    run.close()


def gone(pids: list[int]) -> None:
    for pid in pids:
        wait_until(lambda pid=pid: not is_running(pid), f"process {pid} to end")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_both_and_their_children(served: Served, number: int) -> None:
    process = served.start("gentle")
    pids = served.pids()
    process.send_signal(number)
    assert process.communicate()[1] == ""
    assert process.returncode == 0
    gone(pids)


def test_the_end_of_one_ends_the_other_and_is_told(served: Served) -> None:
    process = served.start("ending")
    pids = served.pids()
    said = process.communicate()[1]
    assert (process.returncode, said.split()[0], said.split()[6]) == (1, "second", "3;")
    gone(pids)


def test_one_that_is_killed_ends_the_other(served: Served) -> None:
    process = served.start("gentle")
    pids = served.pids()
    os.kill(pids[0], signal.SIGKILL)
    assert process.communicate()[1].startswith("first ")
    assert process.returncode == 1
    gone(pids)


def test_one_that_ignores_sigterm_is_killed_after_the_grace(served: Served) -> None:
    process = served.start("stubborn", grace=0.2)
    pids = served.pids()
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 0
    gone(pids)


def test_second_ctrl_c_does_not_wait_for_the_grace(served: Served) -> None:
    process = served.start("stubborn", grace=3600)
    pids = served.pids()
    process.send_signal(signal.SIGINT)
    wait_until((served.folder / "second.told").exists, "the stubborn program to be told")
    process.send_signal(signal.SIGINT)
    assert process.wait() == 0
    gone(pids)


def test_nothing_outlives_a_process_that_is_killed(served: Served) -> None:
    process = served.start("gentle")
    mains = served.pids()[::2]
    process.kill()
    gone(mains)


def test_the_end_of_the_process_above_ends_all_when_it_is_followed(served: Served) -> None:
    above = (sys.executable, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])")
    process = served.start("following", above=above)
    pids = served.pids()
    process.kill()
    gone(pids)
