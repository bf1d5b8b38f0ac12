"""One HIT open in two windows, or on two devices: each shows what is stored, and none changes it unknowingly."""

from collections.abc import Callable

from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from annotation.models import Assignment
from annotation.rating.second_stage import save_second_vote
from annotation.rating.votes import lock_first_votes, save_vote, submit_assignment
from tests.browser import walk
from tests.browser.outbox import checked
from tests.browser.test_two_stages import two_stage_study
from tests.browser.walk import on_server, step
from tests.factories import make_batch, make_study

OpenAs = Callable[..., Page]


def elsewhere(*choices: str) -> Assignment:
    """Choose on another device, pair by pair from the top; return the latest HIT."""
    assignment = Assignment.objects.latest("pk")
    keys = assignment.displays.order_by("position").values_list("pair__key", flat=True)
    for key, choice in zip(keys, choices, strict=False):
        save_vote(assignment=assignment, pair_key=key, choice=choice, at=timezone.now())
    return assignment


def come_back(page: Page) -> None:
    """Give the window the rater's attention again."""
    page.evaluate("dispatchEvent(new Event('blur')); dispatchEvent(new Event('focus'))")


def test_windows_of_one_hit_agree(open_as: OpenAs) -> None:
    make_batch(make_study(instances=2, k=3), pairs=3, raters=1)
    page = walk.begin(open_as("ann", "annotator"))
    walk.rate(page, ["left", "none"])
    line = walk.pair(page, 0).locator(".saved")
    with step("a window shows at once what another one of this browser saved"):
        other = page.context.new_page()
        other.goto(page.url)
        expect(walk.choose(other, 0, "right")).to_contain_text("Saved at")
        expect(line).to_contain_text("chosen in another window")
        assert checked(page) == ["right", "none"]
        expect(page.locator("#announcer")).to_have_text("Pair 1: (chosen in another window)")
        other.close()
    with step("which is known here now, and may be changed"):
        with page.expect_response("**/vote/") as answer:
            walk.choose(page, 0, "left")
        assert answer.value.status == 200
        assert on_server(page) == {0: "left", 1: "none"}
        expect(line).to_contain_text("Saved at")
    with step("what changes while an answer is on its way is asked for again"):

        def answer_late(route: Route) -> None:
            earlier = route.fetch()
            elsewhere("right")
            come_back(page)
            route.fulfill(response=earlier)

        page.route(page.url, answer_late, times=1)
        come_back(page)
        expect(walk.pair(page, 0).locator("input[value=right]")).to_be_checked()
        assert checked(page) == ["right", "none"]
    with step("an answer that is older than a choice replaces nothing"):

        def answer_too_late(route: Route) -> None:
            earlier = route.fetch()
            walk.rate(page, ["left"])
            route.fulfill(response=earlier)

        page.route(page.url, answer_too_late, times=1)
        with page.expect_response(page.url):
            come_back(page)
        with page.expect_response(page.url):
            come_back(page)  # by which the first one has been read
        expect(line).not_to_contain_text("another window")
        assert (checked(page), on_server(page)[0]) == (["left", "none"], "left")
    with step("an answer that tells of another choice has the others looked up"):
        elsewhere("right", "right")
        expect(walk.choose(page, 0, "none")).to_contain_text("on another page")
        expect(walk.pair(page, 1).locator("input[value=right]")).to_be_checked()
        assert on_server(page) == {0: "right", 1: "right"}
        assert checked(page) == ["right", "right"]
        with page.expect_response("**/vote/") as answer:
            walk.choose(page, 0, "none")  # now knowingly
        assert answer.value.status == 200
        assert on_server(page) == {0: "none", 1: "right"}
        expect(line).to_contain_text("Saved at")
    with step("a choice that waits is not replaced"):
        page.route("**/vote/", lambda route: route.abort())
        expect(walk.choose(page, 0, "right")).to_contain_text("Waiting")
        elsewhere("left", "left")
        come_back(page)
        expect(walk.pair(page, 1).locator("input[value=left]")).to_be_checked()
        assert checked(page) == ["right", "left"]
        page.unroute("**/vote/")
        page.evaluate("dispatchEvent(new Event('online'))")
        expect(line).to_contain_text("on another page")
        assert on_server(page) == {0: "left", 1: "left"}
    with step("a window asks what holds when its rater comes back, and leaves the focus"):
        expect(walk.choose(page, 1, "none")).not_to_contain_text("another window")
        expect(walk.pair(page, 1).locator(".saved")).to_contain_text("Saved at")
        walk.pair(page, 0).locator("input[value=left]").focus()
        elsewhere("right", "none", "left")
        with page.expect_response(page.url):
            come_back(page)
        expect(walk.pair(page, 2).locator("input[value=left]")).to_be_checked()
        assert checked(page) == ["right", "none", "left"]
        assert page.evaluate("document.activeElement.name") == "choice"
        expect(page.locator("#hit-status")).to_contain_text("3 of 3 rated.")
        expect(walk.pair(page, 1).locator(".saved")).not_to_contain_text("another window")
        assert on_server(page) == {0: "right", 1: "none", 2: "left"}
    walk.submit_to(page, 2)

    with step("a window whose HIT was submitted elsewhere says so"):
        submit_assignment(assignment=elsewhere("left", "none", "left"), at=timezone.now())
        come_back(page)
        told = page.locator("#refused")
        expect(told).to_contain_text("was continued in another window")
        told.get_by_role("link", name="Load this page again").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Thank you!")


def test_a_window_of_an_earlier_stage_or_pair_says_so(open_as: OpenAs) -> None:
    two_stage_study("none")
    page = walk.begin(open_as("ann", "annotator"))
    walk.rate(page, ["left", "right"])
    assignment = elsewhere()
    lock_first_votes(assignment=assignment, at=timezone.now())
    told = page.locator("#refused")
    come_back(page)
    expect(told).to_contain_text("was continued in another window")
    told.get_by_role("link").click()
    expect(page.locator("form[data-second]")).to_have_count(1)

    come_back(page)
    expect(told).to_be_hidden()
    key = page.locator("form[data-second]").get_attribute("data-pair")
    assert key is not None
    save_second_vote(assignment=assignment, pair_key=key, choice="left", reason="", at=timezone.now())
    come_back(page)
    expect(told).to_contain_text("was continued in another window")
