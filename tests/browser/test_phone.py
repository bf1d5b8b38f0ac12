"""What lies where on small and short screens: nothing is off the side, and nothing focused lies below something else."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from annotation.models import ComparisonTable, Study
from tests.browser import walk
from tests.browser.realistic import realistic_batch, realistic_rows
from tests.browser.walk import step
from tests.factories import add_instances, add_tables, make_batch, make_study

OpenAs = Callable[..., Page]

PHONE: ViewportSize = {"width": 360, "height": 740}
LAPTOP: ViewportSize = {"width": 1280, "height": 800}
TABLET: ViewportSize = {"width": 880, "height": 900}
SIZES_OF_KEYS: list[ViewportSize] = [{"width": 1000, "height": 600}, TABLET]
THUMB = 44

# Whether an element is wholly in the window, and at its middle nothing lies over it.
UNCOVERED = """element => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    if (left < 0 || top < 0 || right > innerWidth || bottom > innerHeight) return `${left} ${top} ${right} ${bottom}`;
    for (const y of [top + 2, (top + bottom) / 2, bottom - 2]) {
        const found = document.elementFromPoint((left + right) / 2, y);
        if (!element.contains(found) && !found?.contains(element)) return found?.outerHTML.slice(0, 80) ?? "nothing";
    }
    return "";
}"""


UNEVEN = [
    {"aspect": "Aspect", "only_a": "Donaudampfschifffahrtsgesellschaftskapitän " * 3, "both": "ok", "only_b": "no"},
    {"aspect": "Rechtsschutzversicherungsgesellschaften", "only_a": "x", "both": "y", "only_b": "a long remark " * 20},
]


def two_stages(**settings: Any) -> Study:
    """Make a two-stage study of long texts, with a table for each of its three pairs."""
    study = make_study(instances=0, protocol="two-stage", arms=["table:c8"], guidelines="Read.", **settings)
    add_instances(study, realistic_rows(k=3))
    rows = [
        {"aspect": "Way", "only_a": "a", "both": "they walk for ten minutes " * 3, "only_b": ""},
        {"aspect": "Ferry", "only_a": "cancelled at seven " * 4, "both": "", "only_b": "runs at eight twenty " * 4},
    ]
    add_tables(study, rows=rows)
    make_batch(study, pairs=3, raters=1)
    return study


def box(locator: Locator) -> dict[str, float]:
    """Return where an element is."""
    found = locator.bounding_box()
    return {"x": found["x"], "y": found["y"], "width": found["width"], "height": found["height"]}


def expect_uncovered(locator: Locator) -> None:
    """Fail with what is over it, or with where it is outside the window."""
    assert locator.evaluate(UNCOVERED) == ""


def open_source(page: Page) -> None:
    """Open the source, which is a closed bar on a narrow screen."""
    page.locator(".source summary").click()
    expect(page.locator(".source .text")).to_be_visible()


def test_a_hit_and_its_source(open_as: OpenAs) -> None:
    realistic_batch(pairs=4)
    page = walk.begin(open_as("ann", "annotator", viewport=PHONE))
    source, summary, text = page.locator(".source"), page.locator(".source summary"), page.locator(".source .text")
    with step("what is touched is as large as a thumb"):
        bars = page.locator("main summary")
        expect(bars).to_have_count(5)  # source, four reports
        assert [bar for bar in bars.all() if box(bar)["height"] < THUMB] == []
        assert min(box(choice)["width"] for choice in page.locator(".choice").all()) > 240
    with step("the source is a bar that says what it is, and stays in view"):
        expect(text).to_be_hidden()
        expect(summary.get_by_text("open to read")).to_be_visible()
        walk.card(page, 2).scroll_into_view_if_needed()
        assert box(source)["y"] <= 1
    with step("the bar of an open source can always be reached"):
        open_source(page)
        expect(summary.get_by_text("open to read")).to_be_hidden()
        assert box(source)["height"] <= PHONE["height"] / 2
        walk.card(page, 1).evaluate("card => card.scrollIntoView({behavior: 'instant'})")
        source.evaluate("source => source.scrollTo(0, source.scrollHeight)")
        assert source.evaluate("source => source.scrollTop") > 100
        expect_uncovered(summary)
        assert box(summary)["y"] <= box(source)["y"] + 2  # nothing of the text shows above it
        summary.click()
        expect(text).to_be_hidden()
        assert box(source)["height"] <= 60
    with step("it stays open over a reload"):
        open_source(page)
        page.wait_for_function("() => Object.entries(sessionStorage).flat().join().match('tandem.source.[^,]+,1')")
        page.reload()
        expect(text).to_be_visible()

    for size in (PHONE, TABLET):
        with step(f"an open source does not cover what one goes to, {size['width']} wide"):
            page.set_viewport_size(size)
            expect_led_to(page, size)
    for size, choice in ((PHONE, "left"), (LAPTOP, "right")):
        with step(f"the page stays where it is while a choice is saved, {size['width']} wide"):
            page.set_viewport_size(size)
            for place in range(3):
                radio = walk.pair(page, place).locator(f"input[value={choice}]")
                radio.evaluate("radio => radio.scrollIntoView({block: 'center', behavior: 'instant'})")
                before = page.evaluate("scrollY")
                with page.expect_response("**/vote/"):
                    walk.choose(page, place, choice)
                expect(walk.pair(page, place).locator(".saved")).to_contain_text("Saved at")
                assert page.evaluate("scrollY") == before
    assert [bar for bar in bars.all() if box(bar)["height"] < 24] == []
    page.set_viewport_size(PHONE)
    summary.click()
    with step("the line about waiting choices covers neither source nor foot"):
        page.context.set_offline(True)
        expect(walk.choose(page, 0, "none")).to_contain_text("Waiting")
        expect_line_apart(page)

    with step("without scripts the source covers nothing, and there are no tools"):
        plain = open_as("ann", java_script_enabled=False, viewport=PHONE)
        plain.goto(page.url)
        expect(plain.locator(".source .text")).to_be_visible()
        expect(plain.get_by_role("timer")).to_have_text(re.compile(r"until \d\d:\d\d UTC"))
        expect(plain.locator("#tools")).to_be_hidden()
        plain.locator("[data-card] input[type=radio]").last.scroll_into_view_if_needed()
        at = box(plain.locator(".source"))
        assert at["y"] + at["height"] < 0


def expect_led_to(page: Page, size: ViewportSize) -> None:
    """Go by a link and by keys, with the source open; what one comes to lies below it and nothing else."""
    source, headings, fieldset = (
        page.locator(".source"),
        page.locator("[data-card] h2"),
        walk.pair(page, 2).locator("fieldset"),
    )
    assert box(source)["height"] <= size["height"] / 2
    page.locator("#hit-status").get_by_role("link", name="pair 4").click()
    expect_uncovered(headings.nth(3))
    for key, place in (("Backspace", 2), ("1", None), ("Enter", 3), ("Backspace", 2), ("2", None)):
        page.keyboard.press(key)
        if place is None:
            expect(walk.pair(page, 2).locator(".saved")).to_contain_text("Saved at")
            expect_uncovered(fieldset)
        else:
            expect(headings.nth(place)).to_be_focused()
            expect_uncovered(headings.nth(place))
            assert box(headings.nth(place))["y"] >= box(source)["y"] + box(source)["height"]


def expect_line_apart(page: Page) -> None:
    """Expect the line about one choice that waits to be in view, and to overlap nothing, wherever the page is."""
    line, heading = page.locator("#outbox"), page.locator(".source summary")
    expect(line).to_contain_text("Choices waiting to be sent: 1.")
    for size in (LAPTOP, PHONE):
        page.set_viewport_size(size)
        for to in ("0", "900", "document.body.scrollHeight"):
            page.evaluate(f"scrollTo({{top: {to}, behavior: 'instant'}})")
            if to == "900":
                expect_uncovered(line)
                expect_uncovered(heading)
            expect_apart(line, heading)
            expect_apart(line, page.locator("#hit-status"))
    expect_uncovered(line)
    assert box(line)["y"] < box(page.locator("#hit-status"))["y"]


@pytest.mark.weekly
def test_two_stages_on_every_screen(open_as: OpenAs) -> None:
    study = two_stages()
    page = walk.begin(open_as("ann", "annotator"))
    for size in SIZES_OF_KEYS:
        with step(f"a key shows what it chooses, {size['width']} wide"):
            page.set_viewport_size(size)
            for key, place in (
                ("1", 0),
                ("Enter", 1),
                ("2", 1),
                ("Enter", 2),
                ("3", 2),
                ("Backspace", 1),
                ("Backspace", 0),
            ):
                page.keyboard.press(key)
                if len(key) > 1:
                    expect(page.locator("[data-card] h2").nth(place)).to_be_focused()
                    expect_uncovered(page.locator("[data-card] h2").nth(place))
                else:
                    expect(walk.pair(page, place).locator(".saved")).to_contain_text("Saved at")
                    expect_uncovered(walk.pair(page, place).locator("fieldset"))
    walk.lock(page)
    for size in SIZES_OF_KEYS:
        with step(f"and in the second stage, {size['width']} wide"):
            page.set_viewport_size(size)
            page.reload()
            page.evaluate("scrollTo(0, 0)")
            page.keyboard.press("1")
            expect(walk.pair(page, 0).locator("input[value=left]")).to_be_focused()
            expect_uncovered(walk.pair(page, 0).locator("fieldset"))

    page.set_viewport_size(PHONE)
    assert box(page.locator("#guidelines summary"))["height"] >= THUMB
    with step("on a phone a row's cells lie below each other, with their names"):
        region = page.get_by_role("region", name="Comparison of the two texts of pair 1")
        assert region.evaluate("box => box.scrollWidth <= box.clientWidth")
        table = page.get_by_role("table", name="Comparison of the two texts of pair 1")
        expect(table.get_by_role("row")).to_have_count(3)
        expect(table.get_by_role("rowheader")).to_have_text(["Way", "Ferry"])
        expect(table.get_by_role("columnheader")).to_have_count(5)
        row = table.get_by_role("row").nth(2)
        cells = row.get_by_role("cell")
        expect(cells).to_have_count(4)
        left, both, right, report = [box(cell) for cell in cells.all()]
        assert left["y"] < both["y"] < right["y"] < report["y"]
        assert left["width"] == both["width"] == right["width"] > 250
        labels = cells.evaluate_all("all => all.map(cell => getComputedStyle(cell, '::before').content)")
        assert labels[:3] == ['"Only Top"', '"Both"', '"Only Bottom"']
        for element in (*cells.all(), row.get_by_role("button")):
            at = box(element)
            assert at["x"] >= 0
            assert at["x"] + at["width"] <= PHONE["width"]
        flag = page.get_by_role("button", name="Not supported by the texts: Ferry")
        flag.click()
        expect(flag).to_have_attribute("aria-pressed", "true")
    with step("a table where there is room"):
        page.set_viewport_size(LAPTOP)  # a table where there is room
        cells = page.get_by_role("table").get_by_role("row").nth(1).get_by_role("cell")
        assert len({box(cell)["y"] for cell in cells.all()}) == 1
        labels = cells.evaluate_all("all => all.map(cell => getComputedStyle(cell, '::before').content)")
        assert set(labels) == {"none"}
    ComparisonTable.objects.filter(study=study).update(rows=UNEVEN)
    for language in ("en", "de"):
        with step(f"both sides are alike, whatever they hold: {language}"):
            page.locator(f"footer button[value={language}], footer strong[lang={language}]").click()
            expect(page.locator("html")).to_have_attribute("lang", language)  # a reload on the way is refused
            page.reload()
            for width in (1440, 1024, 720, 360):
                page.set_viewport_size({"width": width, "height": 900})
                expect_columns_of_one_width(page, width)


def expect_columns_of_one_width(page: Page, width: int) -> None:
    table = page.locator(".comparison table")
    headers, rows = table.locator("thead th"), table.locator("tbody tr")
    for row in rows.all():
        cells = row.get_by_role("cell")
        left, both, right = (box(cells.nth(number))["width"] for number in range(3))
        assert max(left, both, right) - min(left, both, right) <= 1, (left, both, right)
        for cell in cells.all():  # nothing hangs over the next column, where it would read as that one's
            assert cell.evaluate("cell => cell.scrollWidth <= cell.clientWidth + 1")
        assert row.get_by_role("rowheader").evaluate("cell => cell.scrollWidth <= cell.clientWidth + 1")
    if width > 700:
        assert left >= 120
        assert abs(box(headers.nth(2))["width"] - both) <= 1


def expect_apart(one: Locator, other: Locator) -> None:
    """Fail where two elements overlap."""
    a, b = box(one), box(other)
    across = min(a["x"] + a["width"], b["x"] + b["width"]) - max(a["x"], b["x"])
    down = min(a["y"] + a["height"], b["y"] + b["height"]) - max(a["y"], b["y"])
    assert min(across, down) <= 1, (a, b)
