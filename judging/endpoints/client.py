"""The HTTP client for language models, and the only importer of `openai`.

Web workers never import this module: it costs some 100 MB.
"""

import asyncio
import ipaddress
import math
import re
import socket
import time
from collections.abc import Awaitable, Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol, TypeVar

import aiohttp
import openai
from aiohttp.abc import ResolveResult
from aiohttp.resolver import ThreadedResolver
from django.conf import settings
from httpx2 import Response
from openai import DEFAULT_CONNECTION_LIMITS, AsyncOpenAI, DefaultAioHttpClient
from openai._vendor.httpx_aiohttp import AiohttpTransport

from annotation.core.tls import tls_context
from judging.core.errors import CallFailed, EndpointRefused, RejectedCall, TransientFailure
from judging.endpoints.chat_answers import (
    ChatAnswer,
    Scrub,
    failure_of,
    is_filtered,
    one_line,
    parse_json,
    read_answer,
    scrub_json,
    storable,
)
from judging.endpoints.credentials import headers_of, key_of
from judging.endpoints.hosts import check_addresses, split_url
from judging.models import Endpoint

DENIED_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
FILE_SECONDS = 600.0  # for a file of thousands of requests or answers
UPLOAD_NAME = "requests.jsonl"
T = TypeVar("T")
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


class CheckedTransport(AiohttpTransport):
    """Connects through `CheckedResolver`."""

    def get_client(self) -> aiohttp.ClientSession:
        """Open the session for all calls."""
        connector = aiohttp.TCPConnector(
            ssl=self.ssl_context,
            limit=self.limits.max_connections or 0,
            keepalive_timeout=self.limits.keepalive_expiry,
            resolver=CheckedResolver(),
        )
        return aiohttp.ClientSession(connector=connector)


