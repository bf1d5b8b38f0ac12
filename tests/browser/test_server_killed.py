"""The server dies in the middle of a HIT and comes back: nothing that a rater did is lost."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from annotation.models import Assignment, Display, Rating
from tests.browser import walk
from tests.browser.real_server import RealServer
from tests.factories import make_batch, make_study

OpenAt = Callable[..., Page]


@pytest.fixture
def server(transactional_db: None, real_server: RealServer) -> Iterator[RealServer]:
    """The server, which is going to be killed; it runs again for the next test."""
    yield real_server
    if real_server.process.poll() is not None:
        real_server.start()


@pytest.fixture
def page(open_at: OpenAt, server: RealServer) -> Page:
    """A HIT of four pairs, just begun."""
    make_batch(make_study(instances=1, k=4), pairs=4, raters=1)
    return walk.begin(open_at(server.url, "ann", "annotator"))


def choose(page: Page, place: int, choice: str) -> Locator:
    """Choose on the pair at this place (from 0); return the line that says what became of it."""
    pair = page.locator("form[data-pair]").nth(place)
    pair.locator(f"input[name=choice][value={choice}]").click()
    return pair.locator(".saved")


def choices(page: Page) -> list[str]:
    """Return what is chosen on the page, from top to bottom."""
    return page.locator("form[data-pair] input[name=choice]:checked").evaluate_all("all => all.map(one => one.value)")


def shown(page: Page) -> list[str]:
    """Return all texts in the order and on the sides shown."""
    return page.locator(".sides .text").all_inner_texts()


def stored() -> dict[int, int]:
    """Return the votes on the server by place, turned to the sides of the screen."""
    return {
        rating.display.position: rating.verdict if rating.display.a_is_left else -rating.verdict
        for rating in Rating.objects.select_related("display")
    }


def test_choices_made_while_the_server_is_dead_arrive_by_themselves(
    server: RealServer, page: Page, open_at: OpenAt
) -> None:
    before, hit = shown(page), page.url
    for place, choice in enumerate(("left", "none")):
        expect(choose(page, place, choice)).to_contain_text("Saved at")

    elsewhere = open_at(server.url, "ann")  # on another device
    elsewhere.goto(hit)
    server.kill()
    for window, place, choice in ((page, 2, "right"), (elsewhere, 3, "left")):
        line = choose(window, place, choice)
        expect(line).to_have_class(re.compile("error|waiting"))
        expect(line).to_be_visible()
        expect(line).not_to_contain_text("Saved at")
        assert stored() == {0: -1, 1: 0}
    elsewhere.goto("about:blank")  # else its page might send the choice before it is loaded again
    server.start()
    elsewhere.goto(hit)
    for window, place in ((page, 2), (elsewhere, 3)):
        expect(window.locator("form[data-pair]").nth(place).locator(".saved")).to_contain_text("Saved at")
    assert stored() == {0: -1, 1: 0, 2: 1, 3: -1}
    page.reload()
    chosen = ["left", "none", "right", "left"]
    assert (shown(page), choices(page)) == (before, chosen)
    assert Display.objects.count() == 4

    elsewhere.goto("/rate/")
    assert (elsewhere.url, shown(elsewhere), choices(elsewhere)) == (hit, before, chosen)

    page.locator("[data-action=submit]").click()
    expect(page).not_to_have_url(hit)
    assert Assignment.objects.get().state == "submitted"
