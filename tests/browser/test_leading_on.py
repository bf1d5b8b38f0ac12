"""Choices that lead to the next pair, all pairs or one at a time, and guidelines that stay open beside them."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser import outbox, walk
from tests.browser.test_one_pair import expect_only
from tests.browser.walk import step
from tests.factories import make_batch, make_study

OpenAs = Callable[..., Page]


def expect_at(page: Page, place: int) -> None:
    """Expect this pair, from 0, to be the current one, with the focus on its heading."""
    expect(walk.card(page, place)).to_have_class(re.compile("current"))
    expect(walk.card(page, place).locator("h2")).to_be_focused()


@pytest.mark.weekly
def test_choices_lead_on_through_several_hits(open_as: OpenAs) -> None:
    make_batch(make_study(instances=6, k=3, auto_advance=True, guidelines="Read."), pairs=3, raters=1)
    page = walk.begin(open_as("ann", "annotator", one_pair=True))
    submit = page.locator("[data-action=submit]")
    with step("digits suffice"):
        for key, place in (("1", 1), ("2", 2)):
            page.keyboard.press(key)
            expect_at(page, place)
        page.keyboard.press("3")
        expect(submit).to_be_focused()
        outbox.expect_saved(page, 0, 1, 2)
        assert walk.on_server(page) == {0: "left", 1: "none", 2: "right"}
        walk.submit_to(page, 2)

    with step("a click leads on, and a changed choice does not"):
        walk.choose(page, 0, "left")
        expect_at(page, 1)
        for choice in ("right", "none"):
            walk.choose(page, 0, choice)
            outbox.expect_saved(page, 0)
            expect(walk.pair(page, 0).locator(f"input[value={choice}]")).to_be_focused()
            page.reload()  # chosen before, on the page that was left
        walk.rate(page, ["none", "left", "left"])
        walk.submit_to(page, 3)

    guidelines = page.locator("#guidelines").get_by_text("Read.")
    with step("h opens the guidelines, which stay open; keys may be ahead of the page"):
        expect(page.locator("#guidelines")).not_to_have_attribute("open", "")
        page.keyboard.press("h")
        expect(guidelines).to_be_visible()
        page.keyboard.type("132")
        outbox.expect_saved(page, 0, 1, 2)
        assert walk.on_server(page) == {0: "left", 1: "right", 2: "none"}
        walk.submit_to(page, 4)
        expect(guidelines).to_be_visible()
        page.keyboard.press("h")
        expect(guidelines).to_be_hidden()

    with step("one pair at a time on a wide screen is the rater's choice, and is kept"):
        expect(walk.pair(page, 2)).to_be_visible()
        page.locator("#tool-one").check()
        for place, key in enumerate("132"):
            expect_only(page, place)
            page.keyboard.press(key)
        expect(submit).to_be_focused()
        page.keyboard.press("Backspace")
        expect_only(page, 2)
        walk.submit_to(page, 5)
        expect_only(page, 0)
        page.locator("#tool-one").uncheck()

    with step("leading on is switched off for all HITs"):
        page.locator("#tool-advance").uncheck()
        walk.rate(page, ["left", "left", "left"])
        expect(walk.pair(page, 2).locator("input[value=left]")).to_be_focused()
        walk.submit_to(page, 6)
        expect(page.locator("#tool-advance")).not_to_be_checked()
        page.keyboard.press("1")
        outbox.expect_saved(page, 0)
        expect(walk.pair(page, 0).locator("input[value=left]")).to_be_focused()
