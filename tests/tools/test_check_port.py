"""A port that cannot be served on is refused in one line."""

import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.tools.helpers import ROOT


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def check(port: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "config" / "serving" / "check_port.py"), port],
        capture_output=True,
        text=True,
        check=False,
    )


def test_free_port_is_accepted_in_silence() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    checked = check(str(port))
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_port_is_accepted_when_its_last_server_has_just_stopped(taken_port: int) -> None:
    # The side that closes first keeps the port in TIME_WAIT, which must not block the next start.
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            accepted, _ = server.accept()
            accepted.close()
            assert client.recv(1) == b""
    assert check(str(port)).returncode == 0


def test_taken_port_is_refused_in_one_line(taken_port: int) -> None:
    checked = check(str(taken_port))
    assert checked.returncode == 1
    assert checked.stderr.splitlines() == [
        f"Port {taken_port} is taken. Stop what uses it, or choose another: PORT={taken_port + 1}"
    ]


@pytest.mark.slow
def test_server_refuses_a_taken_port_in_one_line(taken_port: int) -> None:
    served = subprocess.run(
        [sys.executable, "-m", "config.serving", "--port", str(taken_port)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert served.returncode == 1
    assert served.stderr.splitlines() == [
        f"Port {taken_port} is taken. Stop what uses it, or choose another: PORT={taken_port + 1}"
    ]


@pytest.mark.parametrize("port", ["", "0", "65536", "-1", "http", "80 80", "8000.5", "٨٠٠٠"])
def test_what_is_no_port_is_refused_in_one_line(port: str) -> None:
    checked = check(port)
    assert checked.returncode == 1
    assert checked.stderr.splitlines() == [f"PORT must be a number from 1 to 65535, not {port!r}."]
