"""The rating page as raters meet it: from choice to choice, reloaded, on a phone, with texts of all kinds."""

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from annotation.batches.services import create_batch
from annotation.importing.formats.study_file import InstanceRow
from annotation.importing.study_files import import_study
from annotation.models import Assignment, Batch, Flag, Rating, Study
from tests.browser import walk
from tests.browser.test_whole_path import study_file
from tests.factories import add_instances, make_batch, make_study

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


def texts(page: Page) -> list[str]:
    """Return all texts in the order and on the sides shown."""
    return page.locator(".sides .text").all_inner_texts()


def test_a_hit_from_the_first_choice_to_the_last(open_as: OpenAs, batch: Batch) -> None:
    """What foot and announcer say, an early submission, a reload; and the page's security policy refuses none of it."""
    page = open_as("ann", "annotator", timezone_id="Asia/Kolkata")  # half an hour off every hour of UTC
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    walk.begin(page)
    foot, button = page.locator("#hit-status"), page.locator("[data-action=submit]")
    expect(page.get_by_role("heading", level=1)).to_have_text("HIT 1 of 2")
    expect(foot.get_by_role("timer")).to_have_text("60 min left")
    before = texts(page)

    expect(walk.choose(page, 0, "left")).to_contain_text("Saved at")
    expect(page.locator("#announcer")).to_have_text("Pair 1: saved")
    told = walk.pair(page, 0).locator("time").inner_text()
    (rating,) = Rating.objects.of_every_question()
    assert rating.rated_at is not None
    assert told == (rating.rated_at + timedelta(hours=5, minutes=30)).strftime("%H:%M:%S")
    expect(foot).to_contain_text("1 of 3 rated. Still open: pair 2, pair 3.")
    expect(button).to_have_class(re.compile("outline"))
    foot.get_by_role("link", name="pair 3").click()
    expect(page.locator("[data-card]").nth(2)).to_be_in_viewport()
    assert complaints == []

    button.click()
    expect(page.get_by_role("alert").filter(visible=True)).to_contain_text("pair 2, pair 3")
    expect(walk.pair(page, 0).locator("input[value=left]")).to_be_checked()
    assert not Assignment.objects.filter(state="submitted").exists()

    page.goto("/rate/")
    assert texts(page) == before
    expect(walk.pair(page, 0).locator("input[value=left]")).to_be_checked()
    assert page.locator("input[name=choice]:checked").count() == 1

    walk.choose(page, 1, "none")
    walk.choose(page, 2, "right")
    expect(foot).to_contain_text("3 of 3 rated.")
    expect(foot).not_to_contain_text("Still open")
    expect(button).not_to_have_class(re.compile("outline"))


def test_no_page_is_wider_than_a_phone(open_as: OpenAs, batch: Batch) -> None:
    page = open_as("ann", "annotator", viewport={"width": 360, "height": 740})
    width = "document.documentElement.scrollWidth"
    page.goto("/rate/")
    assert page.evaluate(width) <= 360
    walk.begin(page)
    assert page.evaluate(width) <= 360
    widths = [choice.bounding_box()["width"] for choice in page.locator(".choice").all()]
    assert min(widths) > 240  # a thumb finds them

    reader = open_as("rita", "researcher", "study-admin", viewport={"width": 360, "height": 740})
    slug = Study.objects.get().slug
    for address in ("", "instances/", "judges/", "findings/", "batches/new/", f"batches/{batch.pk}/"):
        reader.goto(f"/studies/{slug}/{address}")
        assert reader.evaluate(width) <= 360, address


def test_differences_are_marked_by_words_and_stay_on(open_as: OpenAs, transactional_db: None) -> None:
    study = make_study(instances=0, render_markdown=True)
    texts = {"alpha": ["The **big red** boat sails."], "beta": ["The *small* red boat sails home!"]}
    add_instances(study, [InstanceRow(1, "i", "news", "S.", texts)])
    make_batch(study, pairs=1)
    page = open_as("ann", "annotator")
    walk.begin(page)
    before = page.locator(".sides").inner_html()
    page.get_by_role("switch", name="Show differences").check()
    assert sorted(page.locator("mark").all_inner_texts()) == ["big", "home", "small"]
    assert page.locator("strong mark, em mark").count() == 2  # what is bold stays bold
    left = "big" if "big" in page.locator(".side").first.inner_text() else "small"
    expect(page.locator("mark.only-left", has_text=left)).to_have_css("text-decoration-line", "underline")

    walk.rate(page, ["left"])  # a new card comes from the server
    expect(page.locator("mark")).to_have_count(3)
    page.reload()
    expect(page.locator("mark")).to_have_count(3)
    page.get_by_role("switch", name="Show differences").uncheck()
    assert page.locator(".sides").inner_html() == before


def test_long_texts_are_compared_without_a_stop(open_as: OpenAs, transactional_db: None) -> None:
    study = make_study(instances=0)
    words = [f"word{number}" for number in range(6000)]
    texts = {"alpha": [" ".join(words)], "beta": [" ".join([*reversed(words), "only"])]}
    add_instances(study, [InstanceRow(1, "i", "news", "S.", texts)])
    make_batch(study, pairs=1)
    page = open_as("ann", "annotator")
    walk.begin(page)
    page.get_by_role("switch", name="Show differences").check()
    expect(page.locator("mark")).to_have_text("only")


