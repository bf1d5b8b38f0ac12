"""The HTTP side of the stand-in."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from tests.standin import batches, chat
from tests.standin.behaviour import NO_ANSWER, Behaviour
from tests.standin.state import State

PIECES = 8
CHAT = "/v1/chat/completions"
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


def json_response(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """Answer in JSON."""
    return web.Response(
        body=json.dumps(content).encode(), status=status, headers=headers, content_type="application/json"
    )


class StandInServer:
    """Answers chat completions, files and batches under `/v1`, and is told what to do under `/control`."""

    def __init__(self, behaviour: Behaviour | None = None) -> None:
        self.state = State(behaviour or Behaviour())

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        try:
            if request.path == CHAT and request.method == "POST":
                return await self.chat(request)
            if request.path.startswith("/control"):
                return await self.control(request)
            self.let_in(request)
            return await self.others(request)
        except chat.Refused as refused:
            return json_response(refused.content, refused.status)
        except (ValueError, KeyError, TypeError) as error:
            return json_response({"error": {"message": f"{type(error).__name__}: {error}", "code": "bad"}}, 400)

    def let_in(self, request: web.BaseRequest) -> None:
        """Check the key.

        Raises: chat.Refused
        """
        key = self.state.behaviour.key
        if key and request.headers.get("Authorization") != f"Bearer {key}":
            raise chat.Refused(401, "Incorrect API key provided", "invalid_api_key")

    async def chat(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a call, after its delay, as it was drawn that it goes."""
        state = self.state
        raw = await request.read()
        body = json.loads(raw)
        state.begin(dict(request.headers), body)
        try:
            behaviour = state.behaviour
            self.let_in(request)
            trouble = behaviour.trouble(state.rng)
            state.outcomes[trouble or "ok"] += 1
            chat.check(body, behaviour)
            if trouble not in NO_ANSWER:
                state.answer(raw)
            if behaviour.delay and trouble != "too_many":
                await asyncio.sleep(behaviour.delay)
            return await self.reply(request, body, behaviour, trouble)
        finally:
            state.in_flight -= 1

    async def reply(
        self, request: web.BaseRequest, body: dict[str, Any], behaviour: Behaviour, trouble: str
    ) -> web.StreamResponse:
        """Send the answer, or what comes in its place."""
        if trouble == "too_many":
            wait = {"Retry-After": f"{behaviour.retry_after:g}"} if behaviour.retry_after >= 0 else None
            return json_response({"error": {"message": "Rate limit reached", "code": "rate_limit"}}, 429, wait)
        if trouble == "error":
            return json_response({"error": {"message": "The server had an error", "code": None}}, 500)
        answer = chat.completion(body, behaviour, trouble)
        if behaviour.prefix_cache and "usage" in answer:
            self.state.use(body, answer["usage"])
        content = json.dumps(answer).encode()
        if trouble == "malformed":
            content = content[: len(content) // 2]
        if trouble == "slow":
            return await self.in_pieces(request, content, behaviour.slow_seconds)
        return web.Response(body=content, content_type="application/json")

    async def in_pieces(self, request: web.BaseRequest, content: bytes, seconds: float) -> web.StreamResponse:
        """Send an answer bit by bit."""
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        size = -(-len(content) // PIECES)
        for start in range(0, len(content), size):
            await response.write(content[start : start + size])
            await asyncio.sleep(seconds / PIECES)
        await response.write_eof()
        return response

    async def others(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer about files and batches."""
        state = self.state
        parts = request.path.removeprefix("/v1/").strip("/").split("/")
        if not request.path.startswith("/v1/") or parts[0] in state.behaviour.missing:
            raise chat.Refused(404, f"no such page: {request.path}", "not_found")
        state.routes[" ".join([request.method, parts[0], *parts[2:]])] += 1
        match (request.method, *parts):
            case ("POST", "files"):
                return json_response(await self.upload(request))
            case ("GET", "files", file_id, "content"):
                content = batches.find_file(state, file_id)["content"]
                return web.Response(body=content, content_type="application/octet-stream")
            case ("POST", "batches"):
                return json_response(batches.add_batch(state, await request.json()))
            case ("GET", "batches"):
                listed = [batches.shown(one) for one in reversed(state.batches.values())]
                return json_response({"object": "list", "data": listed, "has_more": False})
            case ("GET", "batches", batch_id):
                return json_response(batches.look(state, batch_id))
            case ("POST", "batches", batch_id, "cancel"):
                return json_response(batches.cancel(state, batch_id))
        raise chat.Refused(404, f"no such page: {request.method} {request.path}", "not_found")

    async def upload(self, request: web.BaseRequest) -> dict[str, Any]:
        """Take a file in."""
        form = await request.post()
        file = form["file"]
        if not isinstance(file, web.FileField):
            raise chat.Refused(400, "no file in the form")
        return batches.add_file(self.state, file.file.read(), purpose=str(form.get("purpose")), name=file.filename)

    async def control(self, request: web.BaseRequest) -> web.StreamResponse:
        """Be told what to do, and say what was asked."""
        state = self.state
        match (request.method, request.path):
            case ("GET", "/control/stats"):
                return json_response(state.stats())
            case ("GET", "/control/requests"):
                return json_response(list(state.recent))
            case ("PUT", "/control/behaviour"):
                state.behave(await request.json())
                return json_response({"changed": True})
            case ("POST", "/control/forget"):
                state.forget()
                return json_response({"forgotten": True})
            case ("POST", "/control/reset"):
                state.reset()
                return json_response({"reset": True})
        raise chat.Refused(404, f"no such control: {request.method} {request.path}", "not_found")


async def serve(server: StandInServer, *, port: int, backlog: int = 2048) -> tuple[web.ServerRunner, int]:
    """Listen on loopback; returns what to clean up, and the port."""
    runner = web.ServerRunner(web.Server(server.handle, access_log=None, keepalive_timeout=600), handle_signals=False)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=backlog)
    await site.start()
    return runner, int(runner.addresses[0][1])
