"""Take the screenshots of the README and the docs from a running demo, in headless Chromium.

    make screenshots

Makes a new database, serves it on a free port, rates in one and in two stages, runs a judge over the tests' stand-in
for an endpoint, and writes docs/images/*.png.
"""

import os
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.find_chromium import find_chromium

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]
DESKTOP = {"width": 1280, "height": 800}
TALL = {"width": 1280, "height": 1240}
EXAMPLES = ROOT / "examples"
# A second study, for the second stage, made as in docs/howto/comparison_tables.md.
TWO_STAGES = (
    ("import_study", str(EXAMPLES / "study.jsonl"), "--study", "talks", "--task", "summarization"),
    ("import_tables", str(EXAMPLES / "tables.jsonl"), "--study", "talks"),
    ("configure_study", "talks", "protocol=two-stage", "arms=table:hand"),
    (
        *("create_batch", "talks", "--name", "main", "--dataset", "harbour_talk"),
        *("--systems", "heron-2", "magpie-1", "--pairs", "5", "--seed", "1"),
    ),
    ("grant", "second", "--role", "annotator", "--study", "talks"),
)
# A third one, with several questions, as in docs/howto/set_up_a_study.md.
CRITERIA = (
    '[{"key": "coherence", "text": "Which one is more coherent?"}, {"key": "faithfulness", "text": "Which one is more '
    'faithful to the source?", "description": "Says nothing that the source does not say."}]'
)
SEVERAL_QUESTIONS = (
    ("import_study", str(EXAMPLES / "study.jsonl"), "--study", "criteria", "--task", "summarization"),
    ("configure_study", "criteria", "strength=true", "first_reason=optional", f"criteria={CRITERIA}"),
    (
        *("create_batch", "criteria", "--name", "main", "--dataset", "harbour_talk"),
        *("--systems", "heron-2", "magpie-1", "--pairs", "2", "--seed", "1"),
    ),
    ("grant", "third", "--role", "annotator", "--study", "criteria"),
)
JUDGE = ("explains", "--method", "cot", "--endpoint", "small", "--order", "both", "--seed", "1")
PRICES = ("--price-prompt", "0.15", "--price-completion", "0.6")


@contextmanager
def demo() -> Iterator[tuple[str, dict[str, str], dict[str, str]]]:
    """Serve a new example study; yields its address, the login links by role, and the environment of commands."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "TANDEM_DATA_DIR": folder, "LOG_LEVEL": "WARNING"}
        env.pop("DATABASE_URL", None)
        printed = manage(env, "demo", "--no-serve", "--port", str(port))
        manage(env, "collectstatic", "--noinput")
        links = dict(line.split() for line in printed.splitlines() if "/login/link/" in line)
        for command in TWO_STAGES:
            manage(env, *command)
        run_judge(env)
        address = f"http://localhost:{port}"
        links["second"] = login(env, "second", address)
        server = subprocess.Popen(
            [sys.executable, "manage.py", "runserver", "--noreload", f"127.0.0.1:{port}"],
            cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            wait_for(f"{address}/healthz", server)
            yield address, links, env
        finally:
            server.terminate()
            server.wait()


def run_judge(env: Mapping[str, str]) -> None:
    """Run a judge on the example study, over a stand-in that prefers the longer text."""
    command = [sys.executable, "-m", "tests.standin", "--while-stdin", "--answer", "longer"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as standin:
        assert standin.stdout is not None
        address = standin.stdout.readline().strip()
        allowed = {**env, "ENDPOINT_ALLOWLIST": "127.0.0.1"}
        manage(allowed, "add_endpoint", "small", "--base-url", address, "--model", "small-1", *PRICES)
        manage(allowed, "add_judge", *JUDGE)
        manage(allowed, "run_judge", "example", "--judge", JUDGE[0])


def manage(env: Mapping[str, str], *arguments: str) -> str:
    """Run a management command; return its output."""
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=ROOT, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout


def login(env: Mapping[str, str], name: str, address: str) -> str:
    """Return a link by which a user signs in."""
    return manage(env, "login_link", name, "--base-url", address).split()[-1]


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
    if "/login/link/" in page.url:
        page.get_by_role("button", name="Sign in as").click()
        page.wait_for_url(lambda url: "/login/link/" not in url)
    return page


def begin(page: Page) -> None:
    """Consent and open the first HIT."""
    page.get_by_role("button", name="I agree, begin").click()
    wait_for_scripts(page)


def wait_for_scripts(page: Page) -> None:
    """Return when the rating page's scripts have run."""
    page.locator("[data-card].current").first.wait_for()


