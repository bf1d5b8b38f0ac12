"""The supervisor: whatever ends it or one of its programs, nothing stays behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.helpers import ROOT, is_running, kill_if_running, read_pid, wait_until

pytestmark = pytest.mark.slow

# A program that, like the web server, has a child in its process group; both write down their process ids.
PROGRAM = """
import os, pathlib, signal, sys
folder, name, stubborn = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "stubborn"
if stubborn:
    signal.signal(signal.SIGTERM, lambda number, frame: (folder / f"{name}.told").touch())
who = "child" if os.fork() == 0 else "main"
(folder / f"{name}.{who}").write_text(f"{os.getpid()}\\n")
while True:
    signal.pause()
    if not stubborn:
        break
"""
ENDS = "import sys, pathlib, time\nwhile not pathlib.Path(sys.argv[1], 'end').exists(): time.sleep(0.02)\nsys.exit(3)"
DRIVER = """
import sys
from config.serving.supervise import Program, Supervisor
program, folder, grace, kind, follow = sys.argv[1:]
start = [sys.executable, "-c", program, folder]
first = Program("The first", [*start, "first", "gentle"])
second = Program("The second", [*start, "second", "stubborn" if kind == "stubborn" else "gentle"])
if kind == "ending":
    second = Program("The second", [sys.executable, "-c", sys.argv[0], folder])
programs = [first, second]
if kind == "missing":
    programs.append(Program("The third", [folder + "/no-such-program"]))
sys.exit(Supervisor(grace=float(grace), with_parent=follow == "follow").run(programs))
"""


class Supervised:
    """A supervisor in a process of its own, with its programs' ids read from their files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[str] | None = None

    def command(self, *, kind: str = "gentle", grace: float = 30.0, follow: bool = False) -> list[str]:
        driver = DRIVER.replace("sys.argv[0]", repr(ENDS))
        options = [str(self.folder), str(grace), kind, "follow" if follow else "stay"]
        return [sys.executable, "-c", driver, PROGRAM, *options]

    def start(self, command: list[str]) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        return self.process

    def pids(self, *names: str) -> list[int]:
        """Wait until the named programs and their children run; return their process ids."""
        files = [self.folder / f"{name}.{who}" for name in names for who in ("main", "child")]
        wait_until(lambda: all(read_pid(file) is not None for file in files), f"{names} to start")
        return [int(file.read_text()) for file in files]

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            if self.process.stdout is not None:
                self.process.stdout.close()
        for file in [*self.folder.glob("*.main"), *self.folder.glob("*.child")]:
            kill_if_running(read_pid(file))


@pytest.fixture
def supervised(tmp_path: Path) -> Iterator[Supervised]:
    run = Supervised(tmp_path)
    yield run
    run.stop()


def gone(pids: list[int]) -> None:
    for pid in pids:
        wait_until(lambda pid=pid: not is_running(pid), f"process {pid} to end")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_every_program_and_its_children(supervised: Supervised, number: int) -> None:
    process = supervised.start(supervised.command())
    pids = supervised.pids("first", "second")
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    gone(pids)


def test_program_that_ends_takes_the_other_with_it_and_is_named(supervised: Supervised) -> None:
    process = supervised.start(supervised.command(kind="ending"))
    pids = supervised.pids("first")
    (supervised.folder / "end").touch()
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert output.splitlines() == ["The second ended by itself with exit code 3; the rest has been stopped."]
    gone(pids)


def test_program_killed_from_outside_is_named_with_its_signal(supervised: Supervised) -> None:
    process = supervised.start(supervised.command())
    pids = supervised.pids("first", "second")
    os.kill(pids[0], signal.SIGKILL)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert output.splitlines() == ["The first was ended by SIGKILL; the rest has been stopped."]
    gone(pids)


def test_program_that_cannot_start_stops_those_that_did(supervised: Supervised) -> None:
    process = supervised.start(supervised.command(kind="missing"))
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "no-such-program" in output
    gone([pid for file in supervised.folder.glob("*.main") if (pid := read_pid(file)) is not None])


def test_killed_supervisor_leaves_nothing(supervised: Supervised) -> None:
    process = supervised.start(supervised.command())
    pids = supervised.pids("first", "second")
    process.kill()
    process.wait()
    gone(pids)


def test_killed_supervisor_leaves_nothing_when_a_program_ignores_sigterm(supervised: Supervised) -> None:
    process = supervised.start(supervised.command(kind="stubborn", grace=0.2))
    pids = supervised.pids("first", "second")
    process.kill()
    process.wait()
    gone(pids)


def test_program_that_ignores_sigterm_is_killed_after_the_grace(supervised: Supervised) -> None:
    process = supervised.start(supervised.command(kind="stubborn", grace=0.2))
    pids = supervised.pids("first", "second")
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    gone(pids)


def test_second_ctrl_c_does_not_wait_for_the_grace(supervised: Supervised) -> None:
    process = supervised.start(supervised.command(kind="stubborn", grace=3600))
    pids = supervised.pids("first", "second")
    process.send_signal(signal.SIGINT)
    wait_until((supervised.folder / "second.told").exists, "the stubborn program to be told")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    gone(pids)


def test_end_of_the_process_above_ends_all_when_asked_to_follow_it(supervised: Supervised) -> None:
    above = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    process = supervised.start([sys.executable, "-c", above, *supervised.command(follow=True)])
    pids = supervised.pids("first", "second")
    process.kill()
    process.wait()
    gone(pids)
