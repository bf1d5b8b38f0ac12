"""Tandem as raters meet it: the web server's processes, here on the database of the tests. No page of theirs waits for a worker."""

import os
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

from django.conf import settings
from django.db import connection

from tests.tools.helpers import ROOT, descendants, is_running, kill_if_running, wait_until


class RealServer:
    """`serve --web-only` on a free port; it can be killed at any moment and started again on the same port."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.url = f"http://localhost:{self.port}"
        self.said = folder / "said"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("DJANGO", "PYTEST"))}
        self.environment = kept | {
            "TANDEM_DATA_DIR": str(folder),
            "DATABASE_URL": f"sqlite:///{connection.settings_dict['NAME']}",
            "SECRET_KEY": settings.SECRET_KEY,  # login links are made by the test and read by the server
            "LOG_LEVEL": "WARNING",
            "PORT": str(self.port),
        }

    def start(self) -> None:
        """Start it, and return when it answers: its port takes requests at once, which wait until it is up."""
        with self.said.open("ab") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "config", "serve", "--web-only"],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
            )
        wait_until(self._has_started, "the server to listen")
        urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=60).close()

    def _has_started(self) -> bool:
        assert self.process.poll() is None, self.said.read_text()
        return self._listens()

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self) -> None:
        """End every process with SIGKILL, as a power cut does: none finishes what it was at."""
        below = descendants(self.process.pid)
        self.process.kill()
        for pid in below:
            kill_if_running(pid)
        self.process.wait()
        for pid in below:
            wait_until(lambda pid=pid: not is_running(pid), f"process {pid} to end")
        wait_until(lambda: not self._listens(), "the port to be free: the last of their threads holds it")

    def stop(self) -> None:
        """Stop it in order, if it still runs."""
        self.process.terminate()
        self.process.wait(timeout=60)
