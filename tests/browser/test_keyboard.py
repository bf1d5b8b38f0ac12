"""The rating page without a mouse: whole HITs by keys alone, and keys that keep quiet where they should."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from playwright.sync_api import Page, Route, expect

from annotation.models import Assignment
from tests.browser import walk
from tests.browser.outbox import expect_saved
from tests.browser.realistic import realistic_batch
from tests.browser.walk import card, release, step
from tests.factories import make_annotator, make_batch, make_study

OpenAs = Callable[..., Page]


def checked(page: Page) -> list[str | None]:
    """Return what is chosen, pair by pair."""
    pairs = page.locator("form[data-pair]").all()
    return [
        pair.locator(":checked").get_attribute("value") if pair.locator(":checked").count() else None for pair in pairs
    ]


def test_hits_are_rated_by_keys_alone(open_as: OpenAs) -> None:
    make_batch(make_study(instances=3, k=3), pairs=3, raters=1)
    page = walk.begin(open_as("ann", "annotator"))
    submit, heading = page.locator("[data-action=submit]"), page.locator("h1")
    with step("the current pair stands out, in light and dark"):
        expect_outlined(page)

    with step("the focus moves on only when the choice is on the server, or seen to wait"):
        held: list[Route] = []
        page.route("**/vote/", lambda route: route.continue_() if held else held.append(route))
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
        expect_saved(page, 0)
    with step("keys choose, and lead to the next pair and to the end"):
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(card(page, 2).locator("h2")).to_be_focused()
        expect(card(page, 2)).to_have_class(re.compile("current"))
        page.keyboard.press("3")
        page.keyboard.press("Enter")
        expect(submit).to_be_focused()
        expect_saved(page, 0, 1, 2)
        assert walk.on_server(page) == {0: "left", 1: "none", 2: "right"}
        page.keyboard.press("Enter")
        expect(heading).to_have_text("HIT 2")

    page.set_viewport_size({"width": 500, "height": 300})  # so narrow that the texts stand one below the other
    with step("Backspace goes back"):
        for key in ("ArrowLeft", "Enter", "ArrowRight", "Enter"):
            page.keyboard.press(key)
            expect(page.locator(".saved", has_text="Saving")).to_have_count(0)
        expect(card(page, 2).locator("h2")).to_be_focused()
        page.keyboard.press("Backspace")
        page.keyboard.press("Backspace")
        expect(card(page, 0).locator("h2")).to_be_focused()
    told = card(page, 0).locator(".changed")
    with step("a saved choice that a key changes is told"):
        page.keyboard.press("3")
        expect(told).to_be_in_viewport()
        expect(told).to_have_text("Changed from “Top” to “Bottom”. Press 0 to undo.")
        expect(page.locator("#changes[role=status]")).to_contain_text("Pair 1: Changed from “Top” to “Bottom”.")
        expect(walk.pair(page, 0).locator(".answer")).to_have_class(re.compile("rated"))
        assert walk.on_server(page) == {0: "right", 1: "right"}
    with step("and changed back by one key, from another pair"):
        page.keyboard.press("Enter")
        expect(card(page, 1).locator("h2")).to_be_focused()
        page.keyboard.press("0")
        expect(told).to_have_text("Changed from “Bottom” to “Top”. Press 0 to undo.")
        expect(walk.pair(page, 0).locator("input[value=left]")).to_be_focused()
        expect(walk.pair(page, 0).locator(".answer")).to_have_class(re.compile("rated"))
        assert walk.on_server(page) == {0: "left", 1: "right"}
    with step("what another choice follows is not changed back"):
        walk.choose(page, 2, "none")
        expect(told).to_have_count(0)
        page.keyboard.press("0")
        assert checked(page) == ["left", "right", "none"]
    expect_saved(page, 2)
    walk.submit_to(page, 3)

    with step("keys wait in order while the page moves on"):
        page.clock.install()
        page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))  # else a slow machine sees the choice wait
        held.clear()
        for key in ("1", "Enter", "3", "Enter", "2"):
            page.keyboard.press(key)
        assert checked(page) == ["left", None, None]
        release(page, held)
        expect_saved(page, 0, 1, 2)
        assert checked(page) == ["left", "right", "none"]
        assert walk.on_server(page) == {0: "left", 1: "right", 2: "none"}
    assert Assignment.objects.filter(state="submitted").count() == 2


def test_keys_choose_only_where_they_should(open_as: OpenAs) -> None:
    realistic_batch(instances=2, pairs=3, guidelines="Read.")
    page = walk.begin(open_as("ann", "annotator", viewport={"width": 1280, "height": 2400}))
    first = walk.pair(page, 0).locator("input[value=left]")
    with step("with a modifier, in fields and on links they mean something else"):
        expect_to_mean_something_else(page)
    with step("a question mark lists the keys, and Escape leads back"):
        page.keyboard.press("1")
        expect(first).to_be_focused()
        page.keyboard.press("?")
        listed, button = page.locator("dialog"), page.get_by_role("button", name="List of keyboard shortcuts")
        expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Backspace")
        page.keyboard.press("3")  # the list takes no votes
        page.keyboard.press("Escape")
        expect(listed).to_be_hidden()
        expect(first).to_be_focused()
        assert checked(page) == ["left", None, None]
        button.click()
        expect(listed).to_be_visible()
        page.get_by_role("button", name="Close").click()
        expect(button).to_be_focused()

    with step("they go to the pair in view: the next one after a click"):
        walk.pair(page, 0).locator("label:has([value=none])").click()
        expect(card(page, 1)).to_have_class(re.compile("current"))
        page.keyboard.press("3")
        expect_saved(page, 1)
        assert checked(page) == ["none", "right", None]
    page.set_viewport_size({"width": 1280, "height": 620})
    with step("and the one that was scrolled to"):
        for place in (0, 2):
            card(page, place).evaluate("card => card.scrollIntoView({block: 'start', behavior: 'instant'})")
            expect(card(page, place)).to_have_class(re.compile("current"))
        page.keyboard.press("3")
        expect_saved(page, 2)
        assert checked(page) == ["none", "right", "right"]
    walk.submit_to(page, 2)
    with step("a pair that was rated and scrolled away is left alone"):
        page.keyboard.press("1")
        expect_saved(page, 0)
        wheel(page, card(page, 1).evaluate("card => card.getBoundingClientRect().top") - 92)  # 72 of it, 20 between
        before = page.evaluate("scrollY")
        page.keyboard.press("3")
        expect_saved(page, 1)
        assert walk.on_server(page) == {0: "left", 1: "right"}
        assert page.evaluate("scrollY") >= before  # it may go on to the choices, never back

    with step("switched off they scroll, as on any page, and stay off"):
        switch = page.get_by_role("switch", name="Keyboard shortcuts")
        switch.uncheck()
        page.reload()
        expect(switch).not_to_be_checked()
        page.evaluate("scrollTo(0, 0)")
        page.locator("h1").click()
        for key in ("2", "?", "ArrowRight"):
            page.keyboard.press(key)
        expect(listed).to_be_hidden()
        assert page.evaluate("scrollY") == 0
        page.keyboard.press("ArrowDown")
        page.wait_for_function("() => scrollY > 0")
        assert checked(page) == ["left", "right", None]
        switch.check()
        page.locator("#hit-status").get_by_role("link", name="pair 3").click()
        page.keyboard.press("1")
        expect_saved(page, 2)

    other = make_study("other", instances=1, k=2, ties_allowed=False)
    make_batch(other, raters=1)
    make_annotator(other, "ann")
    walk.submit_to(page, 1)
    with step("where no preference is not on offer, its keys do nothing"):
        page.keyboard.press("1")
        expect_saved(page, 0)
        page.keyboard.press("2")
        page.keyboard.press("ArrowDown")
        assert checked(page) == ["left", None]


def expect_to_mean_something_else(page: Page) -> None:
    """Press keys that choose nothing, on the first pair and around it; come back from the last one's page."""
    for key in ("Control+1", "Alt+1", "Meta+1", "Shift+ArrowRight"):
        page.locator("body").press(key)
        assert checked(page) == [None, None, None], key
    report = card(page, 0).locator(".report")
    report.locator("summary").click()
    field = report.locator("textarea")
    field.press_sequentially("1 2 3?")
    field.press("Backspace")
    field.press("Enter")
    expect(field).to_be_focused()
    expect(field).to_have_value("1 2 3\n")
    report.locator("input[value=other]").focus()
    page.keyboard.press("3")
    page.get_by_label("Text size").press("1")
    expect(page.locator("dialog")).to_be_hidden()
    assert checked(page) == [None, None, None]
    page.locator(".guidelines summary").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".guidelines")).to_have_attribute("open", "")
    hit = page.url
    page.get_by_role("link", name="Return this HIT").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/return/$"))
    page.goto(hit)


def expect_outlined(page: Page) -> None:
    """Expect an outline of enough contrast around the current pair, and one around whatever has the focus."""
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
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


def luminance(color: Sequence[float]) -> float:
    """Return the relative luminance of an sRGB colour, as WCAG defines it."""
    parts = [one / 255 for one in color]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def wheel(page: Page, pixels: float) -> None:
    """Turn the wheel down so far, and wait until the page is there."""
    target = page.evaluate("scrollY") + pixels
    page.mouse.move(900, 300)
    page.mouse.wheel(0, pixels)
    page.wait_for_function("y => Math.abs(scrollY - y) < 2", arg=target)
