"""The server dies in the middle of a HIT and comes back: nothing that a rater did is lost."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Assignment, Display
from tests.browser import outbox, walk
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


def shown(page: Page) -> list[str]:
    """Return all texts in the order and on the sides shown."""
    return page.locator(".sides .text").all_inner_texts()


def test_choices_made_while_the_server_is_dead_arrive_by_themselves(
    server: RealServer, page: Page, open_at: OpenAt
) -> None:
    before, hit = shown(page), page.url
    walk.rate(page, ["left", "none"])

    elsewhere = open_at(server.url, "ann")  # on another device
    elsewhere.goto(hit)
    server.kill()
    for window, place, choice in ((page, 2, "right"), (elsewhere, 3, "left")):
        line = walk.choose(window, place, choice)
        expect(line).to_have_class(re.compile("error|waiting"))
        expect(line).to_be_visible()
        expect(line).not_to_contain_text("Saved at")
        assert walk.on_server(page) == {0: "left", 1: "none"}
    elsewhere.goto("about:blank")  # else its page might send the choice before it is loaded again
    server.start()
    elsewhere.goto(hit)
    for window, place in ((page, 2), (elsewhere, 3)):
        outbox.expect_saved(window, place)
    chosen = ["left", "none", "right", "left"]
    assert walk.on_server(page) == dict(enumerate(chosen))
    page.reload()
    assert (shown(page), outbox.checked(page)) == (before, chosen)
    assert Display.objects.count() == 4

    elsewhere.goto("/rate/")
    assert (elsewhere.url, shown(elsewhere), outbox.checked(elsewhere)) == (hit, before, chosen)

    page.locator("[data-action=submit]").click()
    expect(page).not_to_have_url(hit)
    assert Assignment.objects.get().state == "submitted"
