"""Submitting a HIT brings the next one with the answer, in the same page."""

from collections.abc import Callable

from playwright.sync_api import Page, Route, expect

from annotation.models import Assignment, Rating
from tests.browser import walk
from tests.browser.walk import step
from tests.factories import make_batch, make_study

OpenAs = Callable[..., Page]


def submitted() -> int:
    """Count the HITs that were submitted."""
    return Assignment.objects.filter(state=Assignment.State.SUBMITTED).count()


def begin(open_as: OpenAs, *, hits: int) -> Page:
    """Begin the first of so many HITs of one pair."""
    make_batch(make_study(instances=hits, k=1), pairs=1, raters=1)
    return walk.begin(open_as("ann", "annotator"))


def test_the_next_hit_takes_the_place_of_the_last(open_as: OpenAs) -> None:
    page = begin(open_as, hits=4)
    heading = page.locator("h1")
    page.locator("#tool-differences").check()
    walk.rate(page, ["left"])
    with step("two clicks submit once"):
        # Both before an answer: on a slow machine the second click of a mouse is one on the next HIT.
        page.locator("[data-action=submit]").evaluate("button => [1, 2].forEach(() => button.click())")
        expect(heading).to_have_text("HIT 2")
        assert submitted() == 1
    with step("address, title, focus and tools are as on a new page"):
        expect(heading).to_be_focused()
        expect(page).to_have_title("Rate · Tandem")
        expect(page.locator("#hit-status")).to_contain_text("Submitted. Thank you!")
        expect(page.locator("#announcer[role=status]")).to_have_text("Submitted. Thank you!")
        expect(page.locator("#tool-differences")).to_be_checked()
        expect(page.locator(".sides mark").first).to_be_visible()
        page.locator("#tool-help").click()
        expect(page.locator("#keys")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("#tool-help")).to_be_focused()
    with step("back and a reload lead to the HIT that one is at"):
        now = page.url
        page.go_back()
        expect(page).to_have_url(now)
        expect(heading).to_have_text("HIT 2")
        page.reload()
        expect(page).to_have_url(now)
        walk.rate(page, ["left"])
        walk.submit_to(page, 3)

    with step("a HIT costs two requests, and has its times"):
        third = page.url
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url.removeprefix(third)))
        page.wait_for_timeout(200)  # less than 50 ms are a time of 0.0 s
        page.keyboard.press("3")
        expect(walk.pair(page, 0).locator(".saved")).to_contain_text("Saved at")
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        expect(heading).to_have_text("HIT 4")
        assert asked == ["vote/", "submit/"]
        assert Rating.objects.filter(wall_seconds__gt=0).count() == 3
    with step("after the last one the answer says that there is none"):
        walk.rate(page, ["none"])
        page.locator("[data-action=submit]").click()
        expect(heading).to_have_text("Thank you!")
        assert page.url.endswith("/rate/")
        assert submitted() == 4


def test_a_submission_that_does_not_arrive(open_as: OpenAs) -> None:
    page = begin(open_as, hits=3)
    submit, line = page.locator("[data-action=submit]"), page.locator("#outbox")
    with step(
        "refused by the network or a server in trouble, or answered into the void, it is sent again, and counts once"
    ):
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
        submit.click()
        expect(line).to_have_text("Not sent yet. It will be sent again by itself.")
        expect(page.locator("h1")).to_have_text("HIT 2")
        assert len(sent) == 4
        assert submitted() == 1
        assert Assignment.objects.filter(state=Assignment.State.CLAIMED).count() == 1
        expect(line).to_be_hidden()
        page.unroute("**/submit/")
    with step("offline it waits for the network"):
        walk.rate(page, ["left"])
        page.context.set_offline(True)
        submit.click()
        expect(line).to_contain_text("You are offline.")
        assert submitted() == 1
        page.context.set_offline(False)
        expect(page.locator("h1")).to_have_text("HIT 3")
        assert submitted() == 2
