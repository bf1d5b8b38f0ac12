"""What the stand-ins for recruiting platforms share: a real HTTP server on this machine, for as long as a test needs it."""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Self

Json = dict[str, Any]


class Refusal(Exception):
    """An answer that says no."""

    def __init__(self, status: int, body: Json, headers: Mapping[str, str] | None = None) -> None:
        self.status, self.body, self.headers = status, body, headers or {}
        super().__init__(f"{status}: {body}")


@dataclass(frozen=True)
class Trouble:
    """What goes wrong with one request: a `refusal` instead of an answer; else no answer, or none until the end.

    takes_effect : the request is carried out all the same
    """

    refusal: Refusal | None = None
    held: bool = False
    takes_effect: bool = False


CUT, LOST = Trouble(), Trouble(takes_effect=True)
HELD, HELD_AND_DONE = Trouble(held=True), Trouble(held=True, takes_effect=True)


@dataclass(kw_only=True)
class PlatformServer:
    """Serves in a thread; a stand-in answers in `_answer`. `troubles` are met by the next requests whose name holds their text."""

    content_type: ClassVar[str] = "application/json"
    troubles: list[tuple[str, Trouble]] = field(default_factory=list)
    requests: list[tuple[str, str, Json]] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._lock, self._over = threading.Lock(), threading.Event()
        serve = self._serve

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                serve(self)

            do_POST = do_PATCH = do_GET  # noqa: N815  # names of the base class

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

    def fail(self, *troubles: Trouble | Refusal, on: str = "") -> None:
        """Have the next requests go wrong."""
        self.troubles += [(on, one if isinstance(one, Trouble) else Trouble(one)) for one in troubles]

    def asked(self, text: str) -> list[Json]:
        """Return what requests with this text in their names held."""
        return [body for _method, name, body in self.requests if text in name]

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers.get("Content-Length") or 0)) or b"{}")
        name, answer = self._name(handler), (0, {})
        with self._lock:
            self.requests.append((handler.command, name, body))
            met = next((entry for entry in self.troubles if entry[0] in name), None)
            trouble = met and met[1]
            if met is not None:
                self.troubles.remove(met)
            if trouble is None or trouble.takes_effect:
                try:
                    answer = self._answer(handler, body)
                except Refusal as refusal:
                    answer = refusal.status, refusal.body
        if trouble is not None and trouble.held:
            self._over.wait(10)
        if trouble is not None and trouble.refusal is None:
            handler.close_connection = True
            return
        refused = trouble and trouble.refusal
        status, told = (refused.status, refused.body) if refused else answer
        content = json.dumps(told).encode()
        handler.send_response(status)
        more = refused.headers if refused else {}
        for header, value in {"Content-Type": self.content_type, "Content-Length": str(len(content)), **more}.items():
            handler.send_header(header, value)
        handler.end_headers()
        handler.wfile.write(content)

    def _name(self, handler: BaseHTTPRequestHandler) -> str:
        """Return what a request is about."""
        return handler.path

    def _answer(self, handler: BaseHTTPRequestHandler, body: Json) -> tuple[int, Any]:
        raise NotImplementedError
