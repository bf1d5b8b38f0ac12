"""The way of a rater through the pages, step by step."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, expect

from annotation.models import Assignment, Rating

PATIENCE = 60_000  # milliseconds; only a failing test waits that long
REASON = "On a second look the other text says more of what matters."


# What a rater has chosen to see, whatever the size of the screen.
ALL_PAIRS = "try { localStorage['tandem.one'] ??= '0' } catch { /* refused by this page */ }"


@contextmanager
def step(name: str) -> Iterator[None]:
    """Name a part of a journey; a failure in it is told with the name."""
    try:
        yield
    except Exception as error:
        error.add_note(f"At the step: {name}")
        raise


def open_context(browser: Browser, *, one_pair: bool = False, **options: Any) -> BrowserContext:
    """Return a new session of the browser that waits as long as a busy machine needs.

    one_pair : leave it to the page whether it shows one pair at a time
    """
    # Each frame of a transition would be drawn, by the processor.
    context = browser.new_context(reduced_motion="reduce", **options)
    if not one_pair:
        context.add_init_script(ALL_PAIRS)
    context.set_default_timeout(PATIENCE)
    return context


def sign_in(page: Page, link: str) -> None:
    """Open a sign-in link, and press the button of its page; its owner, who is signed in already, is led on."""
    page.goto(link)
    if "/login/link/" in page.url:
        page.locator("main form button").click()
        page.wait_for_url(lambda url: "/login/link/" not in url)


def begin(page: Page) -> Page:
    """Consent, by requests alone, get the first HIT, and return the page."""
    asked = page.request.get("/rate/")
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', asked.text())
    page.request.post(asked.url, form={"csrfmiddlewaretoken": token[1], "answer": "accept"}, max_redirects=0)
    page.goto("/rate/")
    expect(page).to_have_url(re.compile("/rate/hit/"))
    return page


def card(page: Page, place: int) -> Locator:
    """Return the card of the pair at this place, from 0, with its texts."""
    return page.locator("[data-card]").nth(place)


def pair(page: Page, place: int) -> Locator:
    """Return the form of the pair at this place, from 0."""
    return page.locator("form[data-pair]").nth(place)


def choose(page: Page, place: int, choice: str) -> Locator:
    """Choose on a pair; return the line that says what became of it.

    By one click: `check` clicks again when a refusal has replaced the card before it looks whether it is checked.
    """
    form = pair(page, place)
    form.locator(f"input[value={choice}]").click()
    return form.locator(".saved")


def rate(page: Page, choices: Sequence[str]) -> None:
    """Choose on pair after pair from the top, and wait until each choice is on the server."""
    for place, choice in enumerate(choices):
        expect(choose(page, place, choice)).to_contain_text("Saved at")


def lock(page: Page) -> None:
    """Close the first votes."""
    page.locator("[data-action=lock]").click()
    expect(page.locator("form[data-second]")).to_have_count(1)


def decide(page: Page, choice: str) -> None:
    """Answer for the pair that the second stage is at, with a reason, and wait for the next one."""
    form = page.locator("form[data-second]")
    decided = page.locator(".card.decided").count()
    form.locator(f"input[name=choice][value={choice}]").check()
    form.locator("textarea[name=reason]").fill(REASON)
    form.locator("button[data-save]").click()
    expect(page.locator(".card.decided")).to_have_count(decided + 1)


def submit(page: Page) -> None:
    """Submit the HIT and land on what comes next."""
    hit = page.url
    page.locator("[data-action=submit]").click()
    expect(page).not_to_have_url(hit)


def submit_to(page: Page, number: int) -> None:
    """Submit the HIT, whose pairs are all rated, and wait for the next one, which is the rater's so many-th."""
    page.locator("[data-action=submit]").click()
    expect(page.locator("h1")).to_have_text(f"HIT {number}")
    expect(page.locator("h1")).to_be_focused()


def on_server(hit: Page | Assignment, stage: str = "first") -> dict[int, str]:
    """Return the choices of a HIT, or of the one that a page shows, that are on the server, by place from 0."""
    key = hit.key if isinstance(hit, Assignment) else hit.url.split("/rate/hit/")[1].split("/")[0]
    ratings = Rating.objects.for_question(0).filter(stage=stage, display__assignment__key=key)
    return {one.display.position: one.choice for one in ratings.select_related("display")}


def release(page: Page, held: list[Route]) -> None:
    """Let the first request that was held go on to the server, as soon as Playwright has handed it over."""
    while not held:
        page.evaluate("0")
    held[0].continue_()
