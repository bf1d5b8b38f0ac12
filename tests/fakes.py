"""Stand-ins for language models: a scripted client, and a real HTTP server that speaks the OpenAI chat protocol."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from annotation.core.tasks.processes import this_machine
from annotation.core.tasks.stopping import StopFlag
from judging.endpoints.chat_answers import ChatAnswer, read_answer

Body = Mapping[str, Any]


def prefer_first(body: Body) -> str:
    """Answer as a direct judge that always prefers what it was shown first."""
    return "Comparison: the first one is better.\nPreferred: A\nMore helpful: A"


def chat_completion(
    text: str | None, *, finish_reason: str = "stop", refusal: str | None = None, model: str = "stand-in"
) -> dict[str, Any]:
    """Return the JSON of a chat completion."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [
            {
                "index": 0,
                "finish_reason": finish_reason,
                "message": {"role": "assistant", "content": text, "refusal": refusal},
            }
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


class ScriptedClient:
    """A client without a network: plays a list of answers and failures, then repeats a last answer, or makes one."""

    def __init__(
        self,
        script: Iterable[str | dict[str, Any] | Exception] = (),
        *,
        then: str | Callable[[Body], str] = "Preferred: A",
    ) -> None:
        self.script = list(script)
        self.then = then
        self.bodies: list[Body] = []
        self.closed = False

    async def complete(self, body: Body) -> ChatAnswer:
        """Play the next entry of the script."""
        self.bodies.append(body)
        last = self.then(body) if callable(self.then) else self.then
        entry = self.script.pop(0) if self.script else last
        if isinstance(entry, Exception):
            raise entry
        response = entry if isinstance(entry, dict) else chat_completion(entry)
        return read_answer(json.dumps(response))

    async def close(self) -> None:
        """Note that it was closed."""
        self.closed = True


@dataclass(frozen=True)
class Reply:
    """One HTTP answer of the stand-in; `drop` closes the connection instead, `hold` waits for `StandIn.release`."""

    status: int = 200
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: bool = False
    hold: bool = False


class StandIn:
    """An OpenAI-compatible server on a free loopback port, for one `with` block.

    script : replies for the first requests, in order of arrival; `None` stands for an ordinary answer
    answer : makes the text of an ordinary answer from the request body
    key    : the only key that is let in, where one is needed
    hold_after : requests beyond this many are held until `release` is called
    """

    def __init__(
        self,
        script: Iterable[Reply | None] = (),
        *,
        answer: Callable[[Body], str] = prefer_first,
        key: str | None = None,
        hold_after: int | None = None,
    ) -> None:
        self.script = list(script)
        self.answer = answer
        self.key = key
        self.hold_after = hold_after
        self.bodies: list[Body] = []
        self.heads: list[tuple[str, dict[str, str]]] = []  # request lines, and headers in lower case
        self.most_in_flight = 0
        self._in_flight = 0
        self._lock = threading.Lock()
        self._released = threading.Event()
        self._arrived = threading.Condition(self._lock)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def base_url(self) -> str:
        """The address to configure an endpoint with."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def calls(self) -> int:
        """Requests that arrived so far."""
        with self._lock:
            return len(self.bodies)

    def wait_for_calls(self, number: int, *, timeout: float = 30) -> None:
        """Return when this many requests have arrived; fail when they don't."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.bodies) >= number, timeout):
                raise TimeoutError(f"{len(self.bodies)} of {number} requests arrived in {timeout} s")

    def release(self) -> None:
        """Let held requests go, and hold no more."""
        self.hold_after = None
        self._released.set()

    def reset(self, *, hold_after: int | None = None) -> None:
        """Forget what happened, release the waiting calls, and begin again."""
        self._released.set()
        with self._lock:
            self.bodies.clear()
            self.most_in_flight = 0
            self.hold_after = hold_after
            self._released = threading.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def reply_to(self, body: Body, authorization: str | None) -> Reply:
        """Take a request in and choose its reply."""
        with self._arrived:
            self.bodies.append(body)
            number = len(self.bodies)
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
            scripted = self.script.pop(0) if self.script else None
            self._arrived.notify_all()
        if self.key is not None and authorization != f"Bearer {self.key}":
            text = json.dumps({"error": {"message": f"Incorrect API key: {authorization}", "code": "invalid_api_key"}})
            return Reply(401, text)
        if scripted is not None:
            return scripted
        held = self.hold_after is not None and number > self.hold_after
        return Reply(200, json.dumps(chat_completion(self.answer(body))), hold=held)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else each answer is held back for 40 ms

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
                stand_in.heads.append((self.requestline, {name.lower(): text for name, text in self.headers.items()}))
                try:
                    self._send(stand_in.reply_to(body, self.headers.get("Authorization")))
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True  # the client gave up or was killed

            do_GET = do_CONNECT = do_POST  # noqa: N815

            def _send(self, reply: Reply) -> None:
                if reply.hold:
                    stand_in._released.wait()
                with stand_in._lock:  # before a byte leaves: the client's next request may be here before this returns
                    stand_in._in_flight -= 1
                if reply.drop:
                    self.close_connection = True
                    return
                payload = reply.body.encode()
                self.send_response(reply.status)
                for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the base class named it)
                """Keep the test output clean."""

        return Handler


def stopped_flag() -> StopFlag:
    """Return a flag that is set."""
    flag = StopFlag()
    flag.set()
    return flag


def dead_process() -> str:
    """Name a process that has ended."""
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
    )
    return f"{this_machine()}:{ended.stdout.strip()}:x"
