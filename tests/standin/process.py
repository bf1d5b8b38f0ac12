"""Starting the stand-in as a process of its own, and talking to it."""

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent.parent


class StandInProcess:
    """A stand-in that runs beside this program."""

    def __init__(self, base_url: str, pid: int) -> None:
        self.base_url = base_url
        self.pid = pid
        self._netloc = urlsplit(base_url).netloc

    def behave(self, **settings: Any) -> None:
        """Change how it behaves from now on; the names are those of `Behaviour`."""
        self._ask("PUT", "/control/behaviour", settings)

    def stats(self) -> Any:
        """Return what it was asked so far: see `State.stats`."""
        return self._ask("GET", "/control/stats")

    def requests(self) -> Any:
        """Return the last calls that it got, each with `headers` and `body`."""
        return self._ask("GET", "/control/requests")

    def forget(self) -> None:
        """Count from zero, and restart the draws."""
        self._ask("POST", "/control/forget")

    def reset(self) -> None:
        """Be as it was when it was started."""
        self._ask("POST", "/control/reset")

    def _ask(self, method: str, path: str, content: Any = None) -> Any:
        connection = http.client.HTTPConnection(self._netloc, timeout=30)
        try:
            connection.request(method, path, None if content is None else json.dumps(content))
            answer = connection.getresponse()
            told = json.loads(answer.read())
        finally:
            connection.close()
        if answer.status != 200:
            raise ValueError(told["error"]["message"])
        return told


@contextmanager
def running(**settings: Any) -> Iterator[StandInProcess]:
    """Run a stand-in for one `with` block; `settings` are those of `Behaviour`."""
    command = [sys.executable, "-m", "tests.standin", "--while-stdin"]
    for name, value in settings.items():
        text = json.dumps(value) if name == "rules" else ",".join(value) if isinstance(value, list) else str(value)
        command.append(f"--{name.replace('_', '-')}={text}")
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None or not (base_url := process.stdout.readline().strip()):
                raise RuntimeError(f"the stand-in did not start; exit status {process.wait()}")
            yield StandInProcess(base_url, process.pid)
        finally:
            if process.stdin is not None:
                process.stdin.close()  # it ends by itself
            process.wait(timeout=30)
