"""A choice that is still on its way goes with the submission, so that a HIT of one pair takes one round trip."""

from collections.abc import Callable

from playwright.sync_api import Page, Route, expect

from annotation.models import Assignment, Rating, VoteChange
from tests.browser import walk
from tests.browser.walk import step
from tests.factories import make_batch, make_study

OpenAs = Callable[..., Page]


def test_a_choice_and_its_submission_take_one_round_trip(open_as: OpenAs) -> None:
    make_batch(make_study(instances=3, k=1), pairs=1, raters=1)
    page = walk.begin(open_as("ann", "annotator"))
    held: list[Route] = []
    page.route("**/vote/", lambda route: held.append(route))
    first = Assignment.objects.get()
    with step("the next HIT comes although the choice has not been answered"):
        walk.choose(page, 0, "right")
        page.locator("[data-action=submit]").click()
        expect(page.locator("h1")).to_have_text("HIT 2")
        first.refresh_from_db()
        assert (len(held), first.state) == (1, Assignment.State.SUBMITTED)
        assert Rating.objects.get().wall_seconds is not None
    with step("the choice that comes late changes nothing, and waits nowhere"):
        with page.expect_response("**/vote/") as answer:
            held[0].continue_()
        assert answer.value.status == 409
        assert VoteChange.objects.count() == 1
        expect(page.locator("#outbox")).to_be_hidden()
        assert page.evaluate("Object.keys(localStorage).filter(name => name.startsWith('tandem:')).length") == 0
    with step("the next HIT is rated as any other"):
        page.unroute("**/vote/")
        walk.rate(page, ["left"])
        walk.submit_to(page, 3)
        assert VoteChange.objects.count() == 2
