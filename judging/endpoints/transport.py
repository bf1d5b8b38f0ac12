"""Connections to endpoints: checked addresses, a proxy, time-outs, and a bound on answers. Only here `aiohttp` is used.

The `openai` library's own aiohttp transport offers none of the first, nor the last.
"""

import ipaddress
import socket
from collections.abc import Collection
from functools import lru_cache
from typing import Any

import aiohttp
import httpx2
from aiohttp.abc import ResolveResult
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.resolver import ThreadedResolver

from annotation.core.reasons import reason
from annotation.core.tls import tls_context
from judging.core.errors import RejectedCall, TransientFailure
from judging.endpoints.hosts import check_addresses

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
        sent = self._connections().request(
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
                content = await read_bounded(answer.content, limit)
        except aiohttp.ConnectionTimeoutError:
            why = reason("no_connection_within", seconds=timeout["connect"])
            raise TransientFailure(why, kind="no connection") from None
        headers = [(name, value) for name, value in answer.headers.items() if name.lower() not in DROPPED_HEADERS]
        return httpx2.Response(answer.status, headers=headers, content=content, request=request)

    def _connections(self) -> aiohttp.ClientSession:
        """Return the session of all requests, made in the loop that uses it."""
        if self._session is None:
            connector = aiohttp.TCPConnector(
                ssl=tls_context(), limit=0, keepalive_timeout=IDLE_SECONDS, resolver=CheckedResolver(self.allowlist)
            )
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        return self._session

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()


@lru_cache(maxsize=100)
def parsed_url(url: str) -> httpx2.URL:
    """Parse a URL."""
    return httpx2.URL(url)


async def read_bounded(body: aiohttp.StreamReader, limit: int) -> bytes:
    """Read an answer to its end.

    Raises: RejectedCall if it has more than `limit` bytes.
    """
    content = bytearray()
    while chunk := await body.readany():
        content += chunk
        if len(content) > limit:
            raise RejectedCall(reason("response_too_large", number=limit // 2**20))
    return bytes(content)
