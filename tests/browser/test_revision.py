"""The last HIT is opened again, changed and left: by mouse and by keys."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Assignment, VoteChange
from tests.browser import outbox, walk
from tests.browser.test_two_stages import two_stage_study
from tests.browser.walk import step
from tests.factories import make_batch, make_study

OpenAs = Callable[..., Page]


def submit(page: Page) -> Assignment:
    """Submit the HIT, whose pairs are all rated; return it when the next one is in view."""
    hit = Assignment.objects.get(state="claimed")
    page.locator("[data-action=submit]").click()
    expect(page.locator("#hit")).not_to_have_attribute("data-assignment", hit.key)
    return hit


def reopen(page: Page) -> None:
    """Follow the link that leads back by the keyboard."""
    page.get_by_role("link", name="Change your last HIT").press("Enter")
    expect(page).to_have_url(re.compile(r"\?again=1$"))


def test_the_last_hit_is_changed_by_mouse_and_keys(open_as: OpenAs) -> None:
    make_batch(make_study(instances=4, k=3), pairs=3, raters=1)
    page = walk.begin(open_as("ann", "annotator"))
    with step("a HIT is opened again, and changed by mouse and by keys"):
        walk.rate(page, ["left", "none", "right"])
        first = submit(page)
        following = Assignment.objects.get(state="claimed")
        reopen(page)
        assert outbox.checked(page) == ["left", "none", "right"]
        expect(walk.choose(page, 0, "right")).to_contain_text("Saved at")
        page.wait_for_function("() => !Object.keys(localStorage).some(name => name.startsWith('tandem:'))")
        walk.pair(page, 1).locator("input[value=none]").focus()
        page.keyboard.press("1")
        outbox.expect_saved(page, 1)
        page.wait_for_function("() => !Object.keys(localStorage).some(name => name.startsWith('tandem:'))")
        assert walk.on_server(first) == {0: "right", 1: "left", 2: "right"}
    with step("the button leads back to the HIT that was begun"):
        page.locator("[data-action=submit]").click()
        expect(page.locator("#hit")).to_have_attribute("data-assignment", following.key)
        assert Assignment.objects.filter(state="submitted").count() == 1
        changes = VoteChange.objects.for_question(0).filter(display__assignment=first)
        assert changes.count() == 5
    with step("a change that comes too late is refused, and said to be"):
        reopen(page)
        tab = page.context.new_page()
        tab.goto(f"/rate/hit/{following.key}/")
        walk.rate(tab, ["left", "left", "left"])
        submit(tab)
        expect(walk.choose(page, 2, "left")).to_contain_text("was submitted before")
        expect(page.locator("#refused")).to_contain_text("nothing was changed")
        assert walk.on_server(first)[2] == "right"


@pytest.mark.weekly
def test_a_second_stage_is_changed(open_as: OpenAs) -> None:
    two_stage_study("table:c8")
    page = walk.begin(open_as("ann", "annotator"))
    walk.rate(page, ["left", "left"])
    walk.lock(page)
    for choice in ("left", "left"):
        walk.decide(page, choice)
    first = submit(page)
    reopen(page)
    page.get_by_role("link", name="Look again").first.click()
    expect(page).to_have_url(re.compile(r"again=1&change="))
    form = page.locator("form[data-second]")
    form.locator("input[value=right]").check()
    form.locator("textarea[name=reason]").fill(walk.REASON)
    form.locator("button[data-save]").click()
    expect(page.locator("form[data-second]")).to_have_count(0)
    assert walk.on_server(first, "revised") == {0: "right", 1: "left"}
    assert walk.on_server(first) == {0: "left", 1: "left"}
    page.locator("[data-action=submit]").click()
    expect(page.locator("#hit")).not_to_have_attribute("data-assignment", first.key)
