"""Take the pictures of the README and the docs from a running demo, in headless Chromium.

    make screenshots

It makes a database of its own, serves it on a free port, rates half a HIT, and writes docs/images/*.png.
"""

import os
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.find_chromium import find_chromium

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 360, "height": 740}


@contextmanager
def demo() -> Iterator[tuple[str, dict[str, str]]]:
    """Serve a fresh example study; yields its address and the login links by role."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "TANDEM_DATA_DIR": folder, "LOG_LEVEL": "WARNING"}
        env.pop("DATABASE_URL", None)
        manage = [sys.executable, "manage.py"]
        said = subprocess.run(
            [*manage, "demo", "--no-serve", "--port", str(port)],
            cwd=ROOT, env=env, check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
        links = dict(line.split() for line in said.splitlines() if "/login/link/" in line)
        server = subprocess.Popen(
            [*manage, "runserver", "--noreload", f"127.0.0.1:{port}"],
            cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            wait_for(f"http://localhost:{port}/healthz", server)
            yield f"http://localhost:{port}", links
        finally:
            server.terminate()
            server.wait()


def wait_for(address: str, server: "subprocess.Popen[bytes]") -> None:
    """Return when the server answers; fail when it has ended."""
    while server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            continue
    raise SystemExit(f"the server ended with status {server.returncode}")


def open_page(browser: Browser, link: str, **options: object) -> Page:
    """Open a page signed in by a link."""
    page = browser.new_context(**options).new_page()  # type: ignore[arg-type]
    page.goto(link)
    return page


def half_rated(page: Page) -> None:
    """Consent and rate two pairs."""
    page.get_by_role("button", name="I agree, begin").click()
    for place, choice in enumerate(("left", "none")):
        pair = page.locator("form[data-pair]").nth(place)
        pair.locator(f"input[value={choice}]").check()
        expect(pair.locator(".saved")).to_contain_text("Saved at")
    page.evaluate("window.scrollTo(0, 0)")


def main() -> None:
    """Take every picture."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with demo() as (address, links), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM)
        rater = open_page(browser, links["annotator"], viewport=DESKTOP)
        half_rated(rater)
        rater.screenshot(path=IMAGES / "rating.png")
        state = rater.context.storage_state()
        for name, options in {
            "rating-dark": {"viewport": DESKTOP, "color_scheme": "dark"},
            "rating-phone": {"viewport": PHONE},
        }.items():
            open_page(browser, f"{address}/rate/", storage_state=state, **options).screenshot(
                path=IMAGES / f"{name}.png"
            )
        reader = open_page(browser, links["researcher"], viewport={"width": 1280, "height": 1300})
        reader.goto(f"{address}/studies/example/findings/", wait_until="networkidle")
        reader.locator("section").first.evaluate("section => section.scrollIntoView()")
        reader.screenshot(path=IMAGES / "findings.png")
        browser.close()


if __name__ == "__main__":
    main()
