"""Connections that send slowly, or stop half-way, take none of the threads that serve the others, and are closed in time."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from config.serving import gunicorn_config, whole_requests
from config.serving.whole_requests import HELD, bytes_needed
from tests.tools.helpers import ROOT

pytestmark = pytest.mark.slow

POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    """Serve `tests.tools.slow_server`."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        command = [sys.executable, "-m", "config.serving.web", "--config", "python:tests.tools.slow_server"]
        server = subprocess.Popen(
            [*command, "--bind", f"fd://{listener.fileno()}"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            pass_fds=[listener.fileno()],
        )
        yield listener.getsockname()
        server.terminate()
        assert server.wait(timeout=60) == 0


def answer_to(request: bytes, address: tuple[str, int]) -> bytes:
    with socket.create_connection(address, timeout=60) as connection:
        connection.sendall(request)
        return read_answer(connection)


def read_answer(connection: socket.socket) -> bytes:
    """Return the body of an answer of the test's application; nothing when the server has closed the connection."""
    received = b""
    while not received.endswith(b"\r\n\r\n"):
        if not (byte := connection.recv(1)):
            return b""
        received += byte
    assert received.startswith(b"HTTP/1.1 200"), received
    return connection.recv(7, socket.MSG_WAITALL)


UNFINISHED = {
    "nothing": b"",
    "headers": b"GET / HTTP/1.1\r\nHost: local",
    "body": POST % 100 + b"x" * 99,
    "large body": POST % (HELD + 1) + b"x",
    "chunks": b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nx",
    "body that is asked for": POST.replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n") % 5,
}


def wait_for_end(connection: socket.socket) -> None:
    with suppress(ConnectionResetError):
        while connection.recv(4096):
            pass


def test_unfinished_requests_stop_no_other_and_are_closed(address: tuple[str, int]) -> None:
    with ExitStack() as opened:
        slow = []
        for sent in UNFINISHED.values():
            for _ in range(16):
                slow.append(opened.enter_context(socket.create_connection(address, timeout=60)))
                slow[-1].sendall(sent)
            assert answer_to(POST % 3 + b"abc", address) == b"0000003"
        for connection in slow:
            wait_for_end(connection)


def send_bytes_until_closed(connection: socket.socket) -> None:
    for _ in range(200):
        connection.sendall(b"G")
        with suppress(TimeoutError):
            assert connection.recv(1) == b""
    raise AssertionError("the connection was never closed")


def test_a_byte_now_and_then_buys_no_time(address: tuple[str, int]) -> None:
    with socket.create_connection(address, timeout=0.05) as connection, pytest.raises(ConnectionError):
        send_bytes_until_closed(connection)


@pytest.mark.parametrize("size", [0, 1, HELD - 200, HELD + 1, 3_000_000])
def test_a_request_in_pieces_is_read_whole(address: tuple[str, int], size: int) -> None:
    whole = POST % size + b"x" * size
    with socket.create_connection(address, timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for start, end in ((0, 10), (10, len(POST % size) + size // 2), (len(POST % size) + size // 2, len(whole))):
            connection.sendall(whole[start:end])
        assert read_answer(connection) == b"%07d" % size


def test_requests_follow_one_another_on_one_connection(address: tuple[str, int]) -> None:
    with socket.create_connection(address, timeout=60) as connection:
        connection.sendall((POST % 2 + b"ab") * 2 + POST % 3)
        assert [read_answer(connection), read_answer(connection)] == [b"0000002", b"0000002"]
        connection.sendall(b"abc")
        assert read_answer(connection) == b"0000003"


def test_a_client_that_closes_its_side_after_its_request_is_answered(address: tuple[str, int]) -> None:
    with socket.create_connection(address, timeout=60) as connection:
        connection.sendall(POST % 1 + b"a")
        connection.shutdown(socket.SHUT_WR)
        assert read_answer(connection) == b"0000001"


def test_length_is_read_from_the_headers_only() -> None:
    head = b"POST / HTTP/1.1\r\nContent-Length: 7\r\n\r\n"
    assert bytes_needed(head + b"\r\nContent-Length: 900\r\n") == len(head) + 7
    assert bytes_needed(head[:-1]) == len(head)
    assert bytes_needed(head.replace(b"Content-", b"X-")) == len(head) - 6
    assert bytes_needed(b"x" * HELD) is None


def test_the_shipped_server_has_this_worker() -> None:
    assert gunicorn_config.worker_class == f"{whole_requests.__name__}.{whole_requests.WholeRequests.__name__}"
