"""One HIT open in two windows, or on two devices: each shows what is stored, and none changes it unknowingly."""

from collections.abc import Callable

import pytest
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from annotation.models import Assignment, Study
from annotation.rating.second_stage import save_second_vote
from annotation.rating.votes import lock_first_votes, save_vote, submit_assignment
from tests.browser import walk
from tests.browser.outbox import checked, stored
from tests.browser.test_two_stages import two_stage_study
from tests.factories import make_batch, make_study

OpenAs = Callable[..., Page]


@pytest.fixture
def study(transactional_db: None) -> Study:
    """One HIT of three pairs."""
    study = make_study(instances=1, k=3)
    make_batch(study, pairs=3, raters=1)
    return study


@pytest.fixture
def page(open_as: OpenAs, study: Study) -> Page:
    """The HIT, with its first two pairs rated."""
    page = open_as("ann", "annotator")
    walk.begin(page)
    walk.rate(page, ["left", "none"])
    return page


def elsewhere(*choices: str) -> Assignment:
    """Choose on another device, pair by pair from the top; return the HIT."""
    assignment = Assignment.objects.get()
    keys = assignment.displays.order_by("position").values_list("pair__key", flat=True)
    for key, choice in zip(keys, choices, strict=False):
        save_vote(assignment=assignment, pair_key=key, choice=choice, at=timezone.now())
    return assignment


def come_back(page: Page) -> None:
    """Give the window the rater's attention again."""
    page.evaluate("dispatchEvent(new Event('blur')); dispatchEvent(new Event('focus'))")


def test_a_window_shows_at_once_what_another_one_of_this_browser_saved(page: Page) -> None:
    other = page.context.new_page()
    other.goto(page.url)
    expect(walk.choose(other, 0, "right")).to_contain_text("Saved at")
    line = walk.pair(page, 0).locator(".saved")
    expect(line).to_contain_text("chosen in another window")
    assert checked(page) == ["right", "none"]
    expect(page.locator("#announcer")).to_have_text("Pair 1: (chosen in another window)")

    with page.expect_response("**/vote/") as answer:  # which is known here now, and may be changed
        walk.choose(page, 0, "left")
    assert answer.value.status == 200
    assert stored() == {0: "left", 1: "none"}


def test_a_window_asks_what_holds_when_its_rater_comes_back(page: Page) -> None:
    walk.pair(page, 0).locator("input[value=left]").focus()
    elsewhere("right", "none", "left")
    with page.expect_response(page.url):
        come_back(page)
    expect(walk.pair(page, 2).locator("input[value=left]")).to_be_checked()
    assert checked(page) == ["right", "none", "left"]
    assert page.evaluate("document.activeElement.name") == "choice"  # the focus stays where it was
    expect(page.locator("#hit-status")).to_contain_text("3 of 3 rated.")
    expect(walk.pair(page, 1).locator(".saved")).not_to_contain_text("another window")
    walk.submit(page)
    assert stored() == {0: "right", 1: "none", 2: "left"}


def test_what_changes_while_an_answer_is_on_its_way_is_asked_for_again(page: Page) -> None:
    def answer_late(route: Route) -> None:
        earlier = route.fetch()
        elsewhere("right")
        come_back(page)
        route.fulfill(response=earlier)

    page.route(page.url, answer_late, times=1)
    come_back(page)
    expect(walk.pair(page, 0).locator("input[value=right]")).to_be_checked()
    assert checked(page) == ["right", "none"]


def test_an_answer_that_tells_of_another_choice_has_the_others_looked_up(page: Page) -> None:
    elsewhere("right", "right")
    expect(walk.choose(page, 0, "none")).to_contain_text("on another page")
    expect(walk.pair(page, 1).locator("input[value=right]")).to_be_checked()
    assert stored() == {0: "right", 1: "right"}
    assert checked(page) == ["right", "right"]

    with page.expect_response("**/vote/") as answer:
        walk.choose(page, 0, "none")  # now knowingly
    assert answer.value.status == 200
    assert stored() == {0: "none", 1: "right"}


def test_a_choice_that_waits_is_not_replaced(page: Page) -> None:
    page.route("**/vote/", lambda route: route.abort())
    expect(walk.choose(page, 0, "none")).to_contain_text("Waiting")
    elsewhere("right", "right")
    come_back(page)
    expect(walk.pair(page, 1).locator("input[value=right]")).to_be_checked()
    assert checked(page) == ["none", "right"]
    page.unroute("**/vote/")
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(walk.pair(page, 0).locator(".saved")).to_contain_text("on another page")
    assert stored() == {0: "right", 1: "right"}


def test_a_window_whose_hit_was_submitted_elsewhere_says_so(page: Page) -> None:
    assignment = elsewhere("left", "none", "left")
    submit_assignment(assignment=assignment, at=timezone.now())
    come_back(page)
    told = page.locator("#refused")
    expect(told).to_contain_text("went on in another window")
    told.get_by_role("link", name="Load this page again").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("No HIT for you now")


def test_a_window_of_an_earlier_stage_or_pair_says_so(open_as: OpenAs, transactional_db: None) -> None:
    two_stage_study("none")
    page = open_as("ann", "annotator")
    walk.begin(page)
    walk.rate(page, ["left", "right"])
    assignment = elsewhere()
    lock_first_votes(assignment=assignment, at=timezone.now())
    told = page.locator("#refused")
    come_back(page)
    expect(told).to_contain_text("went on in another window")
    told.get_by_role("link").click()
    expect(page.locator("form[data-second]")).to_have_count(1)

    come_back(page)
    expect(told).to_be_hidden()
    key = page.locator("form[data-second]").get_attribute("data-pair")
    assert key is not None
    save_second_vote(assignment=assignment, pair_key=key, choice="left", reason="", at=timezone.now())
    come_back(page)
    expect(told).to_contain_text("went on in another window")
