"""What a rating page costs on the wire: bytes and requests, from the server that people use."""

import gzip
import http.client
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from annotation.models import Batch
from tests.browser import walk
from tests.browser.real_server import RealServer
from tests.browser.realistic import realistic_batch

OpenAt = Callable[..., Page]

MOST_BYTES = 66_000
MOST_REQUESTS = 8


@pytest.fixture
def batch(transactional_db: None) -> Batch:
    """One HIT of five pairs, with guidelines as long as real ones."""
    guidelines = "Read the source first.\n\n" + "- Prefer the text that says what matters, and nothing else.\n" * 8
    return realistic_batch(guidelines=guidelines, contact="study@example.org")


@dataclass
class Wire:
    """What a page's browser asks for, and how many bytes come back, headers included."""

    urls: list[str] = field(default_factory=list)
    received: float = 0.0

    def listen(self, page: Page) -> None:
        """Count from now on."""
        network = page.context.new_cdp_session(page)
        network.send("Network.enable")
        network.on("Network.requestWillBeSent", self._ask)
        network.on("Network.loadingFinished", self._add)

    def _ask(self, event: dict[str, Any]) -> None:
        if not event["request"]["url"].startswith("data:"):  # a picture inside a style sheet
            self.urls.append(event["request"]["url"])

    def _add(self, event: dict[str, float]) -> None:
        self.received += event["encodedDataLength"]


def test_a_rating_page_keeps_to_its_budget(
    open_at: OpenAt, chromium: Browser, real_server: RealServer, batch: Batch
) -> None:
    hit = walk.begin(open_at(real_server.url, "ann", "annotator"))
    # Signed in, and nothing in its cache.
    fresh = walk.open_context(chromium, storage_state=hit.context.storage_state())
    page, first, later = fresh.new_page(), Wire(), Wire()
    with walk.step("the first visit"):
        first.listen(page)
        page.goto(hit.url, wait_until="networkidle")
        assert page.locator("form[data-pair]").count() == 5
        icons = page.locator("link[rel~=icon]:not([href^='data:'])").evaluate_all(
            "links => links.map(link => link.href)"
        )
        assert 10_000 < first.received <= MOST_BYTES  # the least says that it was counted at all
        assert len({*first.urls, *icons}) <= MOST_REQUESTS, first.urls  # a headless browser may leave the icon out
        assert [url for url in first.urls if not url.startswith(real_server.url)] == []
    with walk.step("the next one loads only the page itself"):
        later.listen(page)
        page.goto(page.url, wait_until="networkidle")
        assert 1_000 < later.received < MOST_BYTES / 3
    fresh.close()


def get(server: RealServer, path: str, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    """Ask the server as it is, without a client that unpacks answers."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response, body


def static_paths(server: RealServer) -> list[str]:
    """Return the addresses of the style sheets and scripts that every page names."""
    _, page = get(server, "/login/")
    return re.findall(r'(?:href|src)="(/static/[^"]+\.(?:css|js))"', page.decode())


def test_pages_and_static_files_are_compressed_and_kept(real_server: RealServer) -> None:
    paths = static_paths(real_server)
    assert len(paths) >= 3
    for path in ("/login/", *paths):
        plain, body = get(real_server, path)
        packed, smaller = get(real_server, path, Accept_Encoding="gzip, deflate, br")
        assert (plain.status, plain.headers["Content-Encoding"]) == (200, None)
        assert packed.headers["Content-Encoding"] == "gzip"
        assert "Accept-Encoding" in plain.headers["Vary"]
        assert "Accept-Encoding" in packed.headers["Vary"]
        assert len(smaller) < len(body)
        assert packed.headers["Content-Length"] == str(len(smaller))
        if path == "/login/":
            continue
        assert gzip.decompress(smaller) == body
        assert "immutable" in plain.headers["Cache-Control"], path
        # A compressed copy that is still good is not sent again, and a part is one of the copy that was asked for.
        again = get(real_server, path, Accept_Encoding="gzip", If_None_Match=packed.headers["ETag"])
        assert (again[0].status, again[1]) == (304, b"")
        for accepted, coding, whole in (("identity", None, body), ("gzip", "gzip", smaller)):
            part, piece = get(real_server, path, Accept_Encoding=accepted, Range="bytes=10-29")
            assert (part.status, part.headers["Content-Encoding"], piece) == (206, coding, whole[10:30])


def test_an_export_is_compressed_while_it_is_made(open_at: OpenAt, real_server: RealServer, batch: Batch) -> None:
    page = open_at(real_server.url, "rita", "researcher")
    page.goto(f"/studies/{batch.study.slug}/")
    cookies = "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in page.context.cookies())
    path = f"/studies/{batch.study.slug}/export/ratings.csv"
    _, plain = get(real_server, path, Cookie=cookies)
    response, packed = get(real_server, path, Cookie=cookies, Accept_Encoding="gzip")
    # Sent in chunks of a length not known before: the server began to send before the last row was made.
    assert (response.headers["Content-Encoding"], response.headers["Transfer-Encoding"]) == ("gzip", "chunked")
    assert gzip.decompress(packed) == plain
    assert plain.startswith(b"study")
