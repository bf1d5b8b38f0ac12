"""The two-stage page in every arm: first votes closed, then pair by pair the table, keep or revise, with a reason."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from playwright.sync_api import Locator, Page, expect

from annotation.importing.tables import import_tables
from annotation.members.accounts import grant_role, login_link
from annotation.models import Assignment, Flag, Rating, Study
from annotation.rating.votes import rated_choice
from tests.browser import walk
from tests.factories import json_lines, make_batch, make_study

OpenAs = Callable[..., Page]

ARMS = ["none", "table:c8", "placebo:c8"]
WIDTH = "document.documentElement.scrollWidth"


def table(instance: int, pair: int) -> dict[str, Any]:
    """Write a table whose cells name the pair that it is about."""
    about = f"of pair {instance}/{pair}"
    rows = [
        {"aspect": "Detail", "only_a": f"names {about}", "both": f"dates {about}", "only_b": ""},
        {"aspect": "Tone", "only_a": "", "both": "", "only_b": f"friendly {about}"},
    ]
    names = {"instance_id": f"news-{instance}", "system_a": "alpha", "system_b": "beta", "pair_index": pair}
    return {"table_id": f"t-{instance}-{pair}", **names, "variant": "c8", "rows": rows}


def two_stage_study(arm: str, **settings: Any) -> Study:
    """Make a study of one arm: two instances of two pairs, with a table for each pair; one HIT is open."""
    study = make_study(instances=2, k=2, protocol="two-stage", arms=[arm], **settings)
    tables = [table(instance, pair) for instance in (1, 2) for pair in (0, 1)]
    import_tables(data=json_lines(tables), name="tables.jsonl", slug="study")
    make_batch(study, pairs=2, raters=1)
    return study


def stored(stage: str) -> list[str]:
    """Return the choices of one stage on the server, in the order of the page."""
    ratings = (
        Rating.objects.of_every_question().filter(stage=stage).select_related("display").order_by("display__position")
    )
    return [rated_choice(rating) for rating in ratings]


def second(page: Page) -> Locator:
    """Return the form of the pair that the second stage is at."""
    return page.locator("form[data-second]")


def at_second_stage(page: Page, first: tuple[str, str] = ("left", "right")) -> None:
    """Rate both pairs and close the first votes."""
    walk.begin(page)
    walk.rate(page, first)
    walk.lock(page)


@pytest.mark.parametrize("arm", ARMS)
def test_both_stages_by_mouse_in_every_arm(open_as: OpenAs, transactional_db: None, arm: str) -> None:
    two_stage_study(arm)
    page = open_as("ann", "annotator")
    walk.begin(page)
    assert "of pair" not in page.content()
    expect(page.locator("[data-action=submit]")).to_have_count(0)
    walk.rate(page, ["left", "right"])
    walk.lock(page)

    place = Assignment.objects.get().hit.matchup.instance.position + 1
    for number in (1, 2):
        expect(page.get_by_role("table")).to_have_count(0 if arm == "none" else 1)
        if arm == "none":
            expect(page.locator(".card.open")).to_contain_text("Look at the two texts once more.")
        else:
            told = page.get_by_role("table", name=f"Comparison of the two texts of pair {number}")
            about = place if arm == "table:c8" else 3 - place
            expect(told).to_contain_text(f"of pair {about}/")
            expect(told).not_to_contain_text(f"of pair {3 - about}/")
            expect(told.get_by_role("columnheader")).to_have_text(
                ["Aspect", "Only Left", "Both", "Only Right", "Report"], use_inner_text=True
            )
            expect(told.get_by_role("rowheader")).to_have_text(["Detail", "Tone"])
            expect(page.locator(".card.open")).to_contain_text("made by a program; it may be wrong.")
        first = ("left", "right")[number - 1]
        expect(second(page).get_by_label(f"Keep: {first.title()}")).to_have_value(first)
        expect(second(page).locator(":checked")).to_have_count(0)
        if number == 1:
            second(page).get_by_label("Keep: Left").check()
            page.get_by_role("button", name="Save and continue").click()
        else:
            walk.decide(page, "none")
    expect(page.locator(".decision").nth(0)).to_contain_text("You kept your choice: Left.", use_inner_text=True)
    expect(page.locator(".decision").nth(1)).to_contain_text("from Right to No preference", use_inner_text=True)
    expect(page.locator("[data-action=submit]")).to_be_focused()
    walk.submit(page)

    assert Assignment.objects.get(state="submitted").arm == arm
    assert (stored("first"), stored("revised")) == (["left", "right"], ["left", "none"])
    ratings = Rating.objects.of_every_question().filter(stage="revised").order_by("display__position")
    assert [rating.reason for rating in ratings] == ["", walk.REASON]
    assert [rating.table_id is None for rating in ratings] == [arm == "none"] * 2
    assert all(rating.wall_seconds is not None and rating.active_seconds is not None for rating in ratings)


def test_the_words_are_the_same_beside_a_real_and_another_pairs_table(open_as: OpenAs, transactional_db: None) -> None:
    study = two_stage_study("table:c8", balance_arms=False)
    told = []
    for name, arm in (("ann", "table:c8"), ("ben", "placebo:c8")):
        Study.objects.filter(pk=study.pk).update(arms=[arm])
        page = open_as(name, "annotator")
        at_second_stage(page)
        html = page.locator("#stage").inner_html()
        html = re.sub(r'(name="(?:page|csrfmiddlewaretoken|pair_key)" value|data-\w+|datetime)="[^"]*"', "", html)
        html = re.sub(r"\d+ min left|[\w-]{16}(?=[\"'/ ?#-])|data-page=\S+", "", html)
        told.append(re.sub(r"(names|dates|friendly) of pair \d/\d|Text \d on news-\d\.|–|\s+", " ", html))
    words = [re.sub(r"\W+", " ", re.sub(r"<[^>]*>", " ", one)) for one in told]
    assert "made by a program" in words[0]
    assert words[0] == words[1]


def test_a_change_needs_a_reason_of_the_studys_length(open_as: OpenAs, transactional_db: None) -> None:
    two_stage_study("none", reason_min_length=12)
    page = open_as("ann", "annotator")
    at_second_stage(page)
    expect(second(page)).to_contain_text("12 characters or more")
    second(page).get_by_label("Change to: Right").check()
    page.get_by_role("button", name="Save and continue").click()  # the browser itself asks for it
    expect(second(page).get_by_label("Reason")).to_have_js_property("validity.valueMissing", True)
    assert stored("revised") == []

    second(page).get_by_label("Reason").fill("short   " + " " * 10)  # long enough only by its blanks
    expect(second(page)).to_contain_text("So far: 5.")
    page.get_by_role("button", name="Save and continue").click()
    expect(second(page).get_by_role("alert")).to_contain_text("in 12 characters or more")
    expect(second(page).get_by_label("Change to: Right")).to_be_checked()
    expect(second(page).get_by_label("Reason")).to_have_value(re.compile("^short"))
    assert stored("revised") == []

    second(page).get_by_label("Reason").fill("It is shorter.")
    page.get_by_role("button", name="Save and continue").click()
    expect(page.locator(".decision").first).to_contain_text("It is shorter.")
    assert stored("revised") == ["right"]


def test_rows_are_flagged_and_a_decision_can_be_looked_at_again(open_as: OpenAs, transactional_db: None) -> None:
    two_stage_study("table:c8")
    page = open_as("ann", "annotator")
    at_second_stage(page)
    flag = page.get_by_role("button", name="Not supported by the texts: Tone")
    expect(flag).to_have_attribute("aria-pressed", "false")
    flag.click()
    expect(flag).to_have_attribute("aria-pressed", "true")
    expect(flag).to_be_focused()
    stored_flag = Flag.objects.get()
    assert (stored_flag.row, stored_flag.kind, stored_flag.taken_back_at) == (1, "unsupported-row", None)
    page.reload()
    expect(flag).to_have_attribute("aria-pressed", "true")
    flag.click()
    expect(flag).to_have_attribute("aria-pressed", "false")
    assert Flag.objects.get().taken_back_at is not None

    walk.decide(page, "right")
    page.get_by_role("link", name="Look again").click()
    expect(page.get_by_role("table", name="pair 1")).to_be_visible()
    expect(second(page).get_by_label("Change to: Right")).to_be_checked()
    expect(second(page).get_by_label("Reason")).to_have_value(walk.REASON)
    second(page).get_by_label("Keep: Left").check()
    page.get_by_role("button", name="Save and continue").click()
    expect(page.locator(".decision").first).to_contain_text("You kept your choice: Left.", use_inner_text=True)
    expect(page.get_by_role("table", name="pair 2")).to_be_visible()
    assert stored("revised") == ["left"]


def test_both_stages_by_keys_alone(open_as: OpenAs, transactional_db: None) -> None:
    two_stage_study("table:c8")
    page = open_as("ann", "annotator")
    walk.begin(page)
    hit = page.url
    for place, key in enumerate("13"):
        page.keyboard.press(key)
        page.keyboard.press("Enter")
        expect(walk.pair(page, place).locator(".saved")).to_contain_text("Saved at")
    expect(page.locator("[data-action=lock]")).to_be_focused()
    page.keyboard.press("Enter")
    expect(second(page)).to_be_visible()

    page.keyboard.press("1")
    expect(second(page).get_by_label("Keep: Left")).to_be_checked()
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Comparison of the two texts of pair 2")).to_be_focused()
    page.keyboard.press("1")
    page.keyboard.press("Tab")
    expect(second(page).get_by_label("Reason")).to_be_focused()
    page.keyboard.type("1 and 3 are typed here, and choose nothing.")
    expect(second(page).get_by_label("Change to: Left")).to_be_checked()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("[data-action=submit]")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).not_to_have_url(hit)
    assert (stored("first"), stored("revised")) == (["left", "right"], ["left", "left"])


def test_a_second_vote_offline_is_kept_with_its_reason(open_as: OpenAs, transactional_db: None) -> None:
    two_stage_study("table:c8")
    page = open_as("ann", "annotator")
    at_second_stage(page)
    hit = page.url
    page.route("**/second/", lambda route: route.abort())
    second(page).get_by_label("Change to: Right").check()
    second(page).get_by_label("Reason").fill(walk.REASON)
    page.get_by_role("button", name="Save and continue").click()
    expect(second(page).locator(".saved")).to_contain_text("Waiting")
    page.goto(hit)
    expect(second(page).locator(".saved")).to_contain_text("Waiting")
    expect(second(page).get_by_label("Reason")).to_have_value(walk.REASON)
    expect(second(page).get_by_label("Change to: Right")).to_be_checked()

    page.unroute("**/second/")
    expect(page.locator(".decision").first).to_contain_text(walk.REASON)
    assert stored("revised") == ["right"]


def test_a_reason_is_kept_for_its_writer_only(open_as: OpenAs, live_server: Any, transactional_db: None) -> None:
    study = make_study(instances=1, k=2, protocol="two-stage", arms=["none"])
    make_batch(study, pairs=2, raters=2)  # both get the same pairs
    page = open_as("ann", "annotator")
    at_second_stage(page)
    second(page).get_by_label("Reason").fill("What Ann alone thinks")
    hit = page.url

    sign_in(page, live_server.url, "ben")
    walk.begin(page)
    walk.rate(page, ["left", "left"])
    walk.lock(page)
    expect(second(page).get_by_label("Reason")).to_have_value("")
    assert drafts(page) == []
    second(page).get_by_label("Keep: Left").check()
    page.get_by_role("button", name="Save and continue").click()
    expect(page.locator(".card.decided")).to_have_count(1)
    assert Rating.objects.of_every_question().get(stage="revised").reason == ""

    sign_in(page, live_server.url, "ann")
    page.goto(hit)
    expect(second(page).get_by_label("Reason")).to_have_value("")


def test_a_reason_is_kept_until_it_is_saved(open_as: OpenAs, transactional_db: None) -> None:
    two_stage_study("none")
    page = open_as("ann", "annotator")
    at_second_stage(page)
    second(page).get_by_label("Reason").fill("Half of a th")
    page.reload()
    expect(second(page).get_by_label("Reason")).to_have_value("Half of a th")
    second(page).get_by_label("Change to: Right").check()
    second(page).get_by_label("Reason").fill("short")
    second(page).evaluate("form => { form.noValidate = true; }")
    page.get_by_role("button", name="Save and continue").click()
    expect(second(page).get_by_role("alert")).to_contain_text("Please say why")
    assert drafts(page) == ["short"]  # refused, so still wanted
    walk.decide(page, "right")
    assert drafts(page) == []


def drafts(page: Page) -> list[str]:
    """Return the reasons that this tab keeps."""
    kept: dict[str, str] = page.evaluate("({...sessionStorage})")
    return [text for name, text in kept.items() if "reason" in name]


def sign_in(page: Page, address: str, name: str) -> None:
    """Sign a user in, in the same tab."""
    grant_role(username=name, role="annotator")
    walk.sign_in(page, login_link(user=get_user_model().objects.get(username=name), base_url=address))


def test_first_votes_are_closed_to_a_page_that_is_still_open(open_as: OpenAs, transactional_db: None) -> None:
    two_stage_study("none")
    page = open_as("ann", "annotator")
    walk.begin(page)
    walk.rate(page, ["left", "right"])
    other = page.context.new_page()
    other.goto(page.url)
    walk.lock(other)
    line = walk.choose(page, 0, "right")
    expect(line).to_contain_text("The first choices of this HIT are closed")
    assert stored("first") == ["left", "right"]


def test_no_stage_is_wider_than_a_phone(open_as: OpenAs, transactional_db: None) -> None:
    two_stage_study("table:c8", label_left="A label of forty characters to the left.", guidelines="Read.")
    page = open_as("ann", "annotator", viewport={"width": 360, "height": 740})
    walk.begin(page)
    assert page.evaluate(WIDTH) <= 360
    walk.rate(page, ["left", "right"])
    walk.lock(page)
    assert page.evaluate(WIDTH) <= 360
    box = page.get_by_role("region", name="Comparison")
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")  # nothing is off its side
    walk.decide(page, "right")
    assert page.evaluate(WIDTH) <= 360
