"""The one place that talks to language models, and the only importer of `openai`.

Web workers never import this module: it costs them some 100 MB.
"""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

import aiohttp
import openai
from django.conf import settings
from openai import AsyncOpenAI, DefaultAioHttpClient

from judging.errors import AccessDenied, BadSettings, RejectedCall, TransientFailure
from judging.models import Endpoint

TRANSIENT_STATUSES = frozenset({408, 409, 425, 429})
DENIED_STATUSES = frozenset({401, 402, 403})
DENIED_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})


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


class OpenAIClient:
    """Any OpenAI-compatible endpoint. It neither retries nor follows redirects; its key never leaves it."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.timeout = endpoint.timeout_seconds
        self.key = key_of(endpoint)
        # Neither a redirect nor a proxy from the environment may lead to a host that was not checked.
        http_client = DefaultAioHttpClient(follow_redirects=False, trust_env=False, timeout=self.timeout)
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
            content = self.scrub(raw.http_response.content.decode("utf-8", "replace"))
        except openai.APIStatusError as error:
            raise self.status_failure(error) from None
        except (TimeoutError, openai.APIConnectionError, aiohttp.ClientError) as error:
            raise TransientFailure(self.scrub(connection_reason(error, self.timeout))) from None
        return read_answer(content, latency_ms=(time.monotonic() - started) * 1000)

    async def close(self) -> None:
        """Give the connections back."""
        await self.client.close()

    def scrub(self, text: str) -> str:
        """Take the key out of a text that the endpoint may have echoed."""
        return text.replace(self.key, "[key]") if self.key else text

    def status_failure(self, error: openai.APIStatusError) -> TransientFailure | RejectedCall | AccessDenied:
        """Say what an HTTP status means for this call and for those after it."""
        status = error.status_code
        reason = self.scrub(f"HTTP {status}: {' '.join(error.response.text.split())[:300]}".rstrip(": "))
        if status in DENIED_STATUSES or error.code in DENIED_CODES:
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


def connection_reason(error: BaseException, timeout: float) -> str:
    """Say in one line why no answer came; the library's own words hide the cause."""
    cause = error.__cause__.__cause__ if error.__cause__ and error.__cause__.__cause__ else error.__cause__
    if isinstance(error, TimeoutError) or isinstance(cause, TimeoutError):
        return f"no answer within {timeout:g} s"
    detail = f"{type(cause).__name__}: {cause}" if cause else str(error)
    return f"no connection: {' '.join(detail.split())[:200]}"


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


def read_answer(content: str, *, latency_ms: float | None = None) -> Answer:
    """Read a chat completion's JSON.

    Raises: TransientFailure if it isn't one: a proxy's page or a cut body, which may come right next time.
    """
    try:
        response = json.loads(content)
        choice = response["choices"][0]
        message = choice["message"]
        text = message.get("content") or ""
        finish_reason = choice.get("finish_reason") or ""
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        raise TransientFailure(f"not a chat completion: {' '.join(content.split())[:200]}") from None
    if not isinstance(text, str) or not isinstance(finish_reason, str):
        raise TransientFailure(f"not a chat completion: {' '.join(content.split())[:200]}")
    usage = response.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Answer(
        text=text.replace("\x00", ""),  # PostgreSQL stores no NUL
        finish_reason=finish_reason[:40],
        response=without_nul(response),
        prompt_tokens=count(usage.get("prompt_tokens")),
        completion_tokens=count(usage.get("completion_tokens")),
        latency_ms=latency_ms,
    )


def without_nul(response: dict[str, Any]) -> dict[str, Any]:
    """Take NUL characters out of a response, which PostgreSQL refuses in JSON."""
    return json.loads(json.dumps(response).replace("\\u0000", ""))


def count(value: object) -> int | None:
    """Return a token count if it is one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None
