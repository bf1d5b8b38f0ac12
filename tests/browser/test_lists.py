"""Tables of researchers' pages: sorted by a heading, filtered where they are long."""

from collections.abc import Iterator

import pytest
from django.template.loader import render_to_string
from playwright.sync_api import Browser, Page

from annotation.core.tables import Column, DataTable
from tests.tools.helpers import ROOT

RATERS = ["b", "a10", "a9", "c", "d"]
RATES = [0.5001, None, 0.5004, -0.25, 0.5001]  # three of them read 0.500
COUNTS = ["1,200", "30", "–", "4 of 9", "30"]
SEARCH = '<template id="search-in-table"><input type="search" data-search></template>'


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A page with a short table, a long one, and one that the server divides into pages."""
    rows = [((rater,), (rate, count)) for rater, rate, count in zip(RATERS, RATES, COUNTS, strict=True)]
    columns = ["Rater", "Rate", Column("Count", is_numeric=True)]
    short = DataTable("short", "", columns, rows)
    long = DataTable("long", "", ["Rater"], [((), (f"rater-{number}",)) for number in range(21)])
    html = [render_to_string("annotation/core/_table.html", {"table": table}) for table in (short, long)]
    page = chromium.new_page()
    page.set_content(f"<main>{SEARCH}{''.join(html)}{html[0].replace('short', 'divided')}<nav></nav></main>")
    module = (ROOT / "static" / "js" / "lists.js").read_text("utf-8")
    page.evaluate("text => import(`data:text/javascript,${encodeURIComponent(text)}`)", module)
    yield page
    page.close()


def order(page: Page) -> str:
    """Return the positions of the rows of the short table before they were sorted."""
    names = page.locator("#short tbody th").all_text_contents()
    return "".join(str(RATERS.index(name)) for name in names)


@pytest.mark.parametrize(
    ("heading", "orders"),
    [
        pytest.param("Rater", [("ascending", "21034"), ("descending", "43012")], id="text, with numbers in it"),
        pytest.param("Rate", [("descending", "20431"), ("ascending", "30421")], id="exact values, missing ones last"),
        pytest.param("Count", [("descending", "01432"), ("ascending", "31402")], id="written numbers"),
    ],
)
def test_headings_sort_by_value_and_keep_equal_rows_in_order(
    page: Page, heading: str, orders: list[tuple[str, str]]
) -> None:
    button = page.locator("#short").get_by_role("button", name=heading, exact=True)
    button.focus()
    for direction, positions in orders:
        page.keyboard.press("Enter")
        assert page.locator("#short th[aria-sort]").all_text_contents() == [heading]
        assert page.locator("#short th[aria-sort]").get_attribute("aria-sort") == direction
        assert order(page) == positions


def test_long_tables_are_filtered_and_divided_ones_left_alone(page: Page) -> None:
    page.locator("[data-search]").fill("R-2")
    assert page.locator("#long tbody tr:visible").all_text_contents() == ["rater-2", "rater-20"]
    assert order(page) == "01234"
    assert page.locator("#divided button, #divided ~ [data-search]").count() == 0
    page.evaluate("document.dispatchEvent(new Event('htmx:afterSettle'))")
    assert page.locator("[data-search]").count() == 1
    assert page.locator("#short th button").count() == 3
