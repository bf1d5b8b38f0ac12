"""The one place that talks to language models, and the only importer of `openai`.

Web workers never import this module: it costs them some 100 MB.
"""

import asyncio
import ipaddress
import json
import re
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

import aiohttp
import openai
from aiohttp.abc import ResolveResult
from aiohttp.resolver import ThreadedResolver
from django.conf import settings
from openai import DEFAULT_CONNECTION_LIMITS, AsyncOpenAI, DefaultAioHttpClient
from openai._vendor.httpx_aiohttp import AiohttpTransport

from judging.errors import AccessDenied, BadSettings, EndpointRefused, RejectedCall, TransientFailure
from judging.hosts import check_addresses, split_url
from judging.models import Endpoint

TRANSIENT_STATUSES = frozenset({408, 409, 425, 429})
DENIED_STATUSES = frozenset({401, 402, 403})
DENIED_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
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
    """Any OpenAI-compatible endpoint. It neither retries nor follows redirects; its key never leaves it."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.timeout = endpoint.timeout_seconds
        self.host = split_url(endpoint.base_url).hostname or ""
        self.key = key_of(endpoint)
        self.echo = echo_of(self.key) if self.key else None
        # Neither a redirect nor a proxy from the environment may lead to a host that was not checked.
        http_client = DefaultAioHttpClient(
            follow_redirects=False,
            trust_env=False,
            timeout=self.timeout,
            transport=CheckedTransport(trust_env=False, limits=DEFAULT_CONNECTION_LIMITS),
        )
        self.client = AsyncOpenAI(
            base_url=endpoint.base_url,
            api_key=self.key or "none",
            organization="",
            project="",
            max_retries=0,
            timeout=self.timeout,
            http_client=http_client,
        )

    async def complete(self, body: Mapping[str, Any]) -> Answer:
        """Send the body, neither more nor less, and read the first choice."""
        rest = {name: value for name, value in body.items() if name not in ("model", "messages")}
        started = time.monotonic()
        try:
            # The library's own time-out starts again with every byte that arrives.
            async with asyncio.timeout(self.timeout):
                raw = await self.client.chat.completions.with_raw_response.create(
                    model=body["model"], messages=body["messages"], extra_body=rest
                )
            content = raw.http_response.content.decode("utf-8", "replace")
        except openai.APIStatusError as error:
            raise self.status_failure(error) from None
        except (TimeoutError, openai.APIConnectionError, aiohttp.ClientError) as error:
            if isinstance(error.__cause__, EndpointRefused):
                raise error.__cause__ from None
            raise TransientFailure(self.connection_reason(error)) from None
        return read_answer(content, latency_ms=(time.monotonic() - started) * 1000, scrub=self.scrub)

    async def close(self) -> None:
        """Give the connections back."""
        await self.client.close()

    def scrub(self, text: str) -> str:
        """Take the key out of a text that the endpoint may have echoed, and what can't be stored."""
        text = storable(text)
        return self.echo.sub("[key]", text) if self.echo else text

    def connection_reason(self, error: BaseException) -> str:
        """Say in one line why no answer came: the library's own words hide the cause, and this hides the address."""
        cause = error.__cause__.__cause__ if error.__cause__ and error.__cause__.__cause__ else error.__cause__
        if isinstance(error, TimeoutError) or isinstance(cause, TimeoutError):
            return f"no answer within {self.timeout:g} s"
        detail = SOCKET_ADDRESS.sub(
            "[address]", self.scrub(f"{type(cause).__name__}: {cause}" if cause else str(error))
        )
        detail = re.sub(re.escape(self.host), "[host]", detail, flags=re.IGNORECASE)
        return f"no connection: {one_line(detail, 200)}"

    def status_failure(self, error: openai.APIStatusError) -> TransientFailure | RejectedCall | AccessDenied:
        """Say what an HTTP status means for this call and for those after it."""
        status = error.status_code
        reason = f"HTTP {status}: {one_line(self.scrub(error.response.text), 300)}".rstrip(": ")
        if status in DENIED_STATUSES or str(error.code) in DENIED_CODES:
            return AccessDenied(reason)
        if status in TRANSIENT_STATUSES or status >= 500:
            return TransientFailure(reason, retry_after=retry_after(error.response.headers))
        if 300 <= status < 400:
            return RejectedCall(f"HTTP {status}: the endpoint redirects elsewhere, which is not followed")
        return RejectedCall(reason)


def key_of(endpoint: Endpoint) -> str | None:
    """Return the endpoint's key from the environment.

    Raises: BadSettings if the variable that should hold it is not set.
    """
    if not endpoint.key_env:
        return None
    key = settings.ENDPOINT_KEY(endpoint.key_env)
    if key is None:
        raise BadSettings(f"endpoint {endpoint.name} takes its key from {endpoint.key_env}, which is not set here")
    return key


def echo_of(key: str) -> re.Pattern[str]:
    """Match a key as it is and as JSON may write it, also in JSON within JSON: `\\/`, `\\u0073`."""
    return re.compile(
        "".join(rf"(?:\\{{0,4}}{re.escape(character)}|\\{{1,4}}u(?i:{ord(character):04x}))" for character in key)
    )


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


def read_answer(content: str, *, latency_ms: float | None = None, scrub: Callable[[str], str] = storable) -> Answer:
    """Read a chat completion's JSON; `scrub` goes over every text in it.

    Raises: TransientFailure if it isn't one: a proxy's page or a cut body, which may come right next time.
    """
    try:
        response = scrubbed(json.loads(content), scrub)
        choice = response["choices"][0]
        message = choice["message"]
        text = message.get("content") or ""
        finish_reason = choice.get("finish_reason") or ""
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise no_completion(scrub(content)) from None
    if not isinstance(text, str) or not isinstance(finish_reason, str):
        raise no_completion(scrub(content))
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
    return TransientFailure(f"not a chat completion: {one_line(content, 200)}")


def scrubbed(value: Any, scrub: Callable[[str], str]) -> Any:
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
