"""What the faults happen to: web server and workers that are started again when they end, a small disk, a clock."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from signal import SIGKILL

from tests.stress.run import ROOT, children_of

WORKERS = 2
LIBRARIES = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/lib64/faketime/libfaketimeMT.so.1")


class FaultImpossible(Exception):
    """This machine lacks what a fault needs; the message says what."""


class Disk:
    """A file system of its own in memory, which can be filled."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder = folder
        self.ballast = folder / "ballast"
        mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0711", "tandem-faults", str(folder)]
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
        if done.returncode:
            raise FaultImpossible(f"a small disk can't be mounted: {done.stderr.strip()}")

    def fill(self) -> None:
        """Use all the space that is left."""
        with self.ballast.open("ab", buffering=0) as file, suppress(OSError):
            while file.write(b"\0" * 65536):
                pass

    def free(self) -> None:
        """Give the space back."""
        self.ballast.unlink(missing_ok=True)

    def close(self) -> None:
        """Remove it."""
        subprocess.run(["umount", "--lazy", str(self.folder)], check=False)


class Machine:
    """The programs of an installation; a supervisor of systemd's kind restarts those that have ended."""

    def __init__(self, listener: socket.socket, environment: dict[str, str], folder: Path, draw: Random) -> None:
        self.clock = folder / "clock"
        self.log = (folder / "programs.log").open("ab")
        self.draw = draw
        self.set_clock(0)
        self.environment = environment | self._faketime() | {"PYTHONFAULTHANDLER": "1"}
        self.listener = listener
        web = ("-m", "gunicorn", "--config", "python:config.gunicorn_config", "--bind", f"fd://{listener.fileno()}")
        self.commands = {"web": [sys.executable, *web]}
        worker = [sys.executable, "manage.py", "worker", "--interval", "0.2"]
        self.commands |= {f"worker {number}": worker for number in range(WORKERS)}
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.ends = 0  # of workers, by a kill or because the database was away

    def _faketime(self) -> dict[str, str]:
        found = [path for pattern in LIBRARIES for path in Path("/").glob(pattern.lstrip("/"))]
        if not found:
            raise FaultImpossible("the clock can't be set: libfaketime is not installed (apt-get install faketime)")
        return {
            "LD_PRELOAD": str(found[0]),
            "FAKETIME_TIMESTAMP_FILE": str(self.clock),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "PYTHONPATH": str(Path(__file__).parent / "preload"),
        }

    def set_clock(self, hours: int) -> None:
        """Let the programs' clock go ahead of the machine's, or behind."""
        fresh = self.clock.with_suffix(".new")
        fresh.write_text(f"{hours * 3600:+d}\n")
        fresh.replace(self.clock)

    def start_ended(self) -> None:
        """Start every program that does not run."""
        for name, command in self.commands.items():
            process = self.running.get(name)
            if process is not None and process.poll() is None:
                continue
            self.ends += process is not None and name != "web"
            self.running[name] = subprocess.Popen(
                command, cwd=ROOT, env=self.environment, pass_fds=(self.listener.fileno(),), start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            )  # fmt: skip

    def kill_web_process(self) -> None:
        """Kill one of the web server's processes, which starts another."""
        if children := children_of(self.running["web"].pid):
            with suppress(ProcessLookupError):
                os.kill(self.draw.choice(children), SIGKILL)

    def kill(self, *names: str) -> None:
        """Kill programs with all of their processes."""
        for name in names:
            with suppress(ProcessLookupError):
                os.killpg(self.running[name].pid, SIGKILL)
            self.running[name].wait()

    def close(self) -> None:
        """End every program."""
        self.kill(*self.running)
        self.log.close()


@contextmanager
def listening() -> Iterator[socket.socket]:
    """Listen on a free port as the supervisor does: requests made while the web server starts wait."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        yield listener
