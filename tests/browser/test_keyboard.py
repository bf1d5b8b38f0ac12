"""The rating page without a mouse: a whole HIT by keys alone, and keys that keep quiet where they should."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from annotation.models import Assignment, Rating
from annotation.rating.votes import rated_choice
from tests.browser import walk
from tests.browser.realistic import realistic_batch
from tests.browser.test_two_stages import at_second_stage, two_stage_study
from tests.factories import make_batch, make_study

OpenAs = Callable[..., Page]


@pytest.fixture
def page(open_as: OpenAs, transactional_db: None) -> Page:
    """A HIT of three pairs, just begun."""
    make_batch(make_study(instances=1, k=3, guidelines="Read."), pairs=3, raters=1)
    page = open_as("ann", "annotator")
    walk.begin(page)
    return page


def card(page: Page, place: int) -> Locator:
    """Return the card of the pair at this place, from 0."""
    return page.locator("[data-card]").nth(place)


def checked(page: Page) -> list[str | None]:
    """Return what is chosen, pair by pair."""
    pairs = page.locator("form[data-pair]").all()
    return [
        pair.locator(":checked").get_attribute("value") if pair.locator(":checked").count() else None for pair in pairs
    ]


def stored() -> list[str]:
    """Return the choices on the server, in the order of the page."""
    return [
        rated_choice(one)
        for one in Rating.objects.of_every_question().select_related("display").order_by("display__position")
    ]


def release(page: Page, held: list[Route]) -> None:
    """Let the first request that was held go on to the server, as soon as Playwright has handed it over."""
    while not held:
        page.evaluate("0")
    held[0].continue_()


def test_a_hit_is_finished_by_keys_alone(page: Page) -> None:
    hit = page.url
    for place, key in enumerate(("1", "ArrowDown", "3")):
        page.keyboard.press(key)
        page.keyboard.press("Enter")
        expect(walk.pair(page, place).locator(".saved")).to_contain_text("Saved at")
        if place < 2:
            expect(card(page, place + 1).locator("h2")).to_be_focused()
            expect(card(page, place + 1)).to_have_class(re.compile("current"))
    expect(page.locator("[data-action=submit]")).to_be_focused()
    assert stored() == ["left", "none", "right"]
    page.keyboard.press("Enter")

    expect(page).not_to_have_url(hit)
    assert Assignment.objects.get().state == "submitted"


def test_the_focus_moves_on_only_when_the_choice_is_on_the_server_or_seen_to_wait(page: Page) -> None:
    held: list[Route] = []
    page.route("**/vote/", lambda route: held.append(route))
    page.evaluate(
        """() => {
            const [line, heading] = [() => document.querySelector(".saved"), document.querySelectorAll("[data-card] h2")[1]];
            heading.addEventListener("focus", () => (document.title = line().textContent.trim()));
        }"""
    )
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(walk.pair(page, 0).locator(".saved")).to_contain_text(re.compile("Saving|Waiting"))
    release(page, held)
    expect(card(page, 1).locator("h2")).to_be_focused()
    expect(page).to_have_title(re.compile("^(Saved at|Waiting)"))
    expect(walk.pair(page, 0).locator(".saved")).to_contain_text("Saved at")
    assert stored() == ["left"]


def test_backspace_goes_back_and_a_choice_can_be_changed(page: Page) -> None:
    for key in ("ArrowLeft", "Enter", "ArrowRight", "Enter"):
        page.keyboard.press(key)
        expect(page.locator(".saved", has_text="Saving")).to_have_count(0)
    expect(card(page, 2).locator("h2")).to_be_focused()
    page.keyboard.press("Backspace")
    page.keyboard.press("Backspace")
    expect(card(page, 0).locator("h2")).to_be_focused()
    page.keyboard.press("2")
    expect(walk.pair(page, 0).locator("input[value=none]")).to_be_focused()
    expect(walk.pair(page, 0)).to_have_class(re.compile("rated"))
    assert (checked(page), stored()) == (["none", "right", None], ["none", "right"])


def test_a_question_mark_lists_the_keys_and_escape_leads_back(page: Page) -> None:
    page.keyboard.press("1")
    radio = walk.pair(page, 0).locator("input[value=left]")
    expect(radio).to_be_focused()
    page.keyboard.press("?")
    listed = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(listed).to_be_visible()
    expect(listed).to_contain_text("Backspace")
    page.keyboard.press("3")  # the list takes no votes
    page.keyboard.press("Escape")
    expect(listed).to_be_hidden()
    expect(walk.pair(page, 0).locator("input[value=left]")).to_be_focused()
    assert checked(page) == ["left", None, None]

    page.get_by_role("button", name="List of keyboard shortcuts").click()
    expect(listed).to_be_visible()
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("button", name="List of keyboard shortcuts")).to_be_focused()


def test_shortcuts_can_be_switched_off_and_stay_off(page: Page) -> None:
    page.set_viewport_size({"width": 800, "height": 400})
    page.get_by_role("switch", name="Keyboard shortcuts").uncheck()
    page.reload()
    expect(page.get_by_role("switch", name="Keyboard shortcuts")).not_to_be_checked()
    page.locator("h1").click()
    for key in ("1", "?", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator("dialog")).to_be_hidden()
    assert page.evaluate("scrollY") == 0
    page.keyboard.press("ArrowDown")  # which scrolls, as on any page
    page.wait_for_function("() => scrollY > 0")
    assert checked(page) == [None, None, None]

    page.get_by_role("switch", name="Keyboard shortcuts").check()
    page.keyboard.press("1")
    expect(walk.pair(page, 0).locator(".saved")).to_contain_text("Saved at")


def test_keys_that_mean_something_else_choose_nothing(page: Page) -> None:
    for key in ("Control+1", "Alt+1", "Meta+1", "Shift+ArrowRight"):
        page.locator("body").press(key)
        assert checked(page) == [None, None, None], key

    report = card(page, 0).locator(".report")
    report.locator("summary").click()
    report.locator("textarea").press_sequentially("1 2 3?")
    report.locator("textarea").press("Backspace")
    report.locator("textarea").press("Enter")
    expect(report.locator("textarea")).to_be_focused()
    expect(report.locator("textarea")).to_have_value("1 2 3\n")
    report.locator("input[value=other]").focus()
    page.keyboard.press("3")
    page.get_by_label("Text size").press("1")
    expect(page.locator("dialog")).to_be_hidden()
    assert checked(page) == [None, None, None]

    guidelines = page.locator(".guidelines")
    guidelines.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(guidelines).to_have_attribute("open", "")
    page.get_by_role("link", name="Return this HIT").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/return/$"))


def test_without_no_preference_its_keys_do_nothing(open_as: OpenAs, transactional_db: None) -> None:
    make_batch(make_study(instances=1, k=2, ties_allowed=False), raters=1)
    page = open_as("ann", "annotator")
    walk.begin(page)
    page.keyboard.press("1")
    expect(walk.pair(page, 0).locator(".saved")).to_contain_text("Saved at")
    page.keyboard.press("2")
    page.keyboard.press("ArrowDown")
    assert checked(page) == ["left", None]


def test_keys_go_to_the_pair_in_view(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 1600})
    walk.pair(page, 0).locator("label:has([value=left])").click()  # which leads to the next pair, if it is in view
    expect(card(page, 1)).to_have_class(re.compile("current"))
    page.keyboard.press("3")
    expect(walk.pair(page, 1).locator(".saved")).to_contain_text("Saved at")
    assert checked(page) == ["left", "right", None]

    page.set_viewport_size({"width": 1000, "height": 420})
    card(page, 0).evaluate("card => card.scrollIntoView({block: 'start', behavior: 'instant'})")
    expect(card(page, 0)).to_have_class(re.compile("current"))
    card(page, 2).evaluate("card => card.scrollIntoView({block: 'start', behavior: 'instant'})")
    expect(card(page, 2)).to_have_class(re.compile("current"))
    page.keyboard.press("3")
    expect(walk.pair(page, 2).locator(".saved")).to_contain_text("Saved at")
    assert checked(page) == ["left", "right", "right"]


def test_focus_and_current_pair_are_always_visible(page: Page) -> None:
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        outline, ground = page.locator(".card.current").evaluate(
            """card => {
                const style = getComputedStyle(card);
                return [style.outlineColor, getComputedStyle(document.documentElement).backgroundColor]
                    .map(color => color.match(/[0-9.]+/g).map(Number));
            }"""
        )
        assert len(outline) == len(ground) == 3  # neither is see-through
        light, dark = sorted((luminance(outline), luminance(ground)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3, theme

    outlines = []
    for _ in range(12):
        page.keyboard.press("Tab")
        outlines.append(
            page.evaluate(
                """() => {
                    const at = document.activeElement, holder = at.closest("label.choice") ?? at;
                    const style = getComputedStyle(holder);
                    return [at.outerHTML.slice(0, 60), style.outlineStyle !== "none" || style.boxShadow !== "none"];
                }"""
            )
        )
    assert [told for told, seen in outlines if not seen] == []


def test_a_key_leaves_a_pair_alone_that_was_scrolled_away(open_as: OpenAs, transactional_db: None) -> None:
    realistic_batch(pairs=3)
    page = open_as("ann", "annotator", viewport={"width": 1280, "height": 620})
    walk.begin(page)
    page.keyboard.press("1")
    expect(walk.pair(page, 0).locator(".saved")).to_contain_text("Saved at")
    wheel(page, card(page, 1).evaluate("card => card.getBoundingClientRect().top") - 92)  # 72 of the pair, 20 between
    before = page.evaluate("scrollY")
    page.keyboard.press("3")
    expect(walk.pair(page, 1).locator(".saved")).to_contain_text("Saved at")
    assert stored() == ["left", "right"]
    assert page.evaluate("scrollY") >= before  # it may go on to the choices, never back


def wheel(page: Page, pixels: float) -> None:
    """Turn the wheel down so far, and wait until the page is there."""
    target = page.evaluate("scrollY") + pixels
    page.mouse.move(900, 300)
    page.mouse.wheel(0, pixels)
    page.wait_for_function("y => Math.abs(scrollY - y) < 2", arg=target)


def test_keys_wait_in_order_while_the_page_moves_on(page: Page) -> None:
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + timedelta(seconds=1))  # else a slow machine sees the choice wait
    held: list[Route] = []
    page.route("**/vote/", lambda route: route.continue_() if held else held.append(route))
    for key in ("1", "Enter", "3", "Enter", "2"):
        page.keyboard.press(key)
    assert checked(page) == ["left", None, None]
    release(page, held)
    for place in range(3):
        expect(walk.pair(page, place).locator(".saved")).to_contain_text("Saved at")
    assert (checked(page), stored()) == (["left", "right", "none"], ["left", "right", "none"])


def test_keys_wait_while_the_second_stage_moves_on(open_as: OpenAs, transactional_db: None) -> None:
    two_stage_study("table:c8")
    page = open_as("ann", "annotator")
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + timedelta(seconds=1))  # else a slow machine sees the choice wait
    at_second_stage(page)
    held: list[Route] = []
    page.route("**/second/", lambda route: route.continue_() if held else held.append(route))
    for key in ("1", "Enter", "3"):
        page.keyboard.press(key)
    expect(walk.pair(page, 0).locator("input[value=left]")).to_be_checked()
    release(page, held)
    expect(page.locator(".card.decided")).to_have_count(1)
    expect(walk.pair(page, 0).locator("input[value=right]")).to_be_checked()
    assert stored_second() == ["left"]


def test_a_saved_vote_that_a_key_changes_is_told_and_changed_back_by_one_key(page: Page) -> None:
    page.set_viewport_size({"width": 500, "height": 300})  # so narrow that the texts stand one below the other
    page.keyboard.press("1")
    expect(walk.pair(page, 0).locator(".saved")).to_contain_text("Saved at")
    page.keyboard.press("3")
    told = card(page, 0).locator(".changed")
    expect(told).to_be_in_viewport()
    expect(told).to_have_text("Changed from “Top” to “Bottom”. Press 0 to undo.")
    expect(page.locator("#changes[role=status]")).to_contain_text("Pair 1: Changed from “Top” to “Bottom”.")
    expect(walk.pair(page, 0)).to_have_class(re.compile("rated"))
    assert stored() == ["right"]

    page.keyboard.press("Enter")
    expect(card(page, 1).locator("h2")).to_be_focused()
    page.keyboard.press("0")
    expect(told).to_have_text("Changed from “Bottom” to “Top”. Press 0 to undo.")
    expect(walk.pair(page, 0).locator("input[value=left]")).to_be_focused()
    expect(walk.pair(page, 0)).to_have_class(re.compile("rated"))
    assert stored() == ["left"]

    walk.choose(page, 1, "none")
    expect(told).to_have_count(0)
    page.keyboard.press("0")  # what is done by now is not what a key has changed
    assert checked(page) == ["left", "none", None]


def luminance(color: Sequence[float]) -> float:
    """Return the relative luminance of an sRGB colour, as WCAG defines it."""
    parts = [one / 255 for one in color]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def stored_second() -> list[str]:
    """Return the second choices on the server, in the order of the page."""
    return [
        rated_choice(one)
        for one in Rating.objects.of_every_question().filter(stage="revised").order_by("display__position")
    ]
