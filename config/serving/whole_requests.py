"""A gunicorn worker whose threads get whole requests, so that unfinished ones take none of them.

Gunicorn's threaded worker keeps a connection on which nothing has arrived in its event loop, and gives it to a thread with
the first bytes; the thread then waits for the others without a limit. Here a connection stays in the event loop until the
headers and a small body have arrived. They wait in the kernel's buffer, are looked at there (`MSG_PEEK`), and read by
gunicorn afterwards. Larger bodies, and those of unknown length, are read in threads, in half of them at most.
"""

import re
import selectors
import socket
import time
from contextlib import suppress
from functools import partial
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

HELD = 64 * 1024  # bytes of a request that is waited for in the event loop; the kernel buffers that many
SLOWEST = 32 * 1024  # bytes a second of a larger body, on average
LINGER = 2.0  # seconds for which a stopping worker waits for a request
_HEADERS_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,12})[ \t]*\r\n", re.IGNORECASE)
_STREAM = re.compile(
    rb"\r\n(?:transfer-encoding|expect):", re.IGNORECASE
)  # unknown length; the client waits for an answer


def bytes_needed(received: bytes) -> int | None:
    """Return how long the request that begins with these bytes is, or at least is; None if a thread is to read it.

    Whether the request is valid, gunicorn decides.
    """
    end = received.find(_HEADERS_END)
    if end < 0:
        return len(received) + 1 if len(received) < HELD else None
    headers = received[: end + len(_HEADERS_END)]
    whole = len(headers) + _length_of(headers)
    return None if whole > HELD or _STREAM.search(headers) else whole


def _length_of(headers: bytes) -> int:
    found = _LENGTH.search(headers)
    return int(found[1]) if found else 0


class WholeRequests(ThreadWorker):  # type: ignore[misc]  # without types
    """The threaded worker, with limits on the time that headers and bodies take."""

    whole_within = 10.0  # seconds for a request without a large body, from its connection or its first byte

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Prepare the tables of connections; each row is a connection and until when it may send."""
        super().__init__(*arguments, **named)
        self.waiting: dict[Any, float] = {}  # for a whole request
        self.queued: dict[Any, float] = {}  # for a thread that reads a large body
        self.uploads: dict[Any, float] = {}  # being read by threads

    def enqueue_req(self, conn: Any, *, expected: int = 0) -> None:
        """Give a connection to a thread if its request has arrived; else wait for it.

        expected : bytes that a connection was waited for; with fewer, its client has closed it
        """
        ahead = conn.parser.unreader.buf.getvalue() if conn.parser else b""  # read together with the request before
        try:
            received = ahead + conn.sock.recv(HELD, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            received = ahead
        except OSError:  # the client is gone
            self._drop(conn)
            return
        needed = bytes_needed(received) if len(received) >= expected else None
        until = self.waiting.pop(conn, 0.0) or time.monotonic() + self.whole_within
        if needed is None:
            self.queued[conn] = until + _length_of(received) / SLOWEST
            self._start_uploads()
        elif len(received) < needed:
            self.waiting[conn] = until
            self._set_least(conn, needed - len(ahead))
            self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._look_again, conn, needed))
        else:
            self._give_to_thread(conn)

    def _look_again(self, conn: Any, expected: int, _ready: socket.socket) -> None:
        self.poller.unregister(conn.sock)
        self.enqueue_req(conn, expected=expected)

    def _give_to_thread(self, conn: Any) -> None:
        self._set_least(conn, 1)
        conn.data_ready = True  # so that the thread doesn't wait for the first bytes
        super().enqueue_req(conn)

    def _start_uploads(self) -> None:
        while self.queued and len(self.uploads) < max(1, self.cfg.threads // 2):
            conn = next(iter(self.queued))
            self.uploads[conn] = self.queued.pop(conn)
            self._give_to_thread(conn)

    @staticmethod
    def _set_least(conn: Any, size: int) -> None:
        """Set how many bytes make the socket readable."""
        conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)

    def finish_request(self, conn: Any, fs: Any) -> None:
        """Let the next large body be read."""
        self.uploads.pop(conn, None)
        super().finish_request(conn, fs)
        self._start_uploads()

    def murder_pending(self) -> None:
        """Close connections whose request has not arrived in time; gunicorn's loop calls this at least each second."""
        super().murder_pending()
        now = time.monotonic()
        early = 0 if self.alive else self.whole_within - LINGER
        for conn in [conn for conn, until in self.waiting.items() if until - early < now]:
            self.poller.unregister(conn.sock)
            self._drop(conn)
        for conn in [conn for conn, until in self.queued.items() if until - early < now]:
            self._drop(conn)
        for conn in [conn for conn, until in self.uploads.items() if until < now]:
            self.uploads[conn] = float("inf")
            with suppress(OSError):
                conn.sock.shutdown(socket.SHUT_RD)  # its thread reads the end of the data, and can still answer

    def _drop(self, conn: Any) -> None:
        for table in (self.waiting, self.queued):
            table.pop(conn, None)
        self.nr_conns -= 1
        conn.close()
