"""A HIT that has come: its first open pair in view with its choices, thanks and progress in the bar."""

import re
from collections.abc import Callable

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotation.annotators.messages import send_message
from annotation.models import Annotator
from tests.browser import outbox, walk
from tests.browser.realistic import realistic_batch
from tests.browser.walk import step

OpenAs = Callable[..., Page]

# Top of a pair, end of its choices, and the window's part between the bars, in pixels.
LIES = """card => {
    const box = (element) => element.getBoundingClientRect();
    const [above, below] = [".beside", "#hit-status"].map((name) => box(document.querySelector(name)));
    const isNarrow = innerWidth <= 900;
    return {
        top: box(card).top,
        end: box(card.querySelector(".choices")).bottom,
        from: isNarrow ? above.bottom : 0,
        to: isNarrow ? innerHeight : below.top,
    };
}"""


def lies(page: Page, place: int) -> dict[str, float]:
    """Return where a pair lies in the window."""
    found: dict[str, float] = walk.card(page, place).evaluate(LIES)
    return found


def expect_arrived(page: Page, place: int) -> None:
    """Expect this pair to be marked, and in view from its top to its choices."""
    expect(walk.card(page, place)).to_have_class(re.compile("current"))
    where = lies(page, place)
    assert where["from"] <= where["top"] < where["end"] <= where["to"], where


def test_the_first_open_pair_is_in_view_with_its_choices(open_as: OpenAs) -> None:
    realistic_batch(instances=3, pairs=3)
    page = walk.begin(open_as("ann", "annotator", viewport={"width": 1280, "height": 720}))
    with step("on the first HIT"):
        expect_arrived(page, 0)
    with step("on a page that is loaded again"):
        walk.rate(page, ["left"])
        page.reload()
        expect_arrived(page, 1)
    with step("on the next HIT, with thanks and progress in the bar"):
        walk.rate(page, ["left"] * 3)
        walk.submit_to(page, 2)
        expect_arrived(page, 0)
        bar, thanks = page.locator("#hit-status"), page.locator("#hit-status .thanks")
        expect(page.locator("main .notice:visible")).to_have_count(0)
        expect(thanks).to_be_in_viewport()
        expect(page.locator("#announcer[role=status]")).to_have_text(thanks.inner_text())
        expect(bar).to_contain_text("HITs done: 1")
    with step("thanks leave with the first vote, progress stays"):
        page.keyboard.press("1")
        outbox.expect_saved(page, 0)
        expect(thanks).to_have_count(0)
        expect(bar).to_contain_text("HITs done: 1")
    with step("from its top where it does not fit"):
        page.set_viewport_size({"width": 1280, "height": 420})
        page.reload()
        where = lies(page, 1)
        assert where["end"] > where["to"]
        assert where["from"] <= where["top"] < where["from"] + 20
    with step("a message of the study comes first"):
        walk.rate(page, ["left"] * 3)
        send_message(annotator=Annotator.objects.get(), text="Please read slowly.", by=None, at=timezone.now())
        walk.submit_to(page, 3)
        expect(page.get_by_text("Please read slowly.")).to_be_in_viewport()
        expect(walk.card(page, 0)).to_have_class(re.compile("current"))


@pytest.mark.weekly
def test_a_phone_arrives_at_the_first_pair(open_as: OpenAs) -> None:
    realistic_batch(instances=2, pairs=3)
    page = open_as(
        "ann", "annotator", one_pair=True, viewport={"width": 390, "height": 740}, has_touch=True, is_mobile=True
    )
    walk.begin(page)
    expect_arrived(page, 0)
    for place in range(3):
        walk.choose(page, place, "left")
        outbox.expect_saved(page, place)
        if place < 2:
            page.locator("[data-step='1'] >> visible=true").tap()
    walk.submit_to(page, 2)
    expect_arrived(page, 0)