def rate(page: Page, *choices: str) -> None:
    """Vote on the first pairs of the page, and wait until each vote is saved."""
    for place, choice in enumerate(choices):
        pair = page.locator("form[data-pair]").nth(place)
        pair.locator(f"input[value={choice}]").click()
        expect(pair.locator(".saved")).to_contain_text("Saved at")


def take(page: Page, name: str, *, at: str | None = None) -> None:
    """Write the screenshot `name` of the window, scrolled to the element that `at` selects."""
    scroll = "element => element.scrollIntoView()" if at else "() => window.scrollTo(0, 0)"
    page.locator(at).first.evaluate(scroll) if at else page.evaluate(scroll)
    page.screenshot(path=IMAGES / f"{name}.png")


def first_stage(browser: Browser, link: str) -> None:
    """Take the rating page."""
    page = open_page(browser, link, viewport=DESKTOP)
    begin(page)
    take(page, "rating")


def second_stage(browser: Browser, link: str) -> None:
    """Take the second stage with a comparison table, after the first pair was decided."""
    page = open_page(browser, link, viewport=TALL)
    begin(page)
    rate(page, "left", "right", "none", "left", "right")
    page.locator("[data-action=lock]").click()
    second = page.locator("form[data-second]")
    second.locator("input[value=left]").check()
    second.locator("button[data-save]").click()
    expect(page.locator(".card.decided")).to_have_count(1)
    page.mouse.move(0, 0)
    take(page, "rating-stage-two", at=".card.decided")


def several_questions(browser: Browser, address: str, env: Mapping[str, str]) -> None:
    """Take a pair with three questions, two of them answered, of a study that other raters do not get before."""
    for command in SEVERAL_QUESTIONS:
        manage(env, *command)
    page = open_page(browser, login(env, "third", address), viewport=TALL)
    begin(page)
    card = page.locator("[data-card]").first
    for question, choice in enumerate(("left-much", "none")):
        form = card.locator("form[data-pair]").nth(question)
        form.locator(f"input[value={choice}]").click()
        expect(form.locator(".saved")).to_contain_text("Saved at")
    page.mouse.move(0, 0)
    take(page, "rating-questions", at="[data-card]")


def judges(reader: Page, address: str) -> None:
    """Take the judges of a study, one run, one of its judgments, and the run beside people's ratings."""
    pages = f"{address}/studies/example/judges/"
    reader.goto(pages)
    take(reader, "judges")
    reader.get_by_role("link", name=JUDGE[0], exact=True).first.click()
    take(reader, "judge-run")
    reader.locator("a[href*='/example/judgments/']").first.click()
    take(reader, "judgment")
    reader.goto(f"{pages}compare/?first={JUDGE[0]}&second=@people")
    take(reader, "judge-and-people")


def overview(browser: Browser, reader: Page, address: str) -> None:
    """Take a study's overview in light and in dark mode, as the page of the visual language shows it."""
    state = reader.context.storage_state()
    for name, scheme in (("overview", "light"), ("overview-dark", "dark")):
        page = open_page(
            browser, f"{address}/studies/example/", storage_state=state, viewport=DESKTOP, color_scheme=scheme
        )
        take(page, name)


def settings(admin: Page, address: str) -> None:
    """Take the settings with the rater's page beside them."""
    admin.goto(f"{address}/studies/example/settings/", wait_until="networkidle")
    expect(admin.frame_locator("iframe").locator("[data-card]").first).to_be_visible()
    take(admin, "settings")


def table(reader: Page, address: str) -> None:
    """Take one comparison table with the results of its checks."""
    reader.goto(f"{address}/studies/example/tables/")
    reader.locator("#tables th[scope=row] a").first.click()
    take(reader, "comparison-table")


def main() -> None:
    """Take every screenshot."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with demo() as (address, links, env), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM)
        first_stage(browser, links["annotator"])
        second_stage(browser, links["second"])
        several_questions(browser, address, env)
        reader = open_page(browser, links["researcher"], viewport={"width": 1280, "height": 1300})
        reader.goto(f"{address}/studies/example/findings/", wait_until="networkidle")
        take(reader, "findings")
        overview(browser, reader, address)
        judges(reader, address)
        table(reader, address)
        settings(open_page(browser, links["admin"], viewport={"width": 1440, "height": 1100}), address)
        browser.close()


if __name__ == "__main__":
    main()
