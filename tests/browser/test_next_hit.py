"""Submitting a HIT brings the next one with the answer, in the same page."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from annotation.models import Assignment, Rating, Study
from tests.browser import walk
from tests.factories import make_batch, make_study

OpenAs = Callable[..., Page]
SUBMITTED = Assignment.State.SUBMITTED


@pytest.fixture
def study(transactional_db: None) -> Study:
    """Three HITs of one pair."""
    study = make_study(instances=3, k=1)
    make_batch(study, pairs=1, raters=1)
    return study


@pytest.fixture
def page(open_as: OpenAs, study: Study) -> Page:
    """A HIT, just begun."""
    page = open_as("ann", "annotator")
    walk.begin(page)
    return page


def submitted() -> int:
    """Count the HITs that were submitted."""
    return Assignment.objects.filter(state=SUBMITTED).count()


def test_a_hit_of_one_pair_costs_two_requests(page: Page) -> None:
    """From the second HIT on: a vote and the submission, with address, title, focus, keys and times as on a new page."""
    walk.rate(page, ["left"])
    walk.submit(page)
    second = page.url
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(second)))
    expect(page.locator("h1")).to_have_text("HIT 2 of 3")
    expect(page.locator("h1")).to_be_focused()
    expect(page).to_have_title("Rate · Tandem")
    expect(page.get_by_text("Submitted. Thank you!")).to_have_count(1)

    page.keyboard.press("3")
    expect(walk.pair(page, 0).locator(".saved")).to_contain_text("Saved at")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("HIT 3 of 3")
    assert asked == ["vote/", "submit/"]
    assert Rating.objects.of_every_question().filter(wall_seconds__gt=0).count() == 2

    walk.rate(page, ["none"])
    page.locator("[data-action=submit]").click()
    expect(page.locator("h1")).to_have_text("No HIT for you now")
    assert page.url.endswith("/rate/")
    assert submitted() == 3


def test_two_clicks_submit_once_and_back_leads_to_the_hit_that_one_is_at(page: Page) -> None:
    walk.rate(page, ["left"])
    page.locator("[data-action=submit]").dblclick(no_wait_after=True)
    expect(page.locator("h1")).to_have_text("HIT 2 of 3")
    assert submitted() == 1
    now = page.url
    page.go_back()
    expect(page).to_have_url(now)
    expect(page.locator("h1")).to_have_text("HIT 2 of 3")
    page.reload()
    expect(page).to_have_url(now)


def test_a_submission_that_does_not_arrive_is_sent_again(page: Page) -> None:
    """Refused by the network, by a server in trouble, or answered into the void: one HIT is submitted, once."""
    sent: list[str] = []

    def fail(route: Route) -> None:
        sent.append(route.request.url)
        if len(sent) == 1:
            route.abort()
        elif len(sent) == 2:
            route.fulfill(status=503, body="no")
        elif len(sent) == 3:
            assert route.fetch().status == 200
            route.abort()
        else:
            route.continue_()

    page.route("**/submit/", fail)
    walk.rate(page, ["left"])
    page.locator("[data-action=submit]").click()
    expect(page.locator("#outbox")).to_have_text("Not sent yet. It will be sent again by itself.")
    expect(page.locator("h1")).to_have_text("HIT 2 of 3")
    assert len(sent) == 4
    assert submitted() == 1
    assert Assignment.objects.filter(state=Assignment.State.CLAIMED).count() == 1
    expect(page.locator("#outbox")).to_be_hidden()


def test_a_submission_offline_waits_for_the_network(page: Page) -> None:
    walk.rate(page, ["left"])
    page.context.set_offline(True)
    page.locator("[data-action=submit]").click()
    expect(page.locator("#outbox")).to_have_text("You are offline. Please try again when the network is back.")
    assert submitted() == 0
    page.context.set_offline(False)
    expect(page.locator("h1")).to_have_text("HIT 2 of 3")
    assert submitted() == 1


def test_who_was_signed_out_is_asked_to_sign_in_and_the_hit_stays(page: Page) -> None:
    walk.rate(page, ["left"])
    hit = re.sub("^https?://[^/]*", "", page.url)
    page.context.clear_cookies(name="sessionid")
    page.locator("[data-action=submit]").click()
    link = page.locator("#refused").get_by_role("link", name="Sign in again")
    expect(link).to_have_attribute("href", re.compile(f"next={hit}$"))
    assert submitted() == 0


def test_differences_and_the_list_of_keys_work_on_the_next_hit(page: Page) -> None:
    page.locator("#tool-differences").check()
    walk.rate(page, ["left"])
    walk.submit(page)
    expect(page.locator("#tool-differences")).to_be_checked()
    expect(page.locator(".sides mark").first).to_be_visible()
    page.locator("#tool-help").click()
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#tool-help")).to_be_focused()
