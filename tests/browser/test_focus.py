"""Where the focus is after an answer: at what it says, never lost at the top of the page."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from annotation.models import Flag
from tests.browser import walk
from tests.browser.test_two_stages import at_second_stage, second, two_stage_study
from tests.factories import make_batch, make_study

OpenAs = Callable[..., Page]


def test_a_report_and_its_undoing_are_where_the_focus_goes(open_as: OpenAs, transactional_db: None) -> None:
    make_batch(make_study(instances=1), raters=1)
    page = open_as("ann", "annotator")
    walk.begin(page)
    report = page.locator(".report").nth(1)
    report.locator("summary").click()
    report.get_by_label("Wrong language").check()
    report.get_by_role("button", name="Report", exact=True).press("Enter")
    told = report.get_by_text("Reported: Wrong language")
    expect(told).to_be_focused()
    expect(told).to_have_attribute("role", "status")

    page.keyboard.press("Tab")
    expect(report.get_by_role("button", name="Take back: Wrong language · Pair 2")).to_be_focused()
    page.keyboard.press("Enter")
    expect(report.get_by_text("Report taken back: Wrong language.")).to_be_focused()
    expect(told).to_have_count(0)
    assert Flag.objects.get().taken_back_at is not None
    page.reload()
    expect(page.locator(".reported")).to_have_count(0)


def test_a_report_is_taken_back_without_scripts(open_as: OpenAs, transactional_db: None) -> None:
    make_batch(make_study(instances=1), raters=1)
    page = open_as("ann", "annotator", java_script_enabled=False)
    walk.begin(page)
    report = page.locator(".report").first
    report.locator("summary").click()
    report.get_by_label("Something else").check()
    report.get_by_role("button", name="Report", exact=True).click()
    report.get_by_role("button", name="Take back: Something else").click()
    expect(page.locator(".reported")).to_have_count(0)
    assert Flag.objects.get().taken_back_at is not None


def test_a_refused_second_vote_moves_the_focus_to_what_is_wrong(open_as: OpenAs, transactional_db: None) -> None:
    two_stage_study("table:c8", reason_min_length=10)
    page = open_as("ann", "annotator")
    at_second_stage(page)
    second(page).get_by_label("Change to: Right").check()
    second(page).get_by_label("Reason").fill("a" * 40)
    page.get_by_role("button", name="Save and continue").press("Enter")
    problem = second(page).get_by_role("alert")
    expect(problem).to_have_text("Please say in words why you changed your choice.")
    expect(problem).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(second(page).get_by_label("Reason")).to_be_focused()
    expect(second(page).get_by_label("Reason")).to_have_accessible_description(re.compile("Please say in words"))
