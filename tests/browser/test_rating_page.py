"""The rating page as raters meet it: reloaded, without JavaScript, on a phone, in the dark."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Assignment, Batch, Rating, Study
from annotation.services.batches import create_batch
from annotation.services.study_files import import_study
from tests.browser.test_whole_path import study_file

OpenAs = Callable[..., Page]


@pytest.fixture
def batch(transactional_db: None, tmp_path: Path) -> Batch:
    """Two HITs of three pairs for one rater each."""
    path = study_file(tmp_path)
    study, _ = import_study(data=path.read_bytes(), name=path.name, slug="boats")
    made, _ = create_batch(
        study=study, name="first", dataset="boats", systems=("verbose", "terse"), pairs=3, raters=1, seed=7
    )
    return made


def begin(page: Page) -> None:
    """Consent and get the first HIT."""
    page.goto("/rate/")
    page.get_by_role("button", name="I agree, begin").click()
    expect(page).to_have_url(re.compile("/rate/hit/"))


def texts(page: Page) -> list[str]:
    """Return all texts in the order and on the sides shown."""
    return page.locator(".pair .text").all_inner_texts()


def test_reload_shows_the_same_sides_and_the_saved_choices(open_as: OpenAs, batch: Batch) -> None:
    page = open_as("ann", "annotator")
    begin(page)
    before = texts(page)
    second = page.locator("form[data-pair]").nth(1)
    second.locator("input[value=none]").check()
    expect(second.locator(".saved")).to_contain_text("Saved at")

    page.goto("/rate/")

    assert texts(page) == before
    expect(page.locator("form[data-pair]").nth(1).locator("input[value=none]")).to_be_checked()
    assert page.locator("input[name=choice]:checked").count() == 1


def test_a_hit_is_rated_without_javascript(open_as: OpenAs, batch: Batch) -> None:
    page = open_as("ann", "annotator", java_script_enabled=False)
    begin(page)
    hit = page.url
    for place in range(3):
        pair = page.locator("form[data-pair]").nth(place)
        pair.locator("input[value=right]").check()
        pair.get_by_role("button", name="Save this choice").click()
    assert page.locator("input[value=right]:checked").count() == 3
    page.locator("[data-action=submit]").click()

    expect(page).not_to_have_url(hit)
    assert Assignment.objects.get(state="submitted").displays.count() == 3
    assert Rating.objects.count() == 3


def test_an_early_submit_says_which_pairs_are_open(open_as: OpenAs, batch: Batch) -> None:
    page = open_as("ann", "annotator")
    begin(page)
    first = page.locator("form[data-pair]").first
    first.locator("input[value=left]").check()
    expect(first.locator(".saved")).to_contain_text("Saved at")

    page.locator("[data-action=submit]").click()

    expect(page.get_by_role("alert")).to_contain_text("pair 2, pair 3")
    expect(page.locator("form[data-pair]").first.locator("input[value=left]")).to_be_checked()
    assert not Assignment.objects.filter(state="submitted").exists()


@pytest.mark.parametrize("options", [{"color_scheme": "light"}, {"color_scheme": "dark"}], ids=["light", "dark"])
def test_no_page_is_wider_than_a_phone(open_as: OpenAs, batch: Batch, options: dict[str, Any]) -> None:
    page = open_as("ann", "annotator", viewport={"width": 360, "height": 740}, **options)
    width = "document.documentElement.scrollWidth"
    assert page.evaluate(width) <= 360
    begin(page)
    assert page.evaluate(width) <= 360
    widths = [choice.bounding_box()["width"] for choice in page.locator(".choice").all()]
    assert min(widths) > 240  # a thumb finds them

    reader = open_as("rita", "researcher", "study-admin", viewport={"width": 360, "height": 740}, **options)
    slug = Study.objects.get().slug
    for address in ("", "instances/", "judges/", "findings/", "batches/new/", f"batches/{batch.pk}/"):
        reader.goto(f"/studies/{slug}/{address}")
        assert reader.evaluate(width) <= 360, address


def test_the_page_runs_under_its_content_security_policy(open_as: OpenAs, batch: Batch) -> None:
    page = open_as("ann", "annotator")
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    begin(page)
    pair = page.locator("form[data-pair]").first
    pair.locator("input[value=left]").check()
    expect(pair.locator(".saved")).to_contain_text("Saved at")
    assert complaints == []


def test_a_choice_that_did_not_reach_the_server_never_shows_as_saved(open_as: OpenAs, batch: Batch) -> None:
    page = open_as("ann", "annotator")
    begin(page)
    pair = page.locator("form[data-pair]").first
    pair.locator("input[value=left]").check()
    expect(pair.locator(".saved")).to_contain_text("Saved at")

    page.context.set_offline(True)
    pair.locator("input[value=right]").check()
    expect(pair.locator(".saved")).to_contain_text("Not saved")
    expect(pair).not_to_have_class(re.compile("rated"))

    page.context.set_offline(False)
    pair.locator("input[value=none]").check()
    expect(pair.locator(".saved")).to_contain_text("Saved at")

    page.context.clear_cookies()
    pair.locator("input[value=right]").check()
    expect(pair.locator(".saved")).to_contain_text("Not saved")
    assert Rating.objects.get().verdict == 0
