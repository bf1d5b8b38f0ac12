"""The client of language models' endpoints: the official `openai` library, its answers read by `chat_answers.py`.

Web workers never import this module.
"""

import re
import time
from collections.abc import Awaitable, Iterable, Mapping
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

import httpx2
import openai
from django.conf import settings
from openai import RequestOptions, omit

from annotation.core.reasons import reason
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
from judging.endpoints.hosts import proxy_of
from judging.endpoints.transport import CONNECTION_ERRORS, CheckedClient
from judging.endpoints.waits import wait_of
from judging.models import Endpoint

FILE_SECONDS = 600.0  # for a file of thousands of requests or answers
CONNECT_SECONDS = 10.0
EVENT_STREAM = "text/event-stream"
UPLOAD_NAME = "requests.jsonl"
PROVIDER_ID = re.compile(r"\w[\w.:-]{0,199}", re.ASCII)
SOCKET_ADDRESS = re.compile(r"\('[^']{0,60}', \d+[^)]{0,40}\)")
PROXY_PASSWORD = re.compile(r"//[^/\s]*@")
AZURE_PATH = re.compile(r"(.+)/openai(?:/deployments/([^/]+))?/?")

# The library's own headers, about this machine and about each call: a tenth of the client's processor time is for them.
OWN_HEADERS = ("Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Async")
WITHOUT_OWN_HEADERS = {f"X-Stainless-{name}": omit for name in OWN_HEADERS}
WITHOUT_HEADERS_OF_CALLS = {f"x-stainless-{name}": omit for name in ("retry-count", "read-timeout")}


class ChatClient(Protocol):
    """Sends requests to a model."""

    async def complete(self, body: Mapping[str, Any]) -> ChatAnswer:
        """Send a request body unchanged. Raises CallFailed."""

    async def close(self) -> None:
        """Give the connections back."""


class OpenAIClient:
    """A client of any OpenAI-compatible endpoint. It doesn't retry, and scrubs secrets from answers."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.timeout = endpoint.timeout_seconds
        urls = filter(None, [endpoint.base_url, proxy_of(endpoint.base_url)])
        self.hosts = [host for url in urls if (host := urlsplit(url).hostname)]
        key = key_of(endpoint)
        headers, secrets = headers_of(endpoint)
        self.secrets = Secrets([key, *secrets] if key else secrets)
        self._api = api_of(endpoint, key, headers)
        # A full address, and no option left out: the library would join the one and copy the others for each call.
        self._completions = "/chat/completions"
        if not isinstance(self._api, openai.AsyncAzureOpenAI):
            self._completions = f"{self._api.base_url}chat/completions"
        self._options: RequestOptions = {
            "headers": WITHOUT_HEADERS_OF_CALLS,
            "params": {},
            "max_retries": 0,
            "timeout": timeouts(self.timeout),
            "security": {"bearer_auth": True},
            "idempotency_key": "none",  # isn't sent
        }

    async def complete(self, body: Mapping[str, Any]) -> ChatAnswer:
        """Send the body unchanged, and return the first choice.

        Some proxies stream unless the request forbids it. The cache keys are those of the body without that.
        """
        started = time.monotonic()
        # The library's typed method would check the body, and take no further parameters.
        completion = self._api.post(
            self._completions,
            cast_to=httpx2.Response,
            body={**body, "stream": False},
            options=self._options,
        )
        content = await self._receive(completion)
        return read_answer(content, latency_ms=(time.monotonic() - started) * 1000, scrub=self.scrubber(content))

    async def upload(self, content: bytes) -> str:
        """Upload a batch's file of requests and return the provider's id of the file."""
        files = self._api.files.with_raw_response
        upload = files.create(file=(UPLOAD_NAME, content), purpose="batch", timeout=timeouts(FILE_SECONDS))
        return id_in(self._read(await self._receive(upload, FILE_SECONDS)))

    async def download(self, file: str) -> str:
        """Return a file of answers. Its texts still have to be scrubbed."""
        files = self._api.files.with_raw_response
        download = files.content(checked_provider_id(file), timeout=timeouts(FILE_SECONDS))
        return await self._receive(download, FILE_SECONDS)

    async def create_batch(self, file: str, metadata: Mapping[str, str]) -> Any:
        """Create a batch from an uploaded file and return the provider's record of it."""
        created = self._api.batches.with_raw_response.create(
            input_file_id=file, endpoint="/v1/chat/completions", completion_window="24h", metadata=dict(metadata)
        )
        return self._read(await self._receive(created))

    async def batch(self, batch: str) -> Any:
        """Return the provider's record of a batch."""
        batches = self._api.batches.with_raw_response
        return self._read(await self._receive(batches.retrieve(checked_provider_id(batch))))

    async def cancel_batch(self, batch: str) -> Any:
        """Ask the provider to cancel a batch."""
        batches = self._api.batches.with_raw_response
        return self._read(await self._receive(batches.cancel(checked_provider_id(batch))))

    async def batches(self) -> list[Any]:
        """Return the provider's records of the last batches, newest first."""
        listed = self._read(await self._receive(self._api.batches.with_raw_response.list(limit=100)))
        data = listed.get("data") if isinstance(listed, dict) else None
        return data if isinstance(data, list) else []

    async def _receive(self, response: Awaitable[Any], seconds: float = 0.0) -> str:
        """Return the text of a response.

        seconds : to wait for the whole answer (default: the endpoint's time-out)
        Raises: CallFailed
        """
        try:
            received = await response
        except openai.APIStatusError as error:
            refused = error.response
            raise self.status_failure(error.status_code, text_of(refused.content), refused.headers) from None
        except openai.APIConnectionError as error:
            raise self.connection_failure(error.__cause__ or error, seconds or self.timeout) from None
        except CONNECTION_ERRORS as error:
            raise self.connection_failure(error, seconds or self.timeout) from None
        if received.headers.get("content-type", "").partition(";")[0].strip().lower() == EVENT_STREAM:
            raise a_stream()
        return text_of(received.content)

    def _read(self, content: str) -> Any:
        """Parse a JSON response and scrub secrets from it.

        Raises: RejectedCall if it isn't JSON.
        """
        try:
            return scrub_json(parse_json(content), self.scrub)
        except (ValueError, RecursionError):
            raise RejectedCall(reason("response_not_json", text=one_line(self.scrub(content), 200))) from None

    async def close(self) -> None:
        """Give the connections back."""
        await self._api.close()

    def scrub(self, text: str) -> str:
        """Remove secrets that the endpoint may have echoed, and characters that can't be stored."""
        return self.secrets.scrub(text)

    def scrubber(self, content: str) -> Scrub | None:
        """Return the scrubber for an answer's texts, or `None` if nothing in it can need scrubbing."""
        return None if self.secrets.is_clean(content) else self.scrub

    def connection_failure(self, error: BaseException, seconds: float) -> TransientFailure:
        """Describe a connection error in one line, without the address."""
        if isinstance(error, TimeoutError):
            return TransientFailure(reason("no_answer_within", seconds=seconds), kind="time-out")
        detail = SOCKET_ADDRESS.sub("[address]", self.scrub(f"{type(error).__name__}: {error}"))
        detail = PROXY_PASSWORD.sub("//", detail)
        for host in self.hosts:
            detail = re.sub(re.escape(host), "[host]", detail, flags=re.IGNORECASE)
        return TransientFailure(reason("no_connection", error=one_line(detail, 200)), kind="no connection")

    def status_failure(self, status: int, content: str, headers: Mapping[str, str]) -> CallFailed:
        """Return the failure for an HTTP error status."""
        kind = f"HTTP {status}"
        if status < 400:
            return RejectedCall(reason("redirected", status=status), kind=kind, request_only=False)
        error = self.error_in(content)
        text = one_line(self.scrub(content), 300).rstrip(": ")
        why = reason("http_error", status=status, text=text) if text else reason("http_status", status=status)
        return failure_of(status, with_raw(why, error), kind=kind, error=error, wait=wait_of(status, headers, error))

    def error_in(self, content: str) -> ErrorDetails:
        """Return the error in the body of an HTTP error."""
        try:
            return error_of(self._read(content))
        except RejectedCall:  # not JSON
            return ErrorDetails(message=self.scrub(content))


