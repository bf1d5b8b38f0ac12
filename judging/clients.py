"""The one place that talks to language models, and the only importer of `openai`.

Web workers never import this module: it costs them some 100 MB.
"""

import asyncio
import ipaddress
import json
import math
import re
import socket
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
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

from judging.credentials import headers_of, key_of
from judging.errors import AccessDenied, CallFailed, EndpointRefused, RejectedCall, TransientFailure
from judging.hosts import check_addresses, split_url
from judging.models import Endpoint

TRANSIENT_STATUSES = frozenset({408, 409, 425, 429})
DENIED_STATUSES = frozenset({401, 402, 403})
DENIED_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
FILE_SECONDS = 600.0  # for a file of thousands of requests or answers
HTTP_NAME = "requests.jsonl"
T = TypeVar("T")
Scrub = Callable[[str], str]
PROVIDER_NAME = re.compile(r"\w[\w.:-]{0,199}", re.ASCII)
SOCKET_ADDRESS = re.compile(r"\('[^']{0,60}', \d+[^)]{0,40}\)")


@dataclass(frozen=True)
class Answer:
    """What came back from one call; `None` where the endpoint didn't say."""

    text: str
    finish_reason: str
    response: dict[str, Any]
    prompt_tokens: int | None
    completion_tokens: int | None
    latency_ms: float | None


class ChatClient(Protocol):
    """Puts one request to a model."""

    async def complete(self, body: Mapping[str, Any]) -> Answer:
        """Send a request body as it is; raise a `CallFailed` of the fitting kind."""

    async def close(self) -> None:
        """Give the connections back."""


class CheckedResolver(ThreadedResolver):
    """Gives only addresses that may be asked: a name may lead elsewhere than it did when its endpoint was checked."""

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
    """Connects to what `CheckedResolver` gives."""

    def get_client(self) -> aiohttp.ClientSession:
        """Open a session, once for all calls."""
        connector = aiohttp.TCPConnector(
            ssl=self.ssl_context,
            limit=self.limits.max_connections or 0,
            keepalive_timeout=self.limits.keepalive_expiry,
            resolver=CheckedResolver(),
        )
        return aiohttp.ClientSession(connector=connector)


