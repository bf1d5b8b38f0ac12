"""Pairs with several questions, strengths and a reason: by keys, by touch, offline, in two windows, without scripts."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from annotation.models import Assignment, Display, Rating, Study
from annotation.rating.votes import save_vote
from tests.browser import walk
from tests.browser.walk import step
from tests.factories import criterion, make_annotator, make_batch, make_study

OpenAs = Callable[..., Page]
REASON = "It leaves out nothing of weight."
SEVERAL = [
    criterion("faith", description="Leave out **how** it reads.", strength=True, tie_kinds=True),
    criterion("style"),
]


def begin(open_as: OpenAs, options: dict[str, Any] | None = None, *, instances: int = 1, **settings: Any) -> Page:
    """Begin the first HIT of two pairs with three questions and a needed reason."""
    publish(instances=instances, **settings)
    return walk.begin(open_as("ann", "annotator", **(options or {})))


def publish(*, instances: int = 1, **settings: Any) -> Study:
    """Publish HITs of two pairs with three questions and a needed reason."""
    asked = {"criteria": SEVERAL, "strength": True, "first_reason": "required", "auto_advance": True, **settings}
    study = make_study("more", instances=instances, k=2, **asked)
    make_batch(study, raters=1)
    return study


def form(page: Page, place: int, question: int) -> Locator:
    """Return the form of a question on the pair at this place, both from 0."""
    return page.locator("[data-card]").nth(place).locator("form[data-pair]").nth(question)


def reason(page: Page, place: int) -> Locator:
    """Return where the reason on a pair is written."""
    return page.locator("[data-vote]").nth(place)


def expect_in(place: Locator) -> None:
    """Expect the focus on a choice of a question."""
    expect(place.locator("input[name=choice]").first).to_be_focused()


def expect_saved(page: Page, place: int, *questions: int) -> None:
    """Wait until these answers say that they are saved."""
    for question in questions:
        expect(form(page, place, question).locator(".saved")).to_contain_text("Saved at")


def first_display() -> Display:
    """Return what the first pair of the latest HIT is shown as."""
    displays = Assignment.objects.latest("pk").displays.select_related("pair", "assignment")
    return displays.get(position=0)


def save_elsewhere(choice: str, **more: Any) -> None:
    """Answer a question on the first pair of the latest HIT on another device."""
    display = first_display()
    save_vote(assignment=display.assignment, pair_key=display.pair.key, choice=choice, at=timezone.now(), **more)


def answers() -> dict[tuple[int, int], str]:
    """Return (place, question) → choice of the latest HIT, on the server."""
    found = Rating.objects.filter(display__assignment=Assignment.objects.latest("pk"))
    return {(one.display.position, one.question): one.choice for one in found.select_related("display")}


def reasons(hit: Assignment | None = None) -> list[str]:
    """Return the reasons of a HIT, or of the latest one, on the server, in the order of the page."""
    found = Rating.objects.for_question(0).filter(display__assignment=hit or Assignment.objects.latest("pk"))
    return list(found.order_by("display__position").values_list("reason", flat=True))


def answer_all(page: Page, place: int) -> None:
    """Answer all questions on a pair, with a reason."""
    reason(page, place).fill(REASON)
    for question, choice in enumerate(("left-much", "left-much", "left")):
        form(page, place, question).locator(f"input[value={choice}]").click()
        expect_saved(page, place, question)


def test_several_questions_and_a_reason(open_as: OpenAs) -> None:
    make_batch(make_study("plain", instances=1, k=1), pairs=1, raters=1)
    page = walk.begin(open_as("ann", "annotator"))
    make_annotator(publish(instances=4), "ann")
    with step("the next HIT may be of a study that asks more"):
        page.evaluate("window.stays = true")
        walk.rate(page, ["left"])
        walk.submit_to(page, 1)
        expect(page.locator("form[data-pair]")).to_have_count(6)
        assert page.evaluate("window.stays")
        expect(form(page, 0, 1).locator("fieldset")).to_have_css("display", "grid")
    with step("keys lead from question to question, and on when all is answered"):
        expect_keys_to_lead_on(page)
    with step("an early submission names what is open"):
        page.locator("[data-action=submit]").click()
        expect(page.get_by_role("alert").filter(visible=True)).to_contain_text("Still open: pair 2.")
        hit = Assignment.objects.latest("pk")
        reason(page, 1).fill(REASON)
        for question, choice in enumerate(("none", "left-much", "none")):
            form(page, 1, question).locator(f"input[value={choice}]").click()
        expect(page.locator("[data-action=submit]")).to_be_focused()
        walk.submit_to(page, 2)
        assert reasons(hit)[1] == REASON

    page.locator("#tool-advance").uncheck()
    with step("a reason is lost neither before its choice nor while it is written"):
        expect_reason_to_stay(page)
    with step("a draft is older than what another device wrote since"):
        reason(page, 0).press_sequentially("!")
        save_elsewhere("left-much", reason="Newer than what is here.")
        page.reload()
        expect(reason(page, 0)).to_have_value("Newer than what is here.")
        assert reasons() == ["Newer than what is here."]
    for question, choice in enumerate(("left-much", "left")):
        form(page, 0, 1 + question).locator(f"input[value={choice}]").click()
        expect_saved(page, 0, 1 + question)
    answer_all(page, 1)
    walk.submit_to(page, 3)

    with step("answers wait offline each by itself, and survive a reload"):
        page.route("**/vote/", lambda route: route.abort())
        reason(page, 0).fill(REASON)
        for question, choice in enumerate(("left-slightly", "both-bad", "none")):
            form(page, 0, question).locator(f"input[value={choice}]").click()
            expect(form(page, 0, question).locator(".saved")).to_contain_text("Waiting")
        expect(page.locator("#outbox")).to_contain_text("Choices waiting to be sent: 3.")
        reason(page, 0).fill(REASON + " And more.")
        reason(page, 0).blur()
        page.reload()
        expect(form(page, 0, 1).locator("input[value=both-bad]")).to_be_checked()
        expect(reason(page, 0)).to_have_value(REASON + " And more.")
        assert answers() == {}
        page.unroute("**/vote/")
        expect_saved(page, 0, 0, 1, 2)
        assert answers() == {(0, 0): "left-slightly", (0, 1): "both-bad", (0, 2): "none"}
        assert reasons() == [REASON + " And more."]
        answer_all(page, 1)
        walk.submit_to(page, 4)

    answer_all(page, 0)
    answer_all(page, 1)
    with step("two windows differ question by question"):
        expect_conflicts_by_question(page)
    with step("the reason in view is the one that is submitted"):
        reason(page, 0).fill("Typed here, while another window is used.")
        save_elsewhere("right-slightly", reason="Typed there, meanwhile.")
        reason(page, 0).blur()
        expect(form(page, 0, 0).locator(".saved")).to_contain_text("on another page")
        expect(form(page, 0, 0).locator("input[value=right-slightly]")).to_be_checked()
        expect(reason(page, 0)).to_have_value("Typed here, while another window is used.")
        assert reasons()[0] == "Typed there, meanwhile."
        walk.submit(page)
        assert answers()[0, 0] == "right-slightly"
        assert reasons()[0] == "Typed here, while another window is used."
    assert Assignment.objects.filter(state="submitted").count() == 5


def expect_keys_to_lead_on(page: Page) -> None:
    """Answer all on the first pair by keys, then change an answer by keys and back."""
    page.keyboard.press("5")
    expect(reason(page, 0)).to_be_focused()
    page.keyboard.type("Short")
    expect(page.locator("#hint-" + (reason(page, 0).get_attribute("id") or "")[7:])).to_contain_text("So far: 5.")
    page.keyboard.press("Control+Enter")
    expect_in(form(page, 0, 1))
    page.keyboard.type("63")
    expect(reason(page, 0)).to_be_focused()  # all else is answered
    page.keyboard.press("End")
    page.keyboard.type("er, and all of it is true: 1 2 3.")
    page.keyboard.press("Control+Enter")
    expect(walk.card(page, 1).locator("h2")).to_be_focused()
    expect_saved(page, 0, 0, 1, 2)
    assert answers() == {(0, 0): "right-much", (0, 1): "right-much", (0, 2): "right"}
    assert reasons() == ["Shorter, and all of it is true: 1 2 3."]
    expect(page.locator("#hit-status")).to_contain_text("1 of 2 rated.")

    form(page, 0, 1).locator("input[value=right-much]").focus()
    page.keyboard.press("3")
    expect(page.locator("#changes")).to_have_text(
        "Pair 1, question 2: Changed from “Right, much” to “Both are good”. Press 0 to undo."
    )
    page.keyboard.press("0")
    expect(form(page, 0, 1).locator("input[value=right-much]")).to_be_focused()
    expect(page.locator("#announcer")).to_have_text("Pair 1, question 2: saved")
    page.keyboard.press("ArrowLeft")  # a radio group's own key, where there are more than three choices
    expect(form(page, 0, 1).locator("input[value=right-slightly]")).to_be_checked()
    expect_saved(page, 0, 1)
    assert answers()[0, 1] == "right-slightly"


def expect_reason_to_stay(page: Page) -> None:
    """Write a reason on the first pair before the choice, while it is saved, and after it."""
    reason(page, 0).fill("Not chosen yet.")
    page.reload()
    expect(reason(page, 0)).to_have_value("Not chosen yet.")
    assert answers() == {}
    form(page, 0, 0).locator("input[value=none]").click()
    expect_saved(page, 0, 0)
    assert reasons() == ["Not chosen yet."]

    reason(page, 0).click()
    page.keyboard.press("Control+End")
    page.keyboard.type(" And")
    with page.expect_response("**/vote/"):
        form(page, 0, 0).locator("input[value=left-much]").evaluate("radio => radio.click()")
    expect_saved(page, 0, 0)
    expect(reason(page, 0)).to_have_value("Not chosen yet. And")
    expect(reason(page, 0)).to_be_focused()
    page.keyboard.type(" more")
    page.reload()  # written after the choice, and not left
    expect(reason(page, 0)).to_have_value("Not chosen yet. And more")
    expect_saved(page, 0, 0)
    page.wait_for_function("() => !Object.keys(localStorage).some(name => /^tandem[:.]reason|^tandem:/.test(name))")
    assert (answers(), reasons()) == ({(0, 0): "left-much"}, ["Not chosen yet. And more"])


def expect_conflicts_by_question(page: Page) -> None:
    """Answer two questions on the first pair elsewhere, then here; only those differ."""
    save_elsewhere("right-much", question=1)
    save_elsewhere("none", reason="Neither.")
    form(page, 0, 2).locator("input[value=none]").click()  # is not touched by the others
    expect_saved(page, 0, 2)
    form(page, 0, 1).locator("input[value=both-good]").click()
    expect(form(page, 0, 1).locator(".saved")).to_contain_text("on another page")
    expect(form(page, 0, 1).locator("input[value=right-much]")).to_be_checked()
    expect(form(page, 0, 0).locator("input[value=none]")).to_be_checked()
    expect(form(page, 0, 0).locator(".saved")).to_contain_text("chosen in another window")
    expect(reason(page, 0)).to_have_value("Neither.")
    assert {key: choice for key, choice in answers().items() if key[0] == 0} == {
        (0, 0): "none",
        (0, 1): "right-much",
        (0, 2): "none",
    }
    form(page, 0, 1).locator("input[value=both-good]").click()
    expect_saved(page, 0, 1)
    assert answers()[0, 1] == "both-good"


@pytest.mark.weekly
def test_a_phone_shows_all_choices_and_a_tap_leads_on(open_as: OpenAs) -> None:
    phone = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True, "one_pair": True}
    page = begin(open_as, phone, first_reason="optional")
    with step("nothing is off the side"):
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        cut = page.locator("label.choice:visible").evaluate_all(
            "all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => one.innerText)"
        )
        assert cut == []
        expect(form(page, 0, 0).get_by_label("Top, slightly")).to_be_visible()
    with step("a tap leads to the next question"):
        form(page, 0, 0).locator("label:has([value=left-slightly])").tap()
        expect_in(form(page, 0, 1))
        expect(form(page, 0, 1).locator("fieldset")).to_be_in_viewport()
        expect_saved(page, 0, 0)
    with step("a link to what is open leads to its question"):
        page.locator("[data-step='1']:visible").click()
        expect(walk.card(page, 0)).to_be_hidden()
        page.locator("#hit-status").get_by_role("link", name="pair 1").click()
        expect_in(form(page, 0, 1))
    with step("and the last one to the next pair"):
        form(page, 0, 1).locator("label:has([value=both-good])").tap()
        expect_in(form(page, 0, 2))
        form(page, 0, 2).locator("label:has([value=none])").tap()
        expect(walk.card(page, 1)).to_have_class(re.compile("current"))
        expect(walk.card(page, 0)).to_be_hidden()
        page.get_by_role("link", name="pair 2").click()
        expect(walk.card(page, 1).locator("h2")).to_be_focused()
        expect_saved(page, 0, 0, 1, 2)
        assert answers() == {(0, 0): "left-slightly", (0, 1): "both-good", (0, 2): "none"}


def test_a_strength_is_kept_or_changed_in_the_second_stage(open_as: OpenAs) -> None:
    page = begin(open_as, criteria=[], first_reason="optional", protocol="two-stage", arms=["none"])
    for place, key in enumerate(("2", "5")):
        page.keyboard.press(key)
        expect_saved(page, place, 0)
    walk.lock(page)
    second = page.locator("form[data-second]")
    page.keyboard.press("1")
    expect(second.get_by_label("Change to: Left, much")).to_be_checked()
    page.keyboard.press("Enter")
    expect(second.get_by_label("Reason")).to_have_js_property("validity.valueMissing", True)
    assert not Rating.objects.for_question(0).filter(stage="revised").exists()
    second.get_by_label("Reason").fill(REASON)
    second.locator("[data-save]").click()
    expect(page.locator(".card.decided")).to_contain_text("from Left, slightly to Left, much.", use_inner_text=True)
    page.keyboard.press("5")
    expect(second.get_by_label("Keep: Right, much")).to_be_checked()
    page.keyboard.press("Enter")
    expect(page.locator(".card.decided")).to_have_count(2)
    walk.submit(page)
    revised = Rating.objects.for_question(0).filter(stage="revised").order_by("display__position")
    assert [one.choice for one in revised] == ["left-much", "right-much"]
