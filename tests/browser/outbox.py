"""What waits in a rater's browser, and what has come to the server."""

from playwright.sync_api import Page, expect

from annotation.models import Rating
from annotation.rating.votes import rated_choice
from tests.browser import walk


def stored() -> dict[int, str]:
    """Return the choices on the server by place, from 0."""
    return {
        rating.display.position: rated_choice(rating)
        for rating in Rating.objects.of_every_question().select_related("display")
    }


def checked(page: Page) -> list[str]:
    """Return what is chosen on the page, from top to bottom."""
    return page.locator("form[data-pair] input[name=choice]:checked").evaluate_all("all => all.map(one => one.value)")


def kept(page: Page) -> int:
    """Count the choices in the browser's storage."""
    return int(page.evaluate("Object.keys(localStorage).filter(name => name.startsWith('tandem:')).length"))


def expect_saved(page: Page, *places: int) -> None:
    """Wait until these pairs say that they are saved."""
    for place in places:
        expect(walk.pair(page, place).locator(".saved")).to_contain_text("Saved at")
