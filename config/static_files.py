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
ACCEPTS_GZIP = re.compile(r"\bgzip\b")


class CompressedFile:
    """A static file that goes out gzipped to whoever takes it so, and as it is to everybody else."""

    def __init__(self, plain: StaticFile, path: str) -> None:
        """Wrap a file that WhiteNoise found at `path`."""
        self.plain = plain
        self.path = path

    @cached_property
    def gzipped(self) -> bytes:
        """The whole file, compressed: a few milliseconds, once."""
        return gzip.compress(Path(self.path).read_bytes(), mtime=0)

    def get_response(self, method: str, request_headers: dict[str, Any]) -> Response:
        """Answer a request; one for a part of the file, or with a copy that is still good, is WhiteNoise's alone."""
        response: Response = self.plain.get_response(method, request_headers)
        headers = [*response.headers, ("Vary", "Accept-Encoding")]
        accepted = ACCEPTS_GZIP.search(request_headers.get("HTTP_ACCEPT_ENCODING", ""))
        if response.status != HTTPStatus.OK or response.file is None or not accepted:
            return Response(response.status, headers, response.file)
        response.file.close()
        headers = [(name, value) for name, value in headers if name != "Content-Length"]
        headers += [("Content-Encoding", "gzip"), ("Content-Length", str(len(self.gzipped)))]
        return Response(HTTPStatus.OK, headers, BytesIO(self.gzipped))


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
