"""What the stand-ins for recruiting platforms share: a real HTTP server on this machine, for as long as a test needs it."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class PlatformServer:
    """Serves in a thread; a stand-in answers in `_serve`."""

    def __enter__(self) -> Self:
        self._lock, self._over = threading.Lock(), threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server._serve(self)

            def do_POST(self) -> None:
                server._serve(self)

            def do_PATCH(self) -> None:
                server._serve(self)

            def log_message(self, *args: Any) -> None:
                """Say nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = False  # joined at the end, so that none outlives its test
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """The address of the API."""
        return f"http://127.0.0.1:{self._http.server_port}"

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        raise NotImplementedError
