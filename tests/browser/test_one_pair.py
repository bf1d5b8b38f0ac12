"""One pair at a time, as a phone shows it at first; on wide screens see test_leading_on."""

from collections.abc import Callable

from playwright.sync_api import FloatRect, Locator, Page, expect

from annotation.models import VoteChange
from tests.browser import outbox, walk
from tests.browser.realistic import realistic_batch
from tests.browser.test_two_stages import two_stage_study
from tests.browser.walk import step

OpenAs = Callable[..., Page]
PHONE = {"width": 360, "height": 640}


def open_phone(open_as: OpenAs) -> Page:
    """Open a phone's browser at the first HIT."""
    return walk.begin(open_as("ann", "annotator", one_pair=True, viewport=PHONE, has_touch=True, is_mobile=True))


def expect_only(page: Page, place: int, total: int = 3) -> None:
    """Expect this pair, from 0, to be in view and the others not."""
    for one in range(total):
        (expect(walk.pair(page, one)).to_be_visible if one == place else expect(walk.pair(page, one)).to_be_hidden)()


def box(part: Locator) -> FloatRect:
    """Return where a part lies on the screen."""
    found = part.bounding_box()
    assert found is not None
    return found


def test_a_phone_shows_one_pair_at_a_time(open_as: OpenAs) -> None:
    realistic_batch(pairs=3, guidelines="Read.")
    page = open_phone(open_as)
    onward, back = page.locator("[data-step='1'] >> visible=true"), page.locator("[data-step='-1'] >> visible=true")
    with step("steps lead from pair to pair"):
        expect_only(page, 0)
        onward.tap()
        expect_only(page, 1)
        back.tap()
        expect_only(page, 0)
        onward.tap()
        expect_only(page, 1)
    with step("both texts and the choices are on one screen, below the bar of the source"):
        card = walk.card(page, 1)
        top, choices, bar = box(card.locator("h2")), box(card.locator(".choices")), box(page.locator(".beside"))
        assert bar["y"] + bar["height"] <= top["y"] + 1
        assert choices["y"] + choices["height"] <= PHONE["height"]
        assert min(box(side)["height"] for side in card.locator(".side").all()) >= 90
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    with step("a link leads to a pair, and there is nothing behind the last one"):
        page.locator("#hit-status a").nth(2).tap()
        expect_only(page, 2)
        expect(onward).to_be_disabled()
        walk.choose(page, 2, "left")
        outbox.expect_saved(page, 2)
    with step("a reload shows the first pair without a choice"):
        page.reload()
        expect_only(page, 0)
    with step("whether the source was opened goes along with a choice"):
        summary, text = page.locator(".source summary"), page.locator(".source .text")
        summary.tap()
        expect(text).to_be_visible()
        summary.tap()
        page.wait_for_function("() => !Object.entries(sessionStorage).flat().join().match('tandem.source.[^,]+,1')")
        page.reload()
        expect(text).to_be_hidden()
        walk.choose(page, 0, "left")
        outbox.expect_saved(page, 0)
        opened = VoteChange.objects.order_by("pk").values_list("source_opened", flat=True)
        assert list(opened) == [False, True]
    with step("a rater can have all pairs"):
        page.locator("#tool-one").click()
        for place in range(3):
            expect(walk.pair(page, place)).to_be_visible()


def test_the_second_stage_shows_table_texts_and_vote_together(open_as: OpenAs) -> None:
    two_stage_study("table:c8")
    page = open_phone(open_as)
    walk.choose(page, 0, "left")
    outbox.expect_saved(page, 0)
    page.locator("[data-step='1'] >> visible=true").click()
    walk.choose(page, 1, "left")
    outbox.expect_saved(page, 1)
    walk.lock(page)
    expect(page.locator("#stage > .card.closed").first).to_be_hidden()
    card = page.locator("[data-card]")
    texts, choices = box(card.locator(".sides")), box(card.locator(".choices"))
    assert choices["y"] + choices["height"] - texts["y"] <= PHONE["height"]
    walk.decide(page, "right")
