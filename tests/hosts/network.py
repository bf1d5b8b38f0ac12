"""Hosts as network namespaces on one bridge, from which they reach the database and the endpoint and nothing else."""

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from signal import SIGKILL
from urllib.parse import urlsplit

from tests.stress.run import ROOT

BRIDGE, ADDRESS = "tandem-hosts", "10.77.0.1"


class NetworkImpossible(Exception):
    """This machine lets nobody make networks; the message says why."""


def ip(*arguments: str) -> None:
    """Run `ip`."""
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NetworkImpossible(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


@contextmanager
def bridge() -> Iterator[None]:
    """Make the bridge, with this machine on it."""
    ip("link", "add", BRIDGE, "type", "bridge")
    try:
        ip("address", "add", f"{ADDRESS}/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        yield
    finally:
        ip("link", "delete", BRIDGE)


class Host:
    """A machine with one worker, which a supervisor would start again."""

    def __init__(self, number: int, environment: dict[str, str], folder: Path) -> None:
        self.name, self.link = f"tandem-host-{number}", f"tandem-link-{number}"
        self.data = folder / self.name
        self.data.mkdir()
        self.environment = environment | {"TANDEM_DATA_DIR": str(self.data)}
        self.log = (folder / f"{self.name}.log").open("ab")
        self.process: subprocess.Popen[bytes] | None = None
        ip("netns", "add", self.name)
        ip("link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("link", "set", self.link, "master", BRIDGE)
        self._inside("ip", "address", "add", f"10.77.0.{number + 2}/24", "dev", "eth0")
        self._inside("ip", "link", "set", "eth0", "up")
        self._inside("ip", "link", "set", "lo", "up")
        self.plug_in()

    def _inside(self, *command: str) -> None:
        ip("netns", "exec", self.name, *command)

    def start(self) -> None:
        """Start the worker, under the host's own name."""
        worker = f"hostname {self.name} && exec {sys.executable} manage.py worker --interval 0.2"
        command = ["ip", "netns", "exec", self.name, "unshare", "--uts", "sh", "-c", worker]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=self.environment, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
        )  # fmt: skip

    def kill(self) -> None:
        """End the worker at once."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, SIGKILL)
            self.process.wait()

    def unplug(self) -> None:
        """Cut the network: nobody is told of what ends here."""
        ip("link", "set", self.link, "down")

    def plug_in(self) -> None:
        """Give the network back."""
        ip("link", "set", self.link, "up")

    def close(self) -> None:
        """Remove the host."""
        self.kill()
        self.log.close()
        ip("netns", "delete", self.name)


class Forwarder:
    """Passes connections from the bridge to ports of this machine, which listen on loopback only."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def forward(self, url: str) -> str:
        """Return the address at which the hosts reach another one."""
        port = urlsplit(url).port
        assert port is not None
        listener = socket.create_server((ADDRESS, 0))

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            back, forth = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(_pass(reader, forth), _pass(back, writer))

        asyncio.run_coroutine_threadsafe(asyncio.start_server(connected, sock=listener), self.loop).result()
        return url.replace(f"127.0.0.1:{port}", f"{ADDRESS}:{listener.getsockname()[1]}")


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()
