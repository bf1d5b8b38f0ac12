"""The page of the API: it fits a phone, and sends requests with a token or in the session."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from annotation.models import Study
from annotation.models.members import Role
from tests.browser.walk import step
from tests.factories import make_study, make_user, token_of

pytestmark = pytest.mark.any_engine


def request_of(page: Page, anchor: str) -> Locator:
    page.locator(f"#{anchor} > summary").click()
    return page.locator(f"#{anchor} form")


@pytest.mark.weekly
def test_requests_are_sent_from_the_page_of_the_api(open_as: Callable[..., Page]) -> None:
    study = make_study("talks", instances=0)
    boss = make_user("boss", Role.STUDY_ADMIN, study=study)
    page = open_as("boss", viewport={"width": 390, "height": 800})
    page.goto("/api/v1/docs/")
    with step("Nothing is off the side of a phone, whatever is open"):  # to lay out all of it takes ten seconds
        page.evaluate("for (const one of document.querySelectorAll('details:nth-of-type(5n)')) one.open = true")
        assert page.locator("details[open]").count() > 10
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = false")
    with step("A request in the session, with a parameter"):
        form = request_of(page, "get-api-v1-studies-slug")
        form.get_by_label("slug").fill("talks")
        form.get_by_role("button").click()
        expect(form.get_by_role("status")).to_have_text("200 OK")
        expect(form.locator("pre")).to_contain_text('"slug": "talks"')
    with step("One that changes something, by the session with its CSRF token, is done"):
        form = request_of(page, "post-api-v1-studies-slug-archive")
        form.get_by_label("slug").fill("talks")
        form.locator("textarea").fill('{"reason": "over"}')
        form.get_by_role("button").click()
        expect(form.get_by_role("status")).to_have_text("200 OK")
        assert Study.objects.get().archived_at is not None
    with step("With a token its scopes hold, not the session"):
        page.get_by_label("Token", exact=True).fill(token_of(boss, "read"))
        form.get_by_role("button").click()
        expect(form.get_by_role("status")).to_have_text("403 Forbidden")
        expect(form.locator("pre")).to_contain_text("lacks the scope configure")
