"""One pair at a time: what a phone shows at first, and what a rater can choose on every screen."""

from collections.abc import Callable

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

from annotation.models import VoteChange
from tests.browser import outbox, walk
from tests.browser.realistic import realistic_batch
from tests.browser.test_two_stages import two_stage_study
from tests.factories import make_batch, make_study

OpenAs = Callable[..., Page]
PHONE = {"width": 360, "height": 640}


@pytest.fixture
def phone(open_as: OpenAs, transactional_db: None) -> Page:
    """A HIT of three pairs of real length on a phone."""
    realistic_batch(pairs=3, guidelines="Read.")
    page = open_as("ann", "annotator", one_pair=True, viewport=PHONE, has_touch=True, is_mobile=True)
    walk.begin(page)
    return page


def expect_only(page: Page, place: int, total: int = 3) -> None:
    """Expect this pair, from 0, to be in view and the others not."""
    for one in range(total):
        (expect(walk.pair(page, one)).to_be_visible if one == place else expect(walk.pair(page, one)).to_be_hidden)()


def box(part: Locator) -> FloatRect:
    """Return where a part lies on the screen."""
    found = part.bounding_box()
    assert found is not None
    return found


def test_a_phone_shows_one_pair_on_one_screen(phone: Page) -> None:
    """Both texts and the choices: from the heading to the last choice within the screen, below the bar of the source."""
    expect_only(phone, 0)
    phone.locator("[data-step='1'] >> visible=true").click()
    expect_only(phone, 1)
    card = walk.card(phone, 1)
    top, choices, bar = box(card.locator("h2")), box(card.locator(".choices")), box(phone.locator(".beside"))
    assert bar["y"] + bar["height"] <= top["y"] + 1
    assert choices["y"] + choices["height"] <= PHONE["height"]
    assert min(box(side)["height"] for side in card.locator(".side").all()) >= 90
    assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_steps_links_and_choices_lead_from_pair_to_pair(phone: Page) -> None:
    phone.locator("[data-step='1'] >> visible=true").tap()
    expect_only(phone, 1)
    phone.locator("[data-step='-1'] >> visible=true").tap()
    expect_only(phone, 0)
    phone.locator("#hit-status a").nth(2).tap()
    expect_only(phone, 2)
    expect(phone.locator("[data-step='1'] >> visible=true")).to_be_disabled()
    walk.choose(phone, 2, "left")
    outbox.expect_saved(phone, 2)
    phone.reload()
    expect_only(phone, 0)  # the first without a choice
    phone.locator("#tool-one").click()
    for place in range(3):
        expect(walk.pair(phone, place)).to_be_visible()


def test_whether_the_source_was_opened_is_recorded(phone: Page) -> None:
    walk.choose(phone, 0, "left")
    outbox.expect_saved(phone, 0)
    phone.locator(".source summary").tap()
    expect(phone.locator(".source .text")).to_be_visible()
    phone.locator(".source summary").tap()
    phone.reload()
    expect(phone.locator(".source .text")).to_be_hidden()
    walk.choose(phone, 1, "left")
    outbox.expect_saved(phone, 1)
    assert list(VoteChange.objects.of_every_question().order_by("pk").values_list("source_opened", flat=True)) == [
        False,
        True,
    ]


def test_on_a_wide_screen_it_is_a_raters_choice_and_is_kept(open_as: OpenAs, transactional_db: None) -> None:
    make_batch(make_study(instances=2, k=3, auto_advance=True), pairs=3, raters=1)
    page = open_as("ann", "annotator", one_pair=True)
    walk.begin(page)
    expect(walk.pair(page, 2)).to_be_visible()
    page.locator("#tool-one").check()
    for place, key in enumerate("132"):
        expect_only(page, place)
        page.keyboard.press(key)
    expect(page.locator("[data-action=submit]")).to_be_focused()
    page.keyboard.press("Backspace")
    expect_only(page, 2)
    walk.submit(page)
    expect(page.locator("h1")).to_have_text("HIT 2 of 2")
    expect_only(page, 0)


def test_the_second_stage_shows_table_texts_and_vote_together(open_as: OpenAs, transactional_db: None) -> None:
    two_stage_study("table:c8")
    page = open_as("ann", "annotator", one_pair=True, viewport=PHONE, has_touch=True, is_mobile=True)
    walk.begin(page)
    pairs = page.locator("form[data-pair]").count()
    for place in range(pairs):
        walk.choose(page, place, "left")
        outbox.expect_saved(page, place)
        if place + 1 < pairs:
            page.locator("[data-step='1'] >> visible=true").click()
    walk.lock(page)
    expect(page.locator("#stage > .card.closed").first).to_be_hidden()
    card = page.locator("[data-card]")
    texts, choices = box(card.locator(".sides")), box(card.locator(".choices"))
    assert choices["y"] + choices["height"] - texts["y"] <= PHONE["height"]
    walk.decide(page, "right")