def api_of(endpoint: Endpoint, key: str | None, headers: Mapping[str, str]) -> openai.AsyncOpenAI:
    """Return the library's client of an endpoint: Azure's where the base URL is one of Azure's with an `api-version`."""
    base_url, _, query = endpoint.base_url.partition("?")
    parameters = dict(parse_qsl(query, keep_blank_values=True))
    azure = AZURE_PATH.fullmatch(base_url) if "api-version" in parameters else None
    authorization = {"authorization": f"Bearer {key or 'none'}"} if azure is None else {"api-key": key} if key else {}
    sent = {"user-agent": f"Tandem/{VERSION}", **authorization, **{n.lower(): value for n, value in headers.items()}}
    proxy = proxy_of(endpoint.base_url)
    client = CheckedClient(
        names={"accept", "content-type", *sent},
        allowlist=[urlsplit(proxy).hostname or ""] if proxy else settings.ENDPOINT_ALLOWLIST,
        proxy=proxy,
    )
    options: dict[str, Any] = {
        "api_key": key or "none",
        "default_headers": {**sent, **WITHOUT_OWN_HEADERS},
        "default_query": parameters,
        "http_client": client,
        "max_retries": 0,
        "timeout": timeouts(endpoint.timeout_seconds),
    }
    if azure is not None:
        server, deployment = azure.groups()
        return openai.AsyncAzureOpenAI(
            azure_endpoint=server, azure_deployment=deployment, api_version=parameters["api-version"], **options
        )
    return openai.AsyncOpenAI(base_url=base_url, **options)


def timeouts(seconds: float) -> httpx2.Timeout:
    """Return the time-outs of a request: for its connection, and for its whole answer."""
    return httpx2.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))


def text_of(content: bytes) -> str:
    """Return an answer as text."""
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
        """Tell whether nothing in a JSON document can need scrubbing, which is cheaper than scrubbing each string."""
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
        raise RejectedCall(reason("not_provider_id", text=one_line(str(name), 200)))
    return name
