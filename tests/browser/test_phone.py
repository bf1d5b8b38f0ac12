"""What lies where on small and short screens: nothing is off the side, and nothing focused lies below something else."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from annotation.models import ComparisonTable, Pair, Study
from tests.browser import walk
from tests.browser.realistic import realistic_batch, realistic_rows
from tests.factories import add_instances, make_batch, make_study

OpenAs = Callable[..., Page]

PHONE: ViewportSize = {"width": 360, "height": 740}
LAPTOP: ViewportSize = {"width": 1280, "height": 800}
TABLET: ViewportSize = {"width": 880, "height": 900}
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
    ComparisonTable.objects.bulk_create(
        ComparisonTable(study=study, table_id=f"t{pair.pk}", pair=pair, variant="c8", rows=rows)
        for pair in Pair.objects.filter(matchup__instance__study=study)
    )
    make_batch(study, pairs=3, raters=1)
    return study


def at_second_stage(page: Page) -> None:
    """Rate all pairs and close the first votes."""
    walk.begin(page)
    walk.rate(page, ["left", "none", "right"])
    walk.lock(page)


def box(locator: Locator) -> dict[str, float]:
    """Return where an element is."""
    found = locator.bounding_box()
    assert found is not None
    return {"x": found["x"], "y": found["y"], "width": found["width"], "height": found["height"]}


def expect_uncovered(locator: Locator) -> None:
    """Fail with what is over it, or with where it is outside the window."""
    assert locator.evaluate(UNCOVERED) == ""


def open_source(page: Page) -> None:
    """Open the source, which is a closed bar on a narrow screen."""
    page.locator(".source summary").click()
    expect(page.locator(".source .text")).to_be_visible()


def test_the_comparison_shows_both_sides_alike_on_every_screen(open_as: OpenAs, transactional_db: None) -> None:
    study = two_stages()
    page = open_as("ann", "annotator", viewport=PHONE)
    at_second_stage(page)
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

    page.set_viewport_size(LAPTOP)  # a table where there is room
    cells = page.get_by_role("table").get_by_role("row").nth(1).get_by_role("cell")
    assert len({box(cell)["y"] for cell in cells.all()}) == 1
    labels = cells.evaluate_all("all => all.map(cell => getComputedStyle(cell, '::before').content)")
    assert set(labels) == {"none"}

    ComparisonTable.objects.filter(study=study).update(rows=UNEVEN)
    for language in ("en", "de"):
        page.locator(f"footer button[value={language}], footer strong[lang={language}]").click()
        page.reload()
        expect(page.locator("html")).to_have_attribute("lang", language)
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


@pytest.mark.parametrize("size", [{"width": 1000, "height": 600}, TABLET], ids=["short", "tablet"])
def test_a_key_shows_what_it_chooses(open_as: OpenAs, transactional_db: None, size: ViewportSize) -> None:
    two_stages()
    page = open_as("ann", "annotator", viewport=size)
    walk.begin(page)
    for key, place in (("1", 0), ("Enter", 1), ("2", 1), ("Enter", 2), ("3", 2)):
        page.keyboard.press(key)
        if key == "Enter":
            expect(page.locator("[data-card] h2").nth(place)).to_be_focused()
            expect_uncovered(page.locator("[data-card] h2").nth(place))
        else:
            expect(walk.pair(page, place).locator(".saved")).to_contain_text("Saved at")
            expect_uncovered(walk.pair(page, place).locator("fieldset"))
    walk.lock(page)
    page.evaluate("scrollTo(0, 0)")
    page.keyboard.press("1")
    expect(walk.pair(page, 0).locator("input[value=left]")).to_be_focused()
    expect_uncovered(walk.pair(page, 0).locator("fieldset"))


def test_the_page_stays_where_it_is_while_a_choice_is_saved(open_as: OpenAs, transactional_db: None) -> None:
    realistic_batch(pairs=3)
    page = open_as("ann", "annotator")
    walk.begin(page)
    for size, choice in ((PHONE, "left"), (LAPTOP, "right")):
        page.set_viewport_size(size)
        for place in (0, 1, 2):
            radio = walk.pair(page, place).locator(f"input[value={choice}]")
            radio.evaluate("radio => radio.scrollIntoView({block: 'center', behavior: 'instant'})")
            before = page.evaluate("scrollY")
            with page.expect_response("**/vote/"):
                walk.choose(page, place, choice)
            expect(walk.pair(page, place).locator(".saved")).to_contain_text("Saved at")
            assert page.evaluate("scrollY") == before


@pytest.mark.parametrize("size", [PHONE, TABLET], ids=["phone", "tablet"])
def test_an_open_source_does_not_cover_what_one_goes_to(
    open_as: OpenAs, transactional_db: None, size: ViewportSize
) -> None:
    realistic_batch(pairs=4)
    page = open_as("ann", "annotator", viewport=size)
    walk.begin(page)
    open_source(page)
    source = page.locator(".source")
    assert box(source)["height"] <= size["height"] / 2
    headings = page.locator("[data-card] h2")
    page.locator("#hit-status a").nth(2).click()
    expect_uncovered(headings.nth(2))
    page.keyboard.press("1")
    expect(walk.pair(page, 2).locator(".saved")).to_contain_text("Saved at")
    expect_uncovered(walk.pair(page, 2).locator("fieldset"))
    page.keyboard.press("Enter")
    expect(headings.nth(3)).to_be_focused()
    expect_uncovered(headings.nth(3))
    page.keyboard.press("Backspace")
    expect(headings.nth(2)).to_be_focused()
    expect_uncovered(headings.nth(2))
    assert box(headings.nth(2))["y"] >= box(source)["y"] + box(source)["height"]
    page.keyboard.press("2")
    expect(walk.pair(page, 2).locator(".saved")).to_contain_text("Saved at")
    expect_uncovered(walk.pair(page, 2).locator("fieldset"))


def test_the_bar_of_the_source_can_always_be_reached_and_says_what_it_is(
    open_as: OpenAs, transactional_db: None
) -> None:
    realistic_batch(pairs=3)
    page = open_as("ann", "annotator", viewport=PHONE)
    walk.begin(page)
    summary, source = page.locator(".source summary"), page.locator(".source")
    expect(summary).to_contain_text("open to read")
    expect(summary.get_by_text("open to read")).to_be_visible()
    open_source(page)
    expect(summary.get_by_text("open to read")).to_be_hidden()
    page.locator("[data-card]").nth(1).evaluate("card => card.scrollIntoView({behavior: 'instant'})")
    source.evaluate("source => source.scrollTo(0, source.scrollHeight)")
    assert source.evaluate("source => source.scrollTop") > 100
    expect_uncovered(summary)
    assert box(summary)["y"] <= box(source)["y"] + 2  # nothing of the text shows above it
    summary.click()
    expect(page.locator(".source .text")).to_be_hidden()
    assert box(source)["height"] <= 60


def test_what_opens_is_as_large_as_a_thumb_on_a_phone(open_as: OpenAs, transactional_db: None) -> None:
    realistic_batch(pairs=2, guidelines="Read.")
    page = open_as("ann", "annotator", viewport=PHONE)
    walk.begin(page)
    bars = page.locator("main summary")
    expect(bars).to_have_count(4)  # source, guidelines, two reports
    assert [bar for bar in bars.all() if box(bar)["height"] < THUMB] == []
    page.set_viewport_size(LAPTOP)
    assert [bar for bar in bars.all() if box(bar)["height"] < 24] == []


def test_without_javascript_the_source_covers_nothing(open_as: OpenAs, transactional_db: None) -> None:
    realistic_batch(pairs=3)
    page = open_as("ann", "annotator", viewport=PHONE, java_script_enabled=False)
    walk.begin(page)
    expect(page.locator(".source .text")).to_be_visible()
    page.locator("[data-card] input[type=radio]").last.scroll_into_view_if_needed()
    at = box(page.locator(".source"))
    assert at["y"] + at["height"] < 0


def test_the_line_about_waiting_choices_covers_neither_source_nor_foot(open_as: OpenAs, transactional_db: None) -> None:
    realistic_batch(pairs=3)
    page = open_as("ann", "annotator", viewport=PHONE)
    walk.begin(page)
    page.context.set_offline(True)
    expect(walk.choose(page, 0, "left")).to_contain_text("Waiting")
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


def expect_apart(one: Locator, other: Locator) -> None:
    """Fail where two elements overlap."""
    a, b = box(one), box(other)
    across = min(a["x"] + a["width"], b["x"] + b["width"]) - max(a["x"], b["x"])
    down = min(a["y"] + a["height"], b["y"] + b["height"]) - max(a["y"], b["y"])
    assert min(across, down) <= 1, (a, b)
