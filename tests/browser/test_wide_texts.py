"""Wide words: code and tables on a screen of any width."""

from collections.abc import Callable

import pytest
from django.contrib.auth import get_user_model
from playwright.sync_api import Page, expect

from tests.browser import walk
from tests.factories import add_instances, instance_rows, make_batch, make_study

OpenAs = Callable[..., Page]

WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 360, "height": 740}


CODE = "def cancelled_ferries_between(harbour, other_harbour, *, from_day=None):  # " + "wide " * 30
TABLE = "| Ferry | Way |\n|-|-|\n| " + " | ".join(["Donaudampfschifffahrtsgesellschaftskapitän"] * 2) + " |"
MARKDOWN = f"Some **words**.\n\n```python\n{CODE}\n```\n\n{TABLE}\n"


def test_tables_and_code_scroll_in_a_box_of_their_own(open_as: OpenAs) -> None:
    study = make_study(instances=0, render_markdown=True, guidelines=MARKDOWN)
    rows = instance_rows(instances=1, source=MARKDOWN)
    rows[0].generations["alpha"] = [MARKDOWN, MARKDOWN]
    add_instances(study, rows)
    make_batch(study)
    page = walk.begin(open_as("ann", "annotator", viewport=WIDE))
    page.locator(".source, .guidelines").evaluate_all("all => all.forEach(one => (one.open = true))")
    expect_boxes(page)
    box = page.locator(".side .scroll:has(pre)").first
    box.focus()
    page.keyboard.press("ArrowRight")  # scrolls, and chooses nothing
    expect(page.locator("input:checked[type=radio]")).to_have_count(0)
    page.wait_for_function("box => box.scrollLeft > 0", arg=box.element_handle())
    page.set_viewport_size(PHONE)
    expect_boxes(page)


def expect_boxes(page: Page) -> None:
    """Expect code and tables of source, guidelines and a text to be whole, and not to widen the page."""
    for part in (".source .text", ".guidelines .text", ".side .text:has(pre) >> nth=0"):
        expect(page.locator(part).locator("strong")).to_have_text("words")
        code, table = page.locator(part).locator(".scroll:has(pre)"), page.locator(part).locator(".scroll:has(table)")
        assert code.evaluate("box => box.scrollWidth > box.clientWidth")
        assert code.locator("code").evaluate("code => code.getClientRects().length") == 1  # one line
        assert code.locator("code").inner_text().strip() == CODE.strip()
        for cell in table.locator("td").all():
            assert cell.evaluate("cell => cell.scrollWidth <= cell.clientWidth + 1")
            lines = "cell => { const r = document.createRange(); r.selectNodeContents(cell); return r.getClientRects().length; }"
            assert cell.evaluate(lines) == 1  # no word is broken
        expect(code).to_have_attribute("tabindex", "0")
        expect(page.locator(part).get_by_role("group", name="Code")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("name", ["measures.md", "howto/set_up_endpoints.md"])
def test_addresses_and_names_of_files_do_not_widen_the_help(open_as: OpenAs, name: str) -> None:
    get_user_model().objects.create_user("rita")
    page = open_as("rita", "researcher", viewport=PHONE)

    page.goto(f"/help/{name}")

    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


@pytest.mark.parametrize("address", ["", "findings/", "settings/", "batches/", "judges/"])
def test_a_long_title_does_not_widen_the_pages_of_a_study(open_as: OpenAs, address: str) -> None:
    study = make_study(instances=1, title="Donaudampfschifffahrt" * 9)
    page = open_as("rita", "researcher", viewport=PHONE)

    page.goto(f"/studies/{study.slug}/{address}")

    expect(page.locator("h1")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
