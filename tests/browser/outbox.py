"""What waits in a rater's browser, and what has come to the server."""

import re

from django.db.models import QuerySet
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotation.allocation.claims import claim_hit
from annotation.models import Assignment, VoteChange
from tests.browser import walk


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


def changes() -> QuerySet[VoteChange]:
    """Return the history of the latest HIT, the oldest first."""
    hit = Assignment.objects.latest("pk")
    return VoteChange.objects.filter(display__assignment=hit).order_by("pk")


def leave_behind(page: Page) -> Assignment:
    """Let the HIT run out, and go to the next one: what waits of the first is now of a HIT left behind; return that."""
    left = Assignment.objects.latest("pk")
    left.state, left.expires_at = "expired", timezone.now()
    left.save()
    left.slot.delete()
    following = claim_hit(annotator=left.annotator, at=timezone.now())
    assert following != left
    page.goto("/rate/")
    expect(page).to_have_url(re.compile(following.key))
    return left
