"""The rating page as raters meet it: from choice to choice, reloaded, reported, with texts of all kinds."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from playwright.sync_api import Page, expect

from annotation.importing.formats.study_file import InstanceRow
from annotation.models import Assignment, Flag, Rating, Study
from tests.browser import walk
from tests.browser.walk import step
from tests.factories import add_instances, make_annotator, make_batch, make_study

OpenAs = Callable[..., Page]

HOSTILE = (
    "# Title\n\n<script>document.title='run'</script><img src=x onerror=alert(1)>\n\n"
    "![a picture](http://example.org/pixel.png) [click](javascript:alert(1)) [there](http://example.org/by-alpha) "
    "<http://example.org/> <style>body{display:none}</style>\n\n| a | b |\n|:-:|-|\n| 1 | 2 |"
)
# On which side each paragraph of a text begins.
SIDES = """text => {
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


def texts(page: Page) -> list[str]:
    """Return all texts in the order and on the sides shown."""
    return page.locator(".sides .text").all_inner_texts()


def test_a_hit_from_the_first_choice_to_the_last(open_as: OpenAs) -> None:
    """And the page's security policy refuses none of it."""
    make_batch(make_study(instances=2, k=3), pairs=3, raters=1)
    page = open_as("ann", "annotator", timezone_id="Asia/Kolkata")  # half an hour off every hour of UTC
    complaints: list[str] = []
    page.on(
        "console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None
    )
    walk.begin(page)
    foot, button = page.locator("#hit-status"), page.locator("[data-action=submit]")
    left = walk.pair(page, 0).locator("input[value=left]")
    with step("foot and announcer say what is saved, in the zone of the rater, and what is open"):
        expect(page.get_by_role("heading", level=1)).to_have_text("HIT 1")
        expect(foot.get_by_role("timer")).to_have_text("60 min left")
        expect(walk.choose(page, 0, "left")).to_contain_text("Saved at")
        expect(page.locator("#announcer")).to_have_text("Pair 1: saved")
        (rating,) = Rating.objects.all()
        assert rating.rated_at is not None
        told = walk.pair(page, 0).locator("time").inner_text()
        assert told == (rating.rated_at + timedelta(hours=5, minutes=30)).strftime("%H:%M:%S")
        expect(foot).to_contain_text("1 of 3 rated. Still open: pair 2, pair 3.")
        expect(button).to_have_class(re.compile("outline"))
        foot.get_by_role("link", name="pair 3").click()
        expect(walk.card(page, 2)).to_be_in_viewport()
    with step("the size of texts is set and remembered"):
        size = page.get_by_label("Text size")
        for name, pixels in (("small", "14px"), ("normal", "16px"), ("large", "20.8px")):
            size.select_option(label=name)
            expect(page.locator(".text").first).to_have_css("font-size", pixels)
            page.reload()
            expect(size).to_have_value("" if name == "normal" else name)
            expect(page.locator(".text").last).to_have_css("font-size", pixels)
    assert complaints == []
    with step("a report, its undoing and what went wrong are where the focus goes; choices stay"):
        report_pairs(page)
        expect(left).to_be_checked()

    with step("an early submission is told, and keeps what was chosen"):
        before = texts(page)
        button.click()
        expect(page.get_by_role("alert").filter(visible=True)).to_contain_text("pair 2, pair 3")
        expect(left).to_be_checked()
        assert not Assignment.objects.filter(state="submitted").exists()
    with step("a rater who comes back finds the HIT as it was"):
        page.goto("/rate/")
        assert texts(page) == before
        expect(left).to_be_checked()
        assert page.locator("input[name=choice]:checked").count() == 1
    with step("the end is told"):
        walk.choose(page, 1, "none")
        walk.choose(page, 2, "right")
        expect(foot).to_contain_text("3 of 3 rated.")
        expect(foot).not_to_contain_text("Still open")
        expect(button).not_to_have_class(re.compile("outline"))


def report_pairs(page: Page) -> None:
    """Report the first pair and take that back; report the second one offline, and again."""
    report = page.locator(".report").first
    report.locator("summary").click()
    report.get_by_label("Wrong language").check()
    report.get_by_label("Comment (optional)").fill("It is in Dutch.")
    report.get_by_role("button", name="Report", exact=True).press("Enter")
    told = report.get_by_text("Reported: Wrong language (It is in Dutch.).")
    expect(told).to_be_focused()
    expect(told).to_have_attribute("role", "status")
    assert Flag.objects.get().comment == "It is in Dutch."
    page.keyboard.press("Tab")
    expect(report.get_by_role("button", name="Take back: Wrong language · Pair 1")).to_be_focused()
    page.keyboard.press("Enter")
    expect(report.get_by_text("Report taken back: Wrong language.")).to_be_focused()
    expect(told).to_have_count(0)
    assert Flag.objects.get().taken_back_at is not None

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
    page.reload()
    expect(page.locator(".reported")).to_have_count(1)


def publish(slug: str, alpha: str, beta: str, *, source: str = "S.", **settings: Any) -> Study:
    """Publish one HIT of one pair for Ann, in a study of its own."""
    study = make_study(slug, instances=0, **settings)
    add_instances(study, [InstanceRow(1, "i", "news", source, {"alpha": [alpha], "beta": [beta]})])
    make_batch(study, pairs=1, raters=1)
    make_annotator(study, "ann")
    return study


def test_texts_of_all_kinds(open_as: OpenAs) -> None:
    publish("bold", "The **big red** boat sails.", "The *small* red boat sails home!", render_markdown=True)
    page = open_as("ann")
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.goto("/rate/")
    switch, sides, marks = (
        page.get_by_role("switch", name="Show differences"),
        page.locator(".sides"),
        page.locator("mark"),
    )
    with step("differences are marked by words"):
        before = sides.inner_html()
        switch.check()
        assert sorted(marks.all_inner_texts()) == ["big", "home", "small"]
        assert page.locator("strong mark, em mark").count() == 2  # what is bold stays bold
        left = "big" if "big" in page.locator(".side").first.inner_text() else "small"
        expect(page.locator("mark.only-left", has_text=left)).to_have_css("text-decoration-line", "underline")
    with step("they stay on after an answer and a reload, and go"):
        walk.rate(page, ["left"])
        expect(marks).to_have_count(3)
        page.reload()
        expect(marks).to_have_count(3)
        switch.uncheck()
        assert sides.inner_html() == before
        switch.check()

    words = [f"word{number}" for number in range(6000)]
    publish("long", " ".join(words), " ".join([*reversed(words), "only"]))
    walk.submit(page)
    with step("differences of long texts, on the next HIT"):
        expect(switch).to_be_checked()
        expect(marks).to_have_text("only")
    walk.rate(page, ["left"])

    publish(
        "maths",
        "It is $\\sqrt{x_1}$ then.",
        "It is $\\sqrt{x_2}$ now.",
        source="Let $$\\frac{a}{b}$$ be.",
        render_math=True,
    )
    walk.submit(page)
    with step("formulas are drawn, and differences leave them alone"):
        expect(page.locator(".side mark").first).to_be_visible()
        heights = "all => all.map(one => one.getBoundingClientRect().height)"
        fraction, *roots = page.locator("math").evaluate_all(heights)
        assert min(roots) > 10
        assert fraction > 1.3 * max(roots)
        assert page.locator("math mark").count() == 0
        assert page.locator("math msqrt msub").count() == len(roots) == 2
        switch.uncheck()
    walk.rate(page, ["left"])

    publish("hostile", HOSTILE, "**Plain.**", render_markdown=True)
    walk.submit(page)
    with step("hostile Markdown runs and loads nothing"):
        expect(sides.locator("strong")).to_have_text("Plain.")
        expect(sides.locator("h4")).to_have_text("Title")  # below the card's own headings
        expect(sides.locator("td")).to_have_text(["1", "2"])
        expect(sides).to_contain_text("a picture")
        expect(sides).to_contain_text("there")
        assert sides.locator("a, img, script, style, [style], iframe").count() == 0
        assert "by-alpha" not in page.content()
        assert [url for url in asked if "example.org" in url] == []
        assert complaints == []
    walk.rate(page, ["left"])

    publish("hebrew", "שלום עולם.\n\nHello world.", "Hello world.", source="מקור", language="he")
    walk.submit(page)
    for markdown in (False, True):
        with step(f"each paragraph is laid out by its own first letter, Markdown: {markdown}"):
            Study.objects.filter(slug="hebrew").update(render_markdown=markdown)
            page.reload()
            expect(page.locator(".source .text")).to_have_css("direction", "rtl")
            hebrew = page.locator(".side .text", has_text="שלום")
            expect(hebrew).to_have_css("direction", "rtl")
            expect(hebrew).to_have_attribute("lang", "he")
            expect(page.locator(".side .text").filter(has_not_text="שלום")).to_have_css("direction", "ltr")
            expect(hebrew.locator("p")).to_have_count(2 if markdown else 0)
            assert hebrew.evaluate(SIDES) == ["right", "left"]
