"""Static files on the wire: compressed once a process, in memory, when somebody first asks for them."""

import gzip
import re
from functools import cached_property
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from typing import Any

from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import Response, StaticFile

COMPRESSIBLE = re.compile(r"\.(css|html|js|json|map|md|svg|txt|xml)$")
TAG = re.compile(r'(?:W/)?("[^"]*")|(\*)')


def takes_gzip(accepted: str) -> bool:
    """Tell whether an Accept-Encoding names gzip, and not with `q=0`, which asks for anything but that."""
    for coding in accepted.split(","):
        name, *parameters = (part.strip().lower() for part in coding.split(";"))
        if name == "gzip":
            weights = [value for key, _, value in (one.partition("=") for one in parameters) if key.strip() == "q"]
            return not weights or re.fullmatch(r"0?\.\d*[1-9]\d*|1(\.0*)?", weights[0].strip()) is not None
    return False


class CompressedFile:
    """A static file that goes out gzipped to whoever takes it so, and as it is to everybody else.

    The two have ETags of their own: a cache that holds one must not hand it out, or go on with a part of it, as the
    other.
    """

    def __init__(self, plain: StaticFile, path: str) -> None:
        """Wrap a file that WhiteNoise found at `path`."""
        self.plain = plain
        self.path = path

    @cached_property
    def gzipped(self) -> bytes:
        """The whole file, compressed: a few milliseconds, once."""
        return gzip.compress(Path(self.path).read_bytes(), mtime=0)

    def get_response(self, method: str, request_headers: dict[str, Any]) -> Response:
        """Answer a request; one for a part of the file is WhiteNoise's alone."""
        packs = takes_gzip(request_headers.get("HTTP_ACCEPT_ENCODING", "")) and "HTTP_RANGE" not in request_headers
        tag = f'{self.plain.etag[:-1]}-gzip"' if packs else self.plain.etag
        response: Response = self.plain.get_response(method, self._as_known(request_headers, tag))
        headers = [(name, tag if name == "ETag" else value) for name, value in response.headers]
        headers.append(("Vary", "Accept-Encoding"))
        if response.status != HTTPStatus.OK or not packs:
            return Response(response.status, headers, response.file)
        headers = [(name, value) for name, value in headers if name != "Content-Length"]
        headers += [("Content-Encoding", "gzip"), ("Content-Length", str(len(self.gzipped)))]
        if response.file is None:  # HEAD
            return Response(HTTPStatus.OK, headers, None)
        response.file.close()
        return Response(HTTPStatus.OK, headers, BytesIO(self.gzipped))

    def _as_known(self, request_headers: dict[str, Any], tag: str) -> dict[str, Any]:
        """Put If-None-Match into words that WhiteNoise knows: its own ETag when the copy is the one that would be sent."""
        said = request_headers.get("HTTP_IF_NONE_MATCH")
        if said is None:
            return request_headers
        good = any(found[1] == tag or found[2] for found in TAG.finditer(said))
        return {**request_headers, "HTTP_IF_NONE_MATCH": self.plain.etag if good else ""}


class CompressingWhiteNoise(WhiteNoiseMiddleware):
    """WhiteNoise, which compresses what it finds in the folders of a clone.

    By itself it sends a compressed file only where one lies beside the original. Those would have to be collected at
    every start (half a second, and a second copy of every file, which goes stale when a file is changed), or be kept
    in the repository. Django's GZipMiddleware above it would compress for every browser again, and weaken ETags,
    which WhiteNoise then no longer knows: no browser would ever be told that its copy is still good.
    """

    def get_static_file(self, path: str, url: str, stat_cache: Any = None) -> StaticFile | CompressedFile:
        """Return what answers requests for the file at `path`."""
        found = super().get_static_file(path, url, stat_cache=stat_cache)
        return CompressedFile(found, path) if COMPRESSIBLE.search(path) else found
