"""What helps in steering a study: the rater's page beside its settings, and lists that are folded and searched."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Rating
from tests.browser.walk import step
from tests.factories import claim, make_annotator, make_batch, make_study, rate

OpenAs = Callable[..., Page]


@pytest.mark.weekly
def test_settings_show_the_raters_page_and_lists_are_found_in(open_as: OpenAs) -> None:
    study = make_study(instances=24, k=1)
    make_batch(study, pairs=1, raters=1)
    rate(claim(make_annotator(study, "zoe")))
    votes = Rating.objects.count()
    page = open_as("mara", "study-admin")

    with step("the preview follows what is typed"):
        page.goto("/studies/study/settings/")
        frame = page.frame_locator("iframe[name=settings-preview]")
        expect(frame.locator(".card")).to_have_count(1)
        page.get_by_text("Questions", exact=True).click()
        page.locator("#id_question").fill("Which one is kinder?")
        expect(frame.locator("legend", has_text="Which one is kinder?")).to_have_count(1)
        expect(frame.locator("input[name=choice]").first).to_be_disabled()

    with step("a search leaves the settings that it finds, in open groups"):
        find = page.get_by_role("searchbox", name="Find a setting")
        find.fill("currency")
        expect(page.locator("#id_currency")).to_be_visible()
        expect(page.locator("#id_question")).to_be_hidden()
        find.fill("")
        expect(page.locator("#id_currency")).to_be_hidden()
        expect(page.locator("#id_question")).to_have_value("Which one is kinder?")
        page.locator("summary", has_text="Questions").click()

    with step("the button does the same without the script"):
        page.locator("#id_question").fill("Which one is clearer?")
        page.get_by_role("button", name="Show").click()
        expect(frame.locator("legend", has_text="Which one is clearer?")).to_have_count(1)
        assert Rating.objects.count() == votes
        study.refresh_from_db()
        assert "clearer" not in study.question

    with step("a folded list opens, and its search hides what does not fit"):
        page.goto(f"/studies/study/batches/{study.batches.get().pk}/")
        row = page.get_by_role("row").filter(has_text="news-7")
        expect(row).to_be_hidden()
        page.locator("summary", has_text="HITs").click()
        expect(row).to_be_visible()
        page.get_by_role("searchbox").last.fill("news-12")
        expect(row).to_be_hidden()
        expect(page.get_by_role("row").filter(has_text="news-12")).to_be_visible()
