"""The HTTP client for language models, and the only importer of `aiohttp`.

Requests are sent by `aiohttp` itself: the `openai` library and its transport took more processor time for a call than
everything else. Web workers never import this module.
"""

import asyncio
import io
import ipaddress
import json
import re
import socket
import time
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import aiohttp
from aiohttp.abc import ResolveResult
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.resolver import ThreadedResolver
from django.conf import settings
from multidict import CIMultiDict
from yarl import URL

from annotation.core.tls import tls_context
from annotation.core.version import VERSION
from judging.core.errors import CallFailed, RejectedCall, TransientFailure
from judging.endpoints.chat_answers import (
    ChatAnswer,
    Scrub,
    a_stream,
    one_line,
    parse_json,
    read_answer,
    scrub_json,
    storable,
    with_raw,
)
from judging.endpoints.credentials import headers_of, key_of
from judging.endpoints.failures import ErrorDetails, error_of, failure_of
from judging.endpoints.hosts import check_addresses, split_url
from judging.endpoints.waits import wait_of
from judging.models import Endpoint

FILE_SECONDS = 600.0  # for a file of thousands of requests or answers
MOST_ANSWER, MOST_FILE = 64 * 2**20, 1024 * 2**20  # bytes, unpacked: an endpoint may answer without an end
EVENT_STREAM = "text/event-stream"
UPLOAD_NAME = "requests.jsonl"
IDLE_SECONDS = 5.0  # of a connection that is kept: many servers close theirs soon after
PROVIDER_ID = re.compile(r"\w[\w.:-]{0,199}", re.ASCII)
SOCKET_ADDRESS = re.compile(r"\('[^']{0,60}', \d+[^)]{0,40}\)")


class ChatClient(Protocol):
    """Sends requests to a model."""

    async def complete(self, body: Mapping[str, Any]) -> ChatAnswer:
        """Send a request body unchanged; raises CallFailed."""

    async def close(self) -> None:
        """Give the connections back."""


class CheckedResolver(ThreadedResolver):
    """Resolves to allowed addresses only: DNS may have changed since the endpoint was checked."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Resolve a host.

        Raises: EndpointRefused
        """
        found = await super().resolve(host, port, family)
        addresses = [ipaddress.ip_address(result["host"].partition("%")[0]) for result in found]
        check_addresses(host, addresses, allowlist=settings.ENDPOINT_ALLOWLIST)
        return found


