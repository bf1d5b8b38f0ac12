"""The findings page: axe finds nothing in any look, sections open by keyboard and from the answer, filters, no scripts."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from annotation.models import Study
from tests.browser.test_accessibility import LOOKS, PHONE, Inspection
from tests.reporting.builders import build_configuration, build_study, judge, rate, separate

OpenAs = Callable[..., Page]
ADDRESS = "/studies/shown/findings/"
SECTIONS = ("rankings", "judges", "agreement", "separability", "position", "raters", "data")


@pytest.fixture
def study(transactional_db: None) -> Study:
    """Three systems with long names in two configurations of six instances; two people, two judges."""
    study = build_study("shown")
    for dataset, systems in (
        ("news", ("heron-large-instruct-v2", "magpie")),
        ("mail", ("magpie", "wren-of-the-north")),
    ):
        built = build_configuration(study, instances=6, pairs=2, dataset=dataset, systems=systems)
        for place in range(6):
            rate(built, place, "ann", [-1, -1 if place % 2 else 1])
            rate(built, place, "ben", [-1, place % 3 - 1])
        separate(built, [(0.9, 0.8, 0.1 * place) for place in range(6)], [0.9 - 0.1 * place for place in range(6)])
        for name, verdict in (("direct", -1), ("other", 1)):
            judge(built, name, [(place, pair, "ab", verdict) for place in range(6) for pair in range(2)])
    return study


def draw(route: Route) -> None:
    """Answer for the server, whose pictures have tests of their own."""
    route.fulfill(
        content_type="image/svg+xml", body='<svg xmlns="http://www.w3.org/2000/svg" width="380" height="90"/>'
    )


def summary(page: Page, section: str) -> Locator:
    return page.locator(f"section[aria-labelledby={section}] > details > summary")


@pytest.mark.weekly
def test_the_page_is_accessible_with_everything_open(study: Study, open_as: OpenAs) -> None:
    inspection = Inspection()
    page = open_as("rea", "researcher")
    page.route("**/charts/**", draw)
    page.goto(ADDRESS)
    page.locator("main details:not([open]) > summary").evaluate_all("all => all.forEach(one => one.click())")
    inspection.look(page, "findings, everything open")
    assert not inspection.found, inspection.found


def test_sections_and_filters_by_keyboard(study: Study, open_as: OpenAs) -> None:
    page = open_as("rea", "researcher")
    page.route("**/charts/**", draw)
    page.goto(ADDRESS)
    inspection = Inspection(LOOKS[1:2])
    inspection.look(page, "findings, as they open")
    assert not inspection.found, inspection.found
    assert page.locator(".answer li").count() >= 4
    expect(page.locator(".result > figure img[loading=lazy]")).to_have_count(0)  # a print has what is open
    # Their size, or an aspect ratio, gives them room before they are there.
    ratios = {one.evaluate("one => getComputedStyle(one).aspectRatio") for one in page.locator("picture img").all()}
    assert "auto 19 / 12" in ratios
    assert any(ratio.startswith("auto 560 / ") for ratio in ratios)

    page.locator(".answer").get_by_role("link", name="Rankings").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#rankings")).to_be_in_viewport()
    for section in SECTIONS:
        summary(page, section).focus()
        page.keyboard.press("Enter")
        expect(page.locator(f"section[aria-labelledby={section}] > details")).to_have_attribute("open", "")

    page.goto(ADDRESS)
    page.locator("summary", has_text="Filters").focus()
    page.keyboard.press("Enter")
    page.locator("select[name=system]").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+ArrowDown")
    page.get_by_role("button", name="Show", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("These findings are about a part of the study:")).to_be_visible()
    assert page.url.count("system=") == 2
    page.get_by_role("link", name="Show all").click()
    expect(page.get_by_text("These findings are about a part of the study:")).to_have_count(0)


@pytest.mark.weekly
def test_without_scripts_on_a_phone_all_can_be_read(study: Study, open_as: OpenAs) -> None:
    page = open_as("rea", "researcher", java_script_enabled=False, viewport={"width": PHONE[0], "height": PHONE[1]})
    page.route("**/charts/**", draw)
    page.goto(ADDRESS)
    for section in SECTIONS:
        summary(page, section).click()
        expect(page.locator(f"#{section}")).to_be_visible()
    for name in ("ranking-0", "judges-overall", "consistency", "agreement-table", "position-table", "raters"):
        expect(page.locator(f"#table-{name}")).to_be_visible()
    assert page.locator("main img").count() > 10
    box = page.locator("main").bounding_box()
    assert box
    assert box["x"] + box["width"] <= PHONE[0]
    page.locator("summary", has_text="Filters").click()
    page.get_by_label("Include incomplete rating sets").check()
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page).to_have_url(re.compile("with_incomplete=1$"))
    expect(page.locator(".answer li").nth(3)).to_be_visible()


@pytest.mark.weekly
def test_filters_are_wide_enough_for_their_names(study: Study, open_as: OpenAs) -> None:
    page = open_as("rea", "researcher")
    page.route("**/charts/**", draw)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{ADDRESS}?two_way=1")
    widths = page.locator("form select").evaluate_all("all => all.map(one => one.getBoundingClientRect().width)")
    assert len(widths) > 2
    assert min(widths) >= 230
    expect(page.get_by_role("link", name="Accuracy")).to_have_count(1)