def test_the_size_of_texts_is_set_and_remembered(open_as: OpenAs, batch: Batch) -> None:
    page = open_as("ann", "annotator")
    walk.begin(page)
    for size, pixels in (("small", "14px"), ("normal", "16px"), ("large", "20.8px")):
        page.get_by_label("Text size").select_option(label=size)
        expect(page.locator(".text").first).to_have_css("font-size", pixels)
        page.reload()
        expect(page.get_by_label("Text size")).to_have_value("" if size == "normal" else size)
        expect(page.locator(".text").last).to_have_css("font-size", pixels)


@pytest.mark.parametrize("markdown", [False, True], ids=["plain", "markdown"])
def test_text_from_right_to_left_is_laid_out_so(open_as: OpenAs, transactional_db: None, markdown: bool) -> None:
    study = make_study(instances=0, language="he", render_markdown=markdown)
    texts = {"alpha": ["שלום עולם.\n\nHello world."], "beta": ["Hello world."]}
    add_instances(study, [InstanceRow(1, "i", "news", "מקור", texts)])
    make_batch(study, pairs=1)
    page = open_as("ann", "annotator")
    walk.begin(page)
    expect(page.locator(".source .text")).to_have_css("direction", "rtl")
    hebrew = page.locator(".side .text", has_text="שלום")
    expect(hebrew).to_have_css("direction", "rtl")
    expect(hebrew).to_have_attribute("lang", "he")
    expect(page.locator(".side .text").filter(has_not_text="שלום")).to_have_css("direction", "ltr")
    lines = hebrew.evaluate(
        """text => {
            const range = document.createRange(), box = text.getBoundingClientRect(), found = [];
            const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
            for (let node = walker.nextNode(); node; node = walker.nextNode()) {
                for (const line of node.data.matchAll(/[^\\n]+/g)) {
                    range.setStart(node, line.index);
                    range.setEnd(node, line.index + line[0].length);
                    const at = range.getBoundingClientRect();
                    if (at.width) found.push(at.left - box.left > box.right - at.right ? "right" : "left");
                }
            }
            return found;
        }"""
    )
    assert lines == ["right", "left"]  # each paragraph by its own first letter


def test_hostile_markdown_runs_and_loads_nothing(open_as: OpenAs, transactional_db: None) -> None:
    hostile = (
        "# Title\n\n<script>document.title='run'</script><img src=x onerror=alert(1)>\n\n"
        "![a picture](http://example.org/pixel.png) [click](javascript:alert(1)) [there](http://example.org/by-alpha) "
        "<http://example.org/> <style>body{display:none}</style>\n\n| a | b |\n|:-:|-|\n| 1 | 2 |"
    )
    study = make_study(instances=0, render_markdown=True)
    add_instances(study, [InstanceRow(1, "i", "news", "S.", {"alpha": [hostile], "beta": ["**Plain.**"]})])
    make_batch(study, pairs=1)
    page = open_as("ann", "annotator")
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    walk.begin(page)
    sides = page.locator(".sides")
    expect(sides.locator("strong")).to_have_text("Plain.")
    expect(sides.locator("h4")).to_have_text("Title")  # below the card's own headings
    expect(sides.locator("td")).to_have_text(["1", "2"])
    expect(sides).to_contain_text("a picture")
    expect(sides).to_contain_text("there")
    assert sides.locator("a, img, script, style, [style], iframe").count() == 0
    assert "by-alpha" not in page.content()
    assert [url for url in asked if "example.org" in url] == []
    assert complaints == []


def test_the_source_is_a_bar_on_a_phone_and_remembers_itself(open_as: OpenAs, batch: Batch) -> None:
    page = open_as("ann", "annotator", viewport={"width": 360, "height": 740})
    walk.begin(page)
    source = page.locator(".source")
    expect(source.locator(".text")).to_be_hidden()
    page.locator("[data-card]").nth(2).scroll_into_view_if_needed()
    assert source.bounding_box()["y"] <= 1  # stays in view
    source.locator("summary").click()
    expect(source.locator(".text")).to_be_visible()
    page.reload()
    expect(source.locator(".text")).to_be_visible()

    plain = open_as("ann", java_script_enabled=False, viewport={"width": 360, "height": 740})
    plain.goto(page.url)
    expect(plain.locator(".source .text")).to_be_visible()
    expect(plain.get_by_role("timer")).to_have_text(re.compile(r"until \d\d:\d\d UTC"))
    expect(plain.locator("#tools")).to_be_hidden()


def test_a_pair_is_reported_while_choices_stay(open_as: OpenAs, batch: Batch) -> None:
    page = open_as("ann", "annotator")
    walk.begin(page)
    walk.rate(page, ["left"])
    report = page.locator(".report").first
    report.locator("summary").click()
    report.get_by_label("Wrong language").check()
    report.get_by_label("Comment (optional)").fill("It is in Dutch.")
    report.get_by_role("button", name="Report").click()
    expect(report.get_by_role("status")).to_contain_text("Reported: Wrong language (It is in Dutch.).")
    expect(walk.pair(page, 0).locator("input[value=left]")).to_be_checked()
    assert Flag.objects.get().comment == "It is in Dutch."

    second = page.locator(".report").nth(1)
    second.locator("summary").click()
    second.get_by_label("Something else").check()
    second.get_by_label("Comment (optional)").fill("Kept.")
    page.context.set_offline(True)
    second.get_by_role("button", name="Report").click()
    expect(second.get_by_role("alert")).to_contain_text("Please try again")
    expect(second.get_by_label("Comment (optional)")).to_have_value("Kept.")
    page.context.set_offline(False)
    second.get_by_role("button", name="Report").click()
    expect(second.get_by_role("status")).to_contain_text("Something else")