class OpenAIClient:
    """A client of any OpenAI-compatible endpoint. It doesn't retry or follow redirects, and scrubs secrets from answers."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.timeout = endpoint.timeout_seconds
        self.host = split_url(endpoint.base_url).hostname or ""
        key = key_of(endpoint)
        headers, secrets = headers_of(endpoint)
        self.secrets = Secrets([key, *secrets] if key else secrets)
        # No redirect and no proxy from the environment: they could lead to an unchecked host.
        http_client = DefaultAioHttpClient(
            follow_redirects=False,
            trust_env=False,
            timeout=self.timeout,
            transport=CheckedTransport(verify=tls_context(), trust_env=False, limits=DEFAULT_CONNECTION_LIMITS),
        )
        self.client = AsyncOpenAI(
            base_url=endpoint.base_url,
            api_key=key or "none",
            organization="",
            project="",
            max_retries=0,
            timeout=self.timeout,
            http_client=http_client,
        )
        # Not `default_headers`: the library adds headers from the environment to those, for any host.
        self.client._custom_headers = headers  # noqa: SLF001  # there is no other way

    async def complete(self, body: Mapping[str, Any]) -> ChatAnswer:
        """Send the body unchanged, and return the first choice."""
        started = time.monotonic()
        # Not `chat.completions.create`: with many calls in flight, its validation takes a third of the time.
        response = await self._exchange(self.client.post("/chat/completions", cast_to=Response, body=dict(body)))
        content = response.content.decode("utf-8", "replace")
        return read_answer(content, latency_ms=(time.monotonic() - started) * 1000, scrub=self.scrubber(content))

    async def embeddings(self, body: Mapping[str, Any]) -> Any:
        """Return the endpoint's embeddings of some texts, unparsed."""
        return self._read(await self._exchange(self.client.post("/embeddings", cast_to=Response, body=dict(body))))

    async def upload(self, content: bytes) -> str:
        """Upload a batch's file of requests; returns the provider's id of the file."""
        files = self.client.files.with_raw_response
        sent = files.create(file=(UPLOAD_NAME, content), purpose="batch", timeout=FILE_SECONDS)
        response = await self._exchange(sent, seconds=FILE_SECONDS)
        return id_in(self._read(response.http_response))

    async def download(self, file: str) -> str:
        """Return a file of answers; its texts still have to be scrubbed."""
        files = self.client.files.with_raw_response
        sent = files.content(checked_provider_id(file), timeout=FILE_SECONDS)
        response = await self._exchange(sent, seconds=FILE_SECONDS)
        content: bytes = response.http_response.content
        return content.decode("utf-8", "replace")

    async def create_batch(self, file: str, metadata: Mapping[str, str]) -> Any:
        """Create a batch from an uploaded file; returns the provider's record of it."""
        body = {
            "input_file_id": file,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": dict(metadata),
        }
        return self._read(await self._exchange(self.client.post("/batches", cast_to=Response, body=body)))

    async def batch(self, batch: str) -> Any:
        """Return the provider's record of a batch."""
        return self._read(
            await self._exchange(self.client.get(f"/batches/{checked_provider_id(batch)}", cast_to=Response))
        )

    async def cancel_batch(self, batch: str) -> Any:
        """Ask the provider to cancel a batch."""
        path = f"/batches/{checked_provider_id(batch)}/cancel"
        return self._read(await self._exchange(self.client.post(path, cast_to=Response, body={})))

    async def batches(self) -> list[Any]:
        """Return the provider's records of the last batches, newest first."""
        sent = self.client.get("/batches", cast_to=Response, options={"params": {"limit": 100}})
        listed = self._read(await self._exchange(sent))
        data = listed.get("data") if isinstance(listed, dict) else None
        return data if isinstance(data, list) else []

    async def _exchange(self, sent: Awaitable[T], *, seconds: float | None = None) -> T:
        """Await a response, and translate errors.

        Raises: CallFailed
        """
        try:
            # The library's own time-out restarts with every byte received.
            async with asyncio.timeout(seconds or self.timeout):
                return await sent
        except openai.APIStatusError as error:
            raise self.status_failure(error) from None
        except (TimeoutError, openai.APIConnectionError, aiohttp.ClientError) as error:
            if isinstance(error.__cause__, EndpointRefused):
                raise error.__cause__ from None
            raise self.connection_failure(error, seconds or self.timeout) from None

    def _read(self, response: Response) -> Any:
        """Parse a JSON response and scrub secrets from it.

        Raises: RejectedCall if it isn't JSON.
        """
        content = response.content.decode("utf-8", "replace")
        try:
            return scrub_json(parse_json(content), self.scrub)
        except (ValueError, RecursionError):
            raise RejectedCall(f"not JSON: {one_line(self.scrub(content), 200)}") from None

    async def close(self) -> None:
        """Give the connections back."""
        await self.client.close()

    def scrub(self, text: str) -> str:
        """Remove secrets that the endpoint may have echoed, and characters that can't be stored."""
        return self.secrets.scrub(text)

    def scrubber(self, content: str) -> Scrub | None:
        """Return the scrubber for an answer's texts; `None` if nothing in it can need scrubbing."""
        return None if self.secrets.is_clean(content) else self.scrub

    def connection_failure(self, error: BaseException, seconds: float) -> TransientFailure:
        """Describe a connection error in one line: with the cause, which the library hides, but without the address."""
        cause = error.__cause__.__cause__ if error.__cause__ and error.__cause__.__cause__ else error.__cause__
        if isinstance(error, TimeoutError) or isinstance(cause, TimeoutError):
            return TransientFailure(f"no answer within {seconds:g} s", kind="time-out")
        detail = SOCKET_ADDRESS.sub(
            "[address]", self.scrub(f"{type(cause).__name__}: {cause}" if cause else str(error))
        )
        detail = re.sub(re.escape(self.host), "[host]", detail, flags=re.IGNORECASE)
        return TransientFailure(f"no connection: {one_line(detail, 200)}", kind="no connection")

    def status_failure(self, error: openai.APIStatusError) -> CallFailed:
        """Return the failure for an HTTP error status."""
        status, text = error.status_code, self.scrub(error.response.text)
        kind = f"HTTP {status}"
        if 300 <= status < 400:
            reason = f"HTTP {status}: the endpoint redirects elsewhere, which is not followed"
            return RejectedCall(reason, kind=kind, request_only=False)
        return failure_of(
            status,
            f"HTTP {status}: {one_line(text, 300)}".rstrip(": "),
            kind=kind,
            retry_after=retry_after(error.response.headers),
            filtered=is_filtered(text),
            out=str(error.code) in DENIED_CODES,
        )


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


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Parse Retry-After, in seconds or as a date; `None` if it is missing or invalid."""
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            at = parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return None if math.isnan(seconds) else max(0.0, seconds)  # "nan" is a number too