class OpenAIClient:
    """Any OpenAI-compatible endpoint. It neither retries nor follows redirects; its secrets never leave it."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.timeout = endpoint.timeout_seconds
        self.host = split_url(endpoint.base_url).hostname or ""
        key = key_of(endpoint)
        headers, secrets = headers_of(endpoint)
        self.secrets = Secrets([key, *secrets] if key else secrets)
        # Neither a redirect nor a proxy from the environment may lead to a host that was not checked.
        http_client = DefaultAioHttpClient(
            follow_redirects=False,
            trust_env=False,
            timeout=self.timeout,
            transport=CheckedTransport(trust_env=False, limits=DEFAULT_CONNECTION_LIMITS),
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
        # Not by `default_headers`: the library adds to those what it finds in the environment, for any host.
        self.client._custom_headers = headers

    async def complete(self, body: Mapping[str, Any]) -> Answer:
        """Send the body, neither more nor less, and read the first choice."""
        started = time.monotonic()
        # Not through `chat.completions.create`: with many calls in flight, a third of the time goes into its check
        # of arguments, which looks at every part of every message.
        response = await self._exchange(self.client.post("/chat/completions", cast_to=Response, body=dict(body)))
        content = response.content.decode("utf-8", "replace")
        return read_answer(content, latency_ms=(time.monotonic() - started) * 1000, scrub=self.scrubber(content))

    async def models(self) -> Any:
        """Return the list of the endpoint's models, as it comes."""
        return self._read(await self._exchange(self.client.get("/models", cast_to=Response)))

    async def embeddings(self, body: Mapping[str, Any]) -> Any:
        """Return an endpoint's vectors for some texts, as they come."""
        return self._read(await self._exchange(self.client.post("/embeddings", cast_to=Response, body=dict(body))))

    async def upload(self, content: bytes) -> str:
        """Hand in a file of requests for a batch; returns the provider's name for it."""
        files = self.client.files.with_raw_response
        sent = files.create(file=(HTTP_NAME, content), purpose="batch", timeout=FILE_SECONDS)
        response = await self._exchange(sent, seconds=FILE_SECONDS)
        return named(self._read(response.http_response))

    async def download(self, file: str) -> str:
        """Return a file of answers, as it comes: its texts still have to be scrubbed."""
        files = self.client.files.with_raw_response
        sent = files.content(provider_name(file), timeout=FILE_SECONDS)
        response = await self._exchange(sent, seconds=FILE_SECONDS)
        content: bytes = response.http_response.content
        return content.decode("utf-8", "replace")

    async def create_batch(self, file: str, metadata: Mapping[str, str]) -> Any:
        """Have a file of requests worked on within a day; returns the provider's record of the batch."""
        body = {
            "input_file_id": file,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": dict(metadata),
        }
        return self._read(await self._exchange(self.client.post("/batches", cast_to=Response, body=body)))

    async def batch(self, batch: str) -> Any:
        """Return the provider's record of a batch."""
        return self._read(await self._exchange(self.client.get(f"/batches/{provider_name(batch)}", cast_to=Response)))

    async def cancel_batch(self, batch: str) -> Any:
        """Ask the provider to stop work on a batch."""
        path = f"/batches/{provider_name(batch)}/cancel"
        return self._read(await self._exchange(self.client.post(path, cast_to=Response, body={})))

    async def batches(self) -> list[Any]:
        """Return the provider's records of the last batches, the newest first."""
        sent = self.client.get("/batches", cast_to=Response, options={"params": {"limit": 100}})
        listed = self._read(await self._exchange(sent))
        data = listed.get("data") if isinstance(listed, dict) else None
        return data if isinstance(data, list) else []

    async def _exchange(self, sent: Awaitable[T], *, seconds: float | None = None) -> T:
        """Wait for an answer, and say what it means when there is none.

        Raises: CallFailed of the fitting kind.
        """
        try:
            # The library's own time-out starts again with every byte that arrives.
            async with asyncio.timeout(seconds or self.timeout):
                return await sent
        except openai.APIStatusError as error:
            raise self.status_failure(error) from None
        except (TimeoutError, openai.APIConnectionError, aiohttp.ClientError) as error:
            if isinstance(error.__cause__, EndpointRefused):
                raise error.__cause__ from None
            raise self.connection_failure(error, seconds or self.timeout) from None

    def _read(self, response: Response) -> Any:
        """Read an answer that is JSON; secrets in it are taken out.

        Raises: RejectedCall if it isn't JSON: what answers there is no such service.
        """
        content = response.content.decode("utf-8", "replace")
        try:
            return scrubbed(loaded(content), self.scrub)
        except (ValueError, RecursionError):
            raise RejectedCall(f"not JSON: {one_line(self.scrub(content), 200)}") from None

    async def close(self) -> None:
        """Give the connections back."""
        await self.client.close()

    def scrub(self, text: str) -> str:
        """Take secrets out of a text that the endpoint may have echoed, and what can't be stored."""
        return self.secrets.scrub(text)

    def scrubber(self, content: str) -> Scrub | None:
        """Return what has to go over every text of an answer; `None` when nothing in it can need it."""
        return None if self.secrets.is_clean(content) else self.scrub

    def connection_failure(self, error: BaseException, seconds: float) -> TransientFailure:
        """Say in one line why no answer came: the library's own words hide the cause, and this hides the address."""
        cause = error.__cause__.__cause__ if error.__cause__ and error.__cause__.__cause__ else error.__cause__
        if isinstance(error, TimeoutError) or isinstance(cause, TimeoutError):
            return TransientFailure(f"no answer within {seconds:g} s", kind="time-out")
        detail = SOCKET_ADDRESS.sub(
            "[address]", self.scrub(f"{type(cause).__name__}: {cause}" if cause else str(error))
        )
        detail = re.sub(re.escape(self.host), "[host]", detail, flags=re.IGNORECASE)
        return TransientFailure(f"no connection: {one_line(detail, 200)}", kind="no connection")

    def status_failure(self, error: openai.APIStatusError) -> CallFailed:
        """Say what an HTTP status means for this call and for those after it."""
        status = error.status_code
        kind = f"HTTP {status}"
        reason = f"HTTP {status}: {one_line(self.scrub(error.response.text), 300)}".rstrip(": ")
        if status in DENIED_STATUSES or str(error.code) in DENIED_CODES:
            return AccessDenied(reason, kind=kind)
        if status in TRANSIENT_STATUSES or status >= 500:
            wait = retry_after(error.response.headers)
            return TransientFailure(reason, retry_after=wait, throttled=status == 429, kind=kind)
        if 300 <= status < 400:
            return RejectedCall(f"HTTP {status}: the endpoint redirects elsewhere, which is not followed", kind=kind)
        return RejectedCall(reason, kind=kind)


