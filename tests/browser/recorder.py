"""A relay between a browser and the server, which keeps every byte that the browser is sent."""

import re
import socket
import threading
from contextlib import suppress
from types import TracebackType

_ACCEPTED = re.compile(rb"(?i)(\r\naccept-encoding:)[^\r\n]*")


class Recorder:
    """Listens on a port of its own: `url` is the address to give to the browser, `received` what it got from there."""

    def __init__(self, port: int) -> None:
        """Relay to the server on this port of this machine."""
        self.server_port = port
        self.received = bytearray()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://localhost:{self._listener.getsockname()[1]}"

    def __enter__(self) -> "Recorder":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                browser, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self.server_port))
                threading.Thread(target=self._ask, args=(browser, server), daemon=True).start()
                threading.Thread(target=self._answer, args=(server, browser), daemon=True).start()

    def _ask(self, browser: socket.socket, server: socket.socket) -> None:
        """Pass on what the browser asks, without the wish for compression: the answers are to be read."""
        with suppress(OSError):
            while sent := browser.recv(65536):
                server.sendall(_ACCEPTED.sub(rb"\1 identity", sent))
        with suppress(OSError):
            server.shutdown(socket.SHUT_WR)

    def _answer(self, server: socket.socket, browser: socket.socket) -> None:
        with suppress(OSError):
            while sent := server.recv(65536):
                with self._lock:
                    self.received += sent
                browser.sendall(sent)
        for end in (server, browser):
            # The other thread still reads: to close alone would tell the browser nothing.
            with suppress(OSError):  # it is gone already
                end.shutdown(socket.SHUT_RDWR)
            end.close()
