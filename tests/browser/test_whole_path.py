"""From a file to findings in a real browser, with ratings made on the way."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, Page, expect

from annotation.models import Batch, Display, Invitation, Rating, Slot, Study
from judging.models import Endpoint, Judge, JudgeRun
from tests.browser import walk
from tests.fakes import StandIn

OpenAs = Callable[..., Page]

LONG = "a slow green river carries {n} wooden boats past the mill and on to the lake"
SHORT = "the museum opens at {n}"


def study_file(folder: Path) -> Path:
    """Write a study of two instances: `verbose` always writes the longer text, `terse` the shorter one."""
    path = folder / "boats.jsonl"
    rows = [
        {
            "instance_id": f"boat-{number}",
            "dataset": "boats",
            "source": f"A text about boats and museums, number {number}.",
            "generations": {
                "verbose": [LONG.format(n=f"{number}{k}") for k in range(3)],
                "terse": [f"{SHORT.format(n=k)} {'today ' * number}" for k in range(3)],
            },
        }
        for number in range(1, 3)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def prefer_longer(page: Page) -> None:
    """Choose, on every pair of the HIT shown, the side with the longer text, and wait until it is saved."""
    pairs = page.locator("[data-card]")
    for place in range(pairs.count()):
        pair = pairs.nth(place)
        left, right = (len(text) for text in pair.locator(".sides .text").all_inner_texts())
        pair.locator(
            f"input[name=choice][value={'left' if left > right else 'right'}]"
        ).click()  # `check` may click again on what its answer has replaced
        expect(pair.locator(".saved")).to_contain_text("Saved at")


def rate_everything(page: Page) -> int:
    """Rate HIT after HIT until there is none; returns how many."""
    done = 0
    page.goto("/rate/")
    if page.get_by_role("button", name="I agree, begin").count():
        page.get_by_role("button", name="I agree, begin").click()
        expect(page.locator("form[data-pair]").first).to_be_visible()
    while page.locator("form[data-pair]").count():
        prefer_longer(page)
        walk.submit(page)
        page.wait_for_load_state()  # the address changes before the page is there
        done += 1
    return done


def test_from_upload_to_findings(open_as: OpenAs, chromium: Browser, live_server: Any, tmp_path: Path) -> None:
    researcher = open_as("rita", "researcher", "study-admin", by_link=True)
    clicks = []

    def click(role: Literal["button", "link"], name: str) -> None:
        clicks.append(name)
        researcher.get_by_role(role, name=name, exact=True).click()

    click("button", "New study")
    clicks.append("the file")
    researcher.locator("input[type=file]").set_input_files(study_file(tmp_path))
    click("button", "Create study")
    expect(researcher.get_by_role("status")).to_contain_text("2 instances added")
    click("button", "Compute")
    expect(researcher.locator("#step-separability")).to_contain_text("1 of 1 configuration")
    click("button", "New batch")
    researcher.get_by_label("Raters per HIT").fill("2")
    click("button", "Create and launch")
    links = researcher.locator("td code", has_text="/join/")
    expect(links).to_have_count(2)
    assert clicks == ["New study", "the file", "Create study", "Compute", "New batch", "Create and launch"]

    researcher.go_back()
    researcher.go_forward()
    expect(links).to_have_count(2)
    wide = researcher.viewport_size
    assert wide
    researcher.set_viewport_size({"width": 390, "height": 740})
    for part in researcher.locator("main .scroll").all():
        assert part.evaluate("part => part.scrollWidth <= part.clientWidth")  # a link is seen whole
    researcher.set_viewport_size(wide)
    first, _second = links.all_inner_texts()
    assert Invitation.objects.count() == 2
    invited = walk.open_context(chromium, base_url=live_server.url).new_page()
    invited.goto(first)
    expect(invited.get_by_role("button", name="I agree, begin")).to_be_visible()
    invited.context.close()
    researcher.reload()
    expect(links).to_have_count(1)

    for name in ("ann", "ben"):
        annotator = open_as(name, "annotator", by_link=True)
        assert rate_everything(annotator) == 2
        expect(annotator.locator("main")).to_contain_text(re.compile("rated", re.IGNORECASE))
    assert set(Rating.objects.values_list("verdict", flat=True)) == {-1}  # always `verbose`, on whichever side
    assert set(Display.objects.values_list("a_is_left", flat=True)) == {True, False}
    assert not Slot.objects.free().exists()

    researcher.goto("/studies/boats/findings/")
    findings = researcher.locator("main")
    expect(findings).to_contain_text("12")  # ratings
    expect(findings).to_contain_text("1.000")  # all raters were consistent
    researcher.locator("details").evaluate_all("all => all.forEach(one => { one.open = true; })")
    for picture in researcher.locator("picture img").all():
        picture.scroll_into_view_if_needed()
        expect(picture).to_have_js_property("complete", True)
        assert picture.evaluate("image => image.naturalWidth") > 100

    researcher.set_viewport_size({"width": 360, "height": 740})
    for address in ("", "instances/", "judges/", "findings/", "batches/new/", f"batches/{Batch.objects.get().pk}/"):
        with walk.step(f"no page is wider than a phone: {address}"):
            researcher.goto(f"/studies/boats/{address}")
            assert researcher.evaluate("document.documentElement.scrollWidth") <= 360


def test_judges_rank_two_systems_after_six_clicks(open_as: OpenAs, tmp_path: Path, settings: Any) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    for name in ("left", "right"):
        rows = [{"instruction": f"Say {n}.", "output": f"{name} {n}", "generator": name} for n in range(3)]
        (tmp_path / f"{name}.json").write_text(json.dumps(rows), encoding="utf-8")
    with StandIn() as server:
        Endpoint.objects.create(name="mini", base_url=server.base_url, model="mini")
        researcher = open_as("rita", "researcher")
        researcher.goto("/studies/new/")
        clicks = [researcher.locator("input[type=file]")]
        clicks[0].set_input_files(list(tmp_path.glob("*.json")))

        def click(role: Literal["button", "link"], name: str) -> None:
            clicks.append(researcher.get_by_role(role, name=name, exact=True))
            clicks[-1].click()

        click("button", "Create study")
        click("link", "Choose a judge")
        add = researcher.locator("form", has=researcher.get_by_label("Method"))
        add.get_by_label("Name").fill("mini-direct")
        add.get_by_label("Method").select_option("direct")
        add.get_by_label("Endpoint", exact=True).select_option(label="mini")
        click("button", "Add")
        click("button", "Start")
        expect(researcher.locator("main")).to_contain_text("Done")
        click("link", "Leaderboard")
        expect(researcher.get_by_role("row", name="left").first).to_be_visible()
        assert len(clicks) == 6

    run = Study.objects.get().judge_runs.get()
    assert set(run.judgments.values_list("status", flat=True)) == {"parsed"}
    run.judgments.filter(pair__matchup__instance__position=0).update(verdict=0)
    other = Judge.objects.create(name="other", method="direct", endpoint=run.judge.endpoint)
    for judgment in run.judgments.all():
        judgment.pk, judgment.verdict = None, 0
        judgment.run, _ = JudgeRun.objects.get_or_create(study=run.study, judge=other, status="done")
        judgment.save()
    researcher.goto(f"/studies/{run.study.slug}/")
    researcher.locator("[data-state=next] a").first.click()
    expect(researcher.get_by_label("How many")).to_have_value("2")
    researcher.set_viewport_size({"width": 390, "height": 740})
    for link in researcher.locator(".study-nav a").all():
        box = link.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