class OpenAIClient:
    """A client of any OpenAI-compatible endpoint. It doesn't retry or follow redirects, and scrubs secrets from answers."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.timeout = endpoint.timeout_seconds
        self.base_url, _, self.query = endpoint.base_url.partition("?")
        self.host = split_url(endpoint.base_url).hostname or ""
        key = key_of(endpoint)
        headers, secrets = headers_of(endpoint)
        self.secrets = Secrets([key, *secrets] if key else secrets)
        self.headers = CIMultiDict(
            {
                "Accept": "application/json",
                "Authorization": f"Bearer {key or 'none'}",
                "User-Agent": f"Tandem/{VERSION}",
            }
        )
        self.headers.update(headers)
        self._chat_url = self._url("/chat/completions")
        self._session: aiohttp.ClientSession | None = None

    async def complete(self, body: Mapping[str, Any]) -> ChatAnswer:
        """Send the body, and return the first choice.

        Some proxies stream unless they are told not to. The cache keys are those of the body without that.
        """
        started = time.monotonic()
        content = await self._send("POST", self._chat_url, {**body, "stream": False})
        return read_answer(content, latency_ms=(time.monotonic() - started) * 1000, scrub=self.scrubber(content))

    async def upload(self, content: bytes) -> str:
        """Upload a batch's file of requests; returns the provider's id of the file."""
        form = aiohttp.FormData({"purpose": "batch"})
        form.add_field("file", io.BytesIO(content), filename=UPLOAD_NAME)
        return id_in(self._read(await self._send("POST", self._url("/files"), data=form, seconds=FILE_SECONDS)))

    async def download(self, file: str) -> str:
        """Return a file of answers; its texts still have to be scrubbed."""
        return await self._send("GET", self._url(f"/files/{checked_provider_id(file)}/content"), seconds=FILE_SECONDS)

    async def create_batch(self, file: str, metadata: Mapping[str, str]) -> Any:
        """Create a batch from an uploaded file; returns the provider's record of it."""
        body = {
            "input_file_id": file,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": dict(metadata),
        }
        return self._read(await self._send("POST", self._url("/batches"), body))

    async def batch(self, batch: str) -> Any:
        """Return the provider's record of a batch."""
        return self._read(await self._send("GET", self._url(f"/batches/{checked_provider_id(batch)}")))

    async def cancel_batch(self, batch: str) -> Any:
        """Ask the provider to cancel a batch."""
        return self._read(await self._send("POST", self._url(f"/batches/{checked_provider_id(batch)}/cancel"), {}))

    async def batches(self) -> list[Any]:
        """Return the provider's records of the last batches, newest first."""
        listed = self._read(await self._send("GET", self._url("/batches?limit=100")))
        data = listed.get("data") if isinstance(listed, dict) else None
        return data if isinstance(data, list) else []

    def _url(self, path: str) -> URL:
        """Return the address of a path; it has the query of the base URL, such as Azure's `api-version`."""
        return URL(self.base_url.rstrip("/") + path).update_query(self.query)

    async def _send(
        self, method: str, url: URL, body: Mapping[str, Any] | None = None, *, data: Any = None, seconds: float = 0.0
    ) -> str:
        """Send a request with a JSON body or other data, and return what is answered.

        seconds : to wait for the whole answer (default: the endpoint's time-out), which then may be a large file
        Raises: CallFailed
        """
        most = MOST_FILE if seconds else MOST_ANSWER
        seconds = seconds or self.timeout
        sent = self._connections().request(method, url, json=body, data=data, allow_redirects=False)
        try:
            async with asyncio.timeout(seconds), sent as response:
                content = await read_bounded(response.content, most)
        except (TimeoutError, aiohttp.ClientError, HttpProcessingError, OSError) as error:
            raise self.connection_failure(error, seconds) from None
        if response.status >= 300:
            raise self.status_failure(response.status, content, response.headers)
        if response.content_type == EVENT_STREAM:
            raise a_stream()
        return content

    def _connections(self) -> aiohttp.ClientSession:
        """Return the session of all calls; it uses no proxy from the environment, which could lead to an unchecked host."""
        if self._session is None:
            connector = aiohttp.TCPConnector(
                ssl=tls_context(), limit=0, keepalive_timeout=IDLE_SECONDS, resolver=CheckedResolver()
            )
            self._session = aiohttp.ClientSession(
                connector=connector, headers=self.headers, json_serialize=compact_json, timeout=aiohttp.ClientTimeout()
            )
        return self._session

    def _read(self, content: str) -> Any:
        """Parse a JSON response and scrub secrets from it.

        Raises: RejectedCall if it isn't JSON.
        """
        try:
            return scrub_json(parse_json(content), self.scrub)
        except (ValueError, RecursionError):
            raise RejectedCall(f"not JSON: {one_line(self.scrub(content), 200)}") from None

    async def close(self) -> None:
        """Give the connections back."""
        if self._session is not None:
            await self._session.close()

    def scrub(self, text: str) -> str:
        """Remove secrets that the endpoint may have echoed, and characters that can't be stored."""
        return self.secrets.scrub(text)

    def scrubber(self, content: str) -> Scrub | None:
        """Return the scrubber for an answer's texts; `None` if nothing in it can need scrubbing."""
        return None if self.secrets.is_clean(content) else self.scrub

    def connection_failure(self, error: Exception, seconds: float) -> TransientFailure:
        """Describe a connection error in one line, without the address."""
        if isinstance(error, TimeoutError):
            return TransientFailure(f"no answer within {seconds:g} s", kind="time-out")
        detail = SOCKET_ADDRESS.sub("[address]", self.scrub(f"{type(error).__name__}: {error}"))
        detail = re.sub(re.escape(self.host), "[host]", detail, flags=re.IGNORECASE)
        return TransientFailure(f"no connection: {one_line(detail, 200)}", kind="no connection")

    def status_failure(self, status: int, content: str, headers: Mapping[str, str]) -> CallFailed:
        """Return the failure for an HTTP error status."""
        kind = f"HTTP {status}"
        if status < 400:
            reason = f"HTTP {status}: the endpoint redirects elsewhere, which is not followed"
            return RejectedCall(reason, kind=kind, request_only=False)
        error = self.error_in(content)
        reason = with_raw(f"HTTP {status}: {one_line(self.scrub(content), 300)}".rstrip(": "), error)
        return failure_of(status, reason, kind=kind, error=error, wait=wait_of(status, headers, error))

    def error_in(self, content: str) -> ErrorDetails:
        """Return the error in the body of an HTTP error."""
        try:
            return error_of(self._read(content))
        except RejectedCall:  # not JSON
            return ErrorDetails(message=self.scrub(content))


async def read_bounded(body: aiohttp.StreamReader, most: int) -> str:
    """Read an answer to its end.

    Raises: RejectedCall if it has more than `most` bytes.
    """
    content = bytearray()
    while chunk := await body.readany():
        content += chunk
        if len(content) > most:
            raise RejectedCall(f"the answer is longer than {most // 2**20:,} MB")
    return content.decode("utf-8", "replace")


class Secrets:
    """Secrets to scrub from answers: the endpoint's key, and header values from the environment."""

    def __init__(self, values: Iterable[str]) -> None:
        self.values = [value for value in values if value]
        self.echoes = [(echo_of(value), loose_echo_of(value)) for value in self.values]

    def scrub(self, text: str) -> str:
        """Replace every secret in a text, and what databases reject."""
        text = storable(text)
        for exact, _ in self.echoes:
            text = exact.sub("[key]", text)
        return text

    def is_clean(self, content: str) -> bool:
        """Tell whether nothing in a JSON document can need scrubbing; cheaper than scrubbing each string."""
        if "\\u" in content or "\x00" in content:
            return False
        return not any(loose.search(content) for _, loose in self.echoes)


def echo_of(secret: str) -> re.Pattern[str]:
    """Match a secret verbatim and as JSON may escape it, also in nested JSON: `\\/`, `\\u0073`."""
    return re.compile(
        "".join(rf"(?:\\{{0,4}}{re.escape(character)}|\\{{1,4}}u(?i:{ord(character):04x}))" for character in secret)
    )


def loose_echo_of(secret: str) -> re.Pattern[str]:
    """Match what `echo_of` could match once JSON without `\\u` is parsed: each nesting level doubles backslashes."""
    return re.compile("".join(rf"\\*{re.escape(character)}" for character in secret))


def id_in(record: Any) -> str:
    """Return the id in a provider's record of a file or a batch.

    Raises: RejectedCall
    """
    return checked_provider_id(record.get("id") if isinstance(record, dict) else None)


def checked_provider_id(name: object) -> str:
    """Return a provider's id if it is safe within a URL path.

    Raises: RejectedCall
    """
    if not isinstance(name, str) or not PROVIDER_ID.fullmatch(name):
        raise RejectedCall(f"not a name of a file or a batch: {one_line(str(name), 200)}")
    return name


def compact_json(body: Any) -> str:
    """Serialise a request's body."""
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
