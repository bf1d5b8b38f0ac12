"""The client of language models' endpoints: the official `openai` library, its answers read by `chat_answers.py`.

Web workers never import this module. Only here `aiohttp` is used, for what the library's own transport over it lacks:
checked addresses, and a bound on answers.
"""

import ipaddress
import re
import socket
import time
from collections.abc import Awaitable, Collection, Mapping
from functools import lru_cache
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

import aiohttp
import httpx2
import openai
from aiohttp.abc import ResolveResult
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.resolver import ThreadedResolver
from django.conf import settings
from openai import RequestOptions, omit

from annotation.core.http import tls_context
from annotation.core.reasons import reason
from annotation.core.version import VERSION
from judging.core.errors import CallFailed, RejectedCall, TransientFailure
from judging.endpoints.chat_answers import (
    ChatAnswer,
    Secrets,
    a_stream,
    one_line,
    parse_json,
    read_answer,
    scrub_json,
    with_raw,
)
from judging.endpoints.checks import check_addresses, headers_of, key_of, proxy_of
from judging.endpoints.failures import ErrorDetails, error_of, failure_of, wait_of
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
MAX_ANSWER, MAX_FILE = 64 * 2**20, 1024 * 2**20  # bytes, unpacked: an endpoint may answer without an end
FILE_PATH = "/content"  # end of the path of a file's content
IDLE_SECONDS = 5.0  # of a connection that is kept: many servers close theirs soon after
CONNECTION_ERRORS = (TimeoutError, aiohttp.ClientError, HttpProcessingError, OSError, httpx2.HTTPError)
# Set anew by the client, or without meaning for it.
DROPPED_HEADERS = frozenset({"content-encoding", "content-length", "set-cookie", "transfer-encoding"})


class CheckedResolver(ThreadedResolver):
    """Resolves to allowed addresses only: DNS may have changed since the endpoint was checked."""

    def __init__(self, allowlist: Collection[str]) -> None:
        super().__init__()
        self.allowlist = allowlist

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Resolve a host.

        Raises: EndpointRefused
        """
        results = await super().resolve(host, port, family)
        addresses = [ipaddress.ip_address(result["host"].partition("%")[0]) for result in results]
        check_addresses(host, addresses, allowlist=self.allowlist)
        return results


class CheckedClient(httpx2.AsyncClient):
    """Sends requests to allowed addresses, or to a proxy, without following redirects or keeping cookies.

    What httpx2 does to a request (merging headers and cookies, authentication, redirects) is left out: it takes a fifth of
    the processor time of a call.

    names     : of the headers to send, in lower case; the library reads further ones from the environment
    allowlist : hosts and addresses that are allowed though they aren't public
    """

    def __init__(self, *, names: Collection[str], allowlist: Collection[str], proxy: str | None = None) -> None:
        super().__init__(transport=httpx2.AsyncBaseTransport(), trust_env=False)
        self.names = frozenset(name.encode() for name in names)
        self.allowlist = allowlist
        self.proxy = proxy
        self._session: aiohttp.ClientSession | None = None

    def build_request(self, method: str, url: httpx2.URL | str, **options: Any) -> httpx2.Request:
        """Return a request as the library describes it."""
        if (content := options.pop("content", None)) is not None:
            options["stream"] = httpx2.ByteStream(content)  # by itself, a request would add headers that aren't sent
        extensions = {"timeout": options.pop("timeout").as_dict()}
        return httpx2.Request(method, parsed_url(str(url)), extensions=extensions, **options)

    async def send(self, request: httpx2.Request, **_: Any) -> httpx2.Response:
        """Send a request and read the whole answer.

        Raises: RejectedCall if it is too long; TransientFailure without a connection in time; EndpointRefused;
        CONNECTION_ERRORS
        """
        timeout = request.extensions["timeout"]
        if self._session is None:  # made in the loop that uses it
            connector = aiohttp.TCPConnector(
                ssl=tls_context(), limit=0, keepalive_timeout=IDLE_SECONDS, resolver=CheckedResolver(self.allowlist)
            )
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        sent = self._session.request(
            request.method,
            str(request.url),
            headers=[(n.decode(), value.decode()) for n, value in request.headers.raw if n.lower() in self.names],
            data=await request.aread(),
            allow_redirects=False,
            proxy=self.proxy,
            timeout=aiohttp.ClientTimeout(total=timeout["read"], connect=timeout["connect"]),
        )
        limit = MAX_FILE if request.url.path.endswith(FILE_PATH) else MAX_ANSWER
        try:
            async with sent as answer:
                content = bytearray()
                while chunk := await answer.content.readany():
                    content += chunk
                    if len(content) > limit:
                        raise RejectedCall(reason("response_too_large", number=limit // 2**20))
        except aiohttp.ConnectionTimeoutError:
            why = reason("no_connection_within", seconds=timeout["connect"])
            raise TransientFailure(why, kind="no connection") from None
        headers = [(name, value) for name, value in answer.headers.items() if name.lower() not in DROPPED_HEADERS]
        return httpx2.Response(answer.status, headers=headers, content=bytes(content), request=request)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()


@lru_cache(maxsize=100)
def parsed_url(url: str) -> httpx2.URL:
    """Parse a URL."""
    return httpx2.URL(url)


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
        scrub = None if self.secrets.is_clean(content) else self.scrub
        return read_answer(content, latency_ms=(time.monotonic() - started) * 1000, scrub=scrub)

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
        try:
            error = error_of(self._read(content))
        except RejectedCall:  # not JSON
            error = ErrorDetails(message=self.scrub(content))
        text = one_line(self.scrub(content), 300).rstrip(": ")
        why = reason("http_error", status=status, text=text) if text else reason("http_status", status=status)
        return failure_of(status, with_raw(why, error), kind=kind, error=error, wait=wait_of(status, headers, error))


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