class Secrets:
    """What must not be kept of an answer: the endpoint's key, and what its headers took from the environment."""

    def __init__(self, values: Iterable[str]) -> None:
        self.values = [value for value in values if value]
        self.echoes = [(echo_of(value), loose_echo_of(value)) for value in self.values]

    def scrub(self, text: str) -> str:
        """Take every secret out of a text, and what databases refuse."""
        text = storable(text)
        for exact, _ in self.echoes:
            text = exact.sub("[key]", text)
        return text

    def is_clean(self, content: str) -> bool:
        """Tell whether nothing in a JSON text can need scrubbing: looked at once as a whole, not text by text."""
        if "\\u" in content or "\x00" in content:
            return False
        return not any(loose.search(content) for _, loose in self.echoes)


def echo_of(secret: str) -> re.Pattern[str]:
    """Match a secret as it is and as JSON may write it, also in JSON within JSON: `\\/`, `\\u0073`."""
    return re.compile(
        "".join(rf"(?:\\{{0,4}}{re.escape(character)}|\\{{1,4}}u(?i:{ord(character):04x}))" for character in secret)
    )


def loose_echo_of(secret: str) -> re.Pattern[str]:
    """Match whatever `echo_of` could find after JSON without `\\u` was read: each layer of it doubles backslashes."""
    return re.compile("".join(rf"\\*{re.escape(character)}" for character in secret))


def named(record: Any) -> str:
    """Return the name that a provider gave to a file or a batch.

    Raises: RejectedCall if there is none.
    """
    return provider_name(record.get("id") if isinstance(record, dict) else None)


def provider_name(name: object) -> str:
    """Return a name that a provider gave, if it can stand in an address without leading elsewhere.

    Raises: RejectedCall
    """
    if not isinstance(name, str) or not PROVIDER_NAME.fullmatch(name):
        raise RejectedCall(f"not a name of a file or a batch: {one_line(str(name), 200)}")
    return name


def one_line(text: str, length: int) -> str:
    """Return the start of a text without its line ends."""
    return " ".join(text.split())[:length]


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Read Retry-After, as seconds or as a date; `None` when it is missing or makes no sense."""
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            at = parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if seconds == seconds else None  # "nan" is a number too


def storable(text: str) -> str:
    """Take out what databases refuse: NUL characters, and halves of surrogate pairs."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()


def read_answer(content: str, *, latency_ms: float | None = None, scrub: Scrub | None = storable) -> Answer:
    """Read a chat completion's JSON; `scrub` goes over every text in it, where there is need for it.

    Raises: TransientFailure if it isn't one: a proxy's page or a cut body, which may come right next time.
    """
    try:
        response = loaded(content)
        if scrub is not None:
            response = scrubbed(response, scrub)
        choice = response["choices"][0]
        message = choice["message"]
        text = message.get("content") or ""
        finish_reason = choice.get("finish_reason") or ""
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise no_completion((scrub or storable)(content)) from None
    if not isinstance(text, str) or not isinstance(finish_reason, str):
        raise no_completion((scrub or storable)(content))
    usage = response.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Answer(
        text=text,
        finish_reason=finish_reason[:40],
        response=response,
        prompt_tokens=count(usage.get("prompt_tokens")),
        completion_tokens=count(usage.get("completion_tokens")),
        latency_ms=latency_ms,
    )


def no_completion(content: str) -> TransientFailure:
    """Make the failure for a body that is something else."""
    return TransientFailure(f"not a chat completion: {one_line(content, 200)}", kind="no completion")


def loaded(content: str) -> Any:
    """Read JSON; what is written as a number and is none (NaN, Infinity, 1e999) is `None`, for no database takes it."""
    return json.loads(content, parse_constant=lambda _name: None, parse_float=finite)


def finite(digits: str) -> float | None:
    """Return a number, or `None` for one that is too large to be one."""
    value = float(digits)
    return value if math.isfinite(value) else None


def scrubbed(value: Any, scrub: Scrub) -> Any:
    """Return what JSON held with every text in it scrubbed, the names of fields too."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, list):
        return [scrubbed(entry, scrub) for entry in value]
    if isinstance(value, dict):
        return {scrub(name): scrubbed(entry, scrub) for name, entry in value.items()}
    return value


def count(value: object) -> int | None:
    """Return a token count if it is one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None
