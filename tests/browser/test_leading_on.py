"""Choices that lead to the next pair, and guidelines that stay open beside the pairs."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser import outbox, walk
from tests.factories import make_batch, make_study

OpenAs = Callable[..., Page]


@pytest.fixture
def leading(open_as: OpenAs, transactional_db: None) -> Page:
    """A HIT of three pairs of a study whose choices lead on."""
    make_batch(make_study(instances=2, k=3, auto_advance=True, guidelines="Read."), pairs=3, raters=1)
    page = open_as("ann", "annotator")
    walk.begin(page)
    return page


def expect_at(page: Page, place: int) -> None:
    """Expect this pair, from 0, to be the current one, with the focus on its heading."""
    expect(page.locator(".card").nth(place)).to_have_class(re.compile("current"))
    expect(page.locator(".card").nth(place).locator("h2")).to_be_focused()


def test_digits_suffice_where_choices_lead_on(leading: Page) -> None:
    for key, place in (("1", 1), ("2", 2)):
        leading.keyboard.press(key)
        expect_at(leading, place)
    leading.keyboard.press("3")
    expect(leading.locator("[data-action=submit]")).to_be_focused()
    outbox.expect_saved(leading, 0, 1, 2)
    assert outbox.stored() == {0: "left", 1: "none", 2: "right"}


def test_a_click_leads_on_and_a_changed_choice_does_not(leading: Page) -> None:
    walk.choose(leading, 0, "left")
    expect_at(leading, 1)
    for choice in ("right", "none"):
        walk.choose(leading, 0, choice)
        outbox.expect_saved(leading, 0)
        expect(walk.pair(leading, 0).locator(f"input[value={choice}]")).to_be_focused()
        leading.reload()  # chosen before, on the page that was left


def test_a_rater_can_switch_it_off_for_all_hits(leading: Page) -> None:
    leading.locator("#tool-advance").uncheck()
    walk.rate(leading, ["left", "left", "left"])
    expect(walk.pair(leading, 2).locator("input[value=left]")).to_be_focused()
    walk.submit(leading)
    expect(leading.locator("#tool-advance")).not_to_be_checked()
    leading.keyboard.press("1")
    outbox.expect_saved(leading, 0)
    expect(walk.pair(leading, 0).locator("input[value=left]")).to_be_focused()


def test_h_opens_the_guidelines_which_stay_open(leading: Page) -> None:
    guidelines = leading.locator("#guidelines")
    expect(guidelines).not_to_have_attribute("open", "")
    leading.keyboard.press("h")
    expect(guidelines.get_by_text("Read.")).to_be_visible()
    leading.keyboard.type("132")  # ahead of the page, one for each pair
    outbox.expect_saved(leading, 0, 1, 2)
    assert outbox.stored() == {0: "left", 1: "right", 2: "none"}
    walk.submit(leading)
    expect(leading.locator("h1")).to_have_text("HIT 2 of 2")
    expect(leading.locator("#guidelines").get_by_text("Read.")).to_be_visible()
    leading.keyboard.press("h")
    expect(leading.locator("#guidelines").get_by_text("Read.")).to_be_hidden()
