"""Words that depend on the screen or its place in the world: which text is meant, and what time it is."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Annotator, Assignment, Study
from tests.browser import walk
from tests.browser.test_two_stages import second, two_stage_study
from tests.browser.walk import step
from tests.factories import add_instances, instance_rows, make_batch, make_study

OpenAs = Callable[..., Page]

WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 360, "height": 740}
SIDES = {
    ("en", 1280): ("Left", "Right"),
    ("en", 360): ("Top", "Bottom"),
    ("de", 1280): ("Links", "Rechts"),
    ("de", 360): ("Oben", "Unten"),
}


def speak(page: Page, language: str) -> None:
    """Choose the language of the page."""
    page.locator(f"footer button[value={language}], footer strong[lang={language}]").click()
    page.wait_for_load_state()  # all of it, not only its first words


def seen(page: Page, selector: str) -> str:
    """Return what is read out of a part of the page: its accessible words, in order."""
    return page.locator(selector).first.aria_snapshot()


def expect_named(page: Page, selector: str) -> None:
    """Expect the sides of a part of the page to be named as they lie, on wide and narrow screens, in each language."""
    for language in ("en", "de"):
        speak(page, language)
        expect(page.locator("html")).to_have_attribute("lang", language)
        for width in (1280, 360):
            page.set_viewport_size({"width": width, "height": 900})
            names = SIDES[language, width]
            told = seen(page, selector)
            assert [name for name in names if not re.search(rf"\b{name}\b", told)] == [], told
            wrong = {name for others in SIDES.values() for name in others} - {*names}
            assert [name for name in wrong if re.search(rf"\b{name}\b", told)] == [], told


@pytest.mark.weekly
def test_sides_and_times_are_told_as_the_rater_sees_them(open_as: OpenAs, transactional_db: None) -> None:
    two_stage_study("table:c8", reason_min_length=1)
    page = open_as("ann", "annotator", timezone_id="Asia/Kolkata")  # five and a half hours ahead
    walk.begin(page)
    with step("the sides in the first stage"):
        expect_named(page, "#main")
        expect(page.get_by_role("radio", name="Oben")).to_have_count(2)
        for width in (360, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            tops = [page.locator(".side").nth(place).bounding_box() for place in (0, 1)]
            assert tops[0]
            assert tops[1]
            assert (tops[0]["y"] < tops[1]["y"]) == (width == 360)
        for place, choice in enumerate(("left", "right")):
            with page.expect_response("**/vote/"):
                walk.choose(page, place, choice)
    with step("and in the second one, with its table"):
        walk.lock(page)
        expect_named(page, "#main")
        expect(page.get_by_role("columnheader", name=re.compile(r"\bOben\b"))).to_have_count(1)
    with step("of a decision, and in the list of HITs"):
        for number in (1, 2):
            second(page).locator("input[value=right]").check()
            second(page).locator("textarea").fill("Better words.")
            second(page).locator("[data-save]").click()
            expect(page.locator(".card.decided")).to_have_count(number)
        expect_named(page, ".card.decided")
        walk.submit(page)
        page.goto("/rate/progress/")
        expect_named(page, "table")
    with step("names of the researchers' own stay"):
        Study.objects.update(label_left="Text one", label_right="Text two")
        page.goto("/rate/")
        expect(page.get_by_role("radio", name="Text one")).to_have_count(2)
        expect(page.get_by_role("heading", name="Text two")).to_have_count(2)

    late = datetime(2026, 3, 31, 20, 0, tzinfo=UTC)  # the next day there
    Assignment.objects.filter(state="submitted").update(submitted_at=late)
    Annotator.objects.get().consents.update(answered_at=late)
    speak(page, "en")
    with step("times are told in the zone and language of the rater"):
        page.goto("/rate/progress/")
        expect(page.locator("td time").last).to_have_text(re.compile(r"^4/1/26, 1:30\sAM$"))
        page.get_by_role("link", name="What you agreed to").click()
        expect(page.locator(".notice time")).to_have_text(re.compile(r"^April 1, 2026 at 1:30\sAM$"))
        speak(page, "de")
        expect(page.locator(".notice time")).to_have_text(re.compile(r"^1. April 2026 um 01:30$"))
        expect(page.locator("#main")).not_to_contain_text("UTC")
        Annotator.objects.update(withdrawn_at=late + timedelta(hours=1))
        page.goto("/rate/progress/")
        expect(page.locator("article time")).to_have_text("1. April 2026")
        page.goto(f"/rate/consent/{Annotator.objects.get().study.key}/")
        expect(page.locator("article time")).to_have_text(re.compile("02:30"))


CODE = "def cancelled_ferries_between(harbour, other_harbour, *, from_day=None):  # " + "wide " * 30
TABLE = "| Ferry | Way |\n|-|-|\n| " + " | ".join(["Donaudampfschifffahrtsgesellschaftskapitän"] * 2) + " |"
MARKDOWN = f"Some **words**.\n\n```python\n{CODE}\n```\n\n{TABLE}\n"


def test_tables_and_code_scroll_in_a_box_of_their_own(open_as: OpenAs, transactional_db: None) -> None:
    study = make_study(instances=0, render_markdown=True, guidelines=MARKDOWN)
    rows = instance_rows(instances=1, source=MARKDOWN)
    rows[0].generations["alpha"] = [MARKDOWN, MARKDOWN]
    add_instances(study, rows)
    make_batch(study)
    page = open_as("ann", "annotator", viewport=WIDE)
    walk.begin(page)
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
