"""Pairs with several questions, strengths and a reason: by keys, by touch, offline, in two windows, without scripts."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from annotation.annotators.consent import answer_consent
from annotation.models import Assignment, Rating
from annotation.rating.votes import rated_choice, save_vote
from tests.browser import walk
from tests.factories import criterion, make_annotator, make_batch, make_study

OpenAs = Callable[..., Page]
REASON = "It leaves out nothing of weight."
SEVERAL = [
    criterion("faith", description="Leave out **how** it reads.", strength=True, tie_kinds=True),
    criterion("style"),
]


@pytest.fixture
def begun(open_as: OpenAs, transactional_db: None) -> Callable[..., Page]:
    """Return `begun(context options, study settings)`: a HIT of two pairs with three questions and a needed reason."""

    def begin(options: dict[str, Any] | None = None, **settings: Any) -> Page:
        asked = {"criteria": SEVERAL, "strength": True, "first_reason": "required", "auto_advance": True, **settings}
        make_batch(make_study(instances=1, k=2, **asked), raters=1)
        page = open_as("ann", "annotator", **(options or {}))
        walk.begin(page)
        return page

    return begin


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


def stored() -> dict[tuple[int, int], str]:
    """Return (place, question) → choice, on the server."""
    found = Rating.objects.of_every_question().select_related("display")
    return {(one.display.position, one.question): rated_choice(one) for one in found}


def reasons() -> list[str]:
    """Return the reasons on the server, in the order of the page."""
    return list(Rating.objects.of_question(0).order_by("display__position").values_list("reason", flat=True))


def test_keys_lead_from_question_to_question_and_on_when_all_is_answered(begun: Callable[..., Page]) -> None:
    page = begun()
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
    expect(page.locator("[data-card] h2").nth(1)).to_be_focused()
    expect_saved(page, 0, 0, 1, 2)
    assert stored() == {(0, 0): "right-much", (0, 1): "right-much", (0, 2): "right"}
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
    assert stored()[0, 1] == "right-slightly"

    page.locator("[data-action=submit]").click()
    expect(page.get_by_role("alert").filter(visible=True)).to_contain_text("Still open: pair 2.")
    reason(page, 1).fill(REASON)
    for question, choice in enumerate(("none", "left-much", "none")):
        form(page, 1, question).locator(f"input[value={choice}]").click()
    expect(page.locator("[data-action=submit]")).to_be_focused()
    walk.submit(page)
    assert Assignment.objects.get().state == "submitted"
    assert reasons()[1] == REASON


def test_a_reason_is_lost_neither_before_its_choice_nor_while_it_is_written(begun: Callable[..., Page]) -> None:
    page = begun()
    reason(page, 0).fill("Not chosen yet.")
    page.reload()
    expect(reason(page, 0)).to_have_value("Not chosen yet.")
    assert stored() == {}
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
    assert (stored(), reasons()) == ({(0, 0): "left-much"}, ["Not chosen yet. And more"])

    # A draft that was left here is older than what another device wrote since.
    reason(page, 0).press_sequentially("!")
    display = Assignment.objects.get().displays.select_related("pair").get(position=0)
    newer = {"choice": "left-much", "reason": "Newer.", "at": timezone.now()}
    save_vote(assignment=display.assignment, pair_key=display.pair.key, **newer)
    page.reload()
    expect(reason(page, 0)).to_have_value("Newer.")
    assert reasons() == ["Newer."]


def test_answers_wait_offline_each_by_itself_and_survive_a_reload(begun: Callable[..., Page]) -> None:
    page = begun(auto_advance=False)
    page.route("**/vote/", lambda route: route.abort())
    reason(page, 0).fill(REASON)
    for question, choice in enumerate(("left-slightly", "both-bad", "none")):
        form(page, 0, question).locator(f"input[value={choice}]").click()
        expect(form(page, 0, question).locator(".saved")).to_contain_text("Waiting")
    expect(page.locator("#outbox")).to_have_text("Choices waiting to be sent: 3.")
    reason(page, 0).fill(REASON + " And more.")
    reason(page, 0).blur()
    page.reload()
    expect(form(page, 0, 1).locator("input[value=both-bad]")).to_be_checked()
    expect(reason(page, 0)).to_have_value(REASON + " And more.")
    assert stored() == {}
    page.unroute("**/vote/")
    expect_saved(page, 0, 0, 1, 2)
    assert stored() == {(0, 0): "left-slightly", (0, 1): "both-bad", (0, 2): "none"}
    assert reasons() == [REASON + " And more."]


def test_two_windows_differ_question_by_question(begun: Callable[..., Page]) -> None:
    page = begun(auto_advance=False)
    reason(page, 0).fill(REASON)
    for question, choice in enumerate(("left-much", "left-much", "left")):
        form(page, 0, question).locator(f"input[value={choice}]").click()
        expect_saved(page, 0, question)
    display = Assignment.objects.get().displays.select_related("pair").get(position=0)
    key, assignment, now = display.pair.key, display.assignment, timezone.now()
    save_vote(assignment=assignment, pair_key=key, question=1, choice="right-much", at=now)
    save_vote(assignment=assignment, pair_key=key, choice="none", reason="Neither.", at=now)

    form(page, 0, 2).locator("input[value=none]").click()  # is not touched by the others
    expect_saved(page, 0, 2)
    form(page, 0, 1).locator("input[value=both-good]").click()
    expect(form(page, 0, 1).locator(".saved")).to_contain_text("on another page")
    expect(form(page, 0, 1).locator("input[value=right-much]")).to_be_checked()
    expect(form(page, 0, 0).locator("input[value=none]")).to_be_checked()
    expect(form(page, 0, 0).locator(".saved")).to_contain_text("chosen in another window")
    expect(reason(page, 0)).to_have_value("Neither.")
    assert stored() == {(0, 0): "none", (0, 1): "right-much", (0, 2): "none"}
    form(page, 0, 1).locator("input[value=both-good]").click()
    expect_saved(page, 0, 1)
    assert stored()[0, 1] == "both-good"


def test_the_reason_in_view_is_the_one_that_is_submitted(begun: Callable[..., Page]) -> None:
    page = begun(auto_advance=False, criteria=[])
    for place in (0, 1):
        reason(page, place).fill(REASON)
        form(page, place, 0).locator("input[value=left-much]").click()
        expect_saved(page, place, 0)
    display = Assignment.objects.get().displays.select_related("pair").get(position=0)
    reason(page, 0).fill("Typed here, while another window is used.")
    key, now = display.pair.key, timezone.now()
    save_vote(assignment=display.assignment, pair_key=key, choice="none", reason="Typed there, meanwhile.", at=now)
    reason(page, 0).blur()
    expect(form(page, 0, 0).locator(".saved")).to_contain_text("on another page")
    expect(form(page, 0, 0).locator("input[value=none]")).to_be_checked()
    expect(reason(page, 0)).to_have_value("Typed here, while another window is used.")
    assert reasons()[0] == "Typed there, meanwhile."
    walk.submit(page)
    assert (stored()[0, 0], reasons()[0]) == ("none", "Typed here, while another window is used.")


def test_a_phone_shows_all_choices_and_a_tap_leads_on(begun: Callable[..., Page]) -> None:
    phone = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True, "one_pair": True}
    page = begun(phone, first_reason="optional")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    cut = page.locator("label.choice:visible").evaluate_all(
        "all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => one.innerText)"
    )
    assert cut == []
    expect(form(page, 0, 0).get_by_label("Top, slightly")).to_be_visible()
    for question, choice in enumerate(("left-slightly", "both-good", "none")):
        form(page, 0, question).locator(f"label:has([value={choice}])").tap()
        if question < 2:
            expect_in(form(page, 0, question + 1))
            expect(form(page, 0, question + 1).locator("fieldset")).to_be_in_viewport()
    expect(page.locator("[data-card]").nth(1)).to_have_class(re.compile("current"))
    expect(page.locator("[data-card]").nth(0)).to_be_hidden()
    page.get_by_role("link", name="pair 2").click()
    expect(page.locator("[data-card] h2").nth(1)).to_be_focused()
    assert stored() == {(0, 0): "left-slightly", (0, 1): "both-good", (0, 2): "none"}


def test_a_strength_is_kept_or_changed_in_the_second_stage(begun: Callable[..., Page]) -> None:
    page = begun(criteria=[], first_reason="optional", protocol="two-stage", arms=["none"])
    for place, key in enumerate(("2", "5")):
        page.keyboard.press(key)
        expect_saved(page, place, 0)
    walk.lock(page)
    second = page.locator("form[data-second]")
    page.keyboard.press("1")
    expect(second.get_by_label("Change to: Left, much")).to_be_checked()
    page.keyboard.press("Enter")
    expect(second.get_by_label("Reason")).to_have_js_property("validity.valueMissing", True)
    assert not Rating.objects.of_question(0).filter(stage="revised").exists()
    second.get_by_label("Reason").fill(REASON)
    second.locator("[data-save]").click()
    expect(page.locator(".card.decided")).to_contain_text("from Left, slightly to Left, much.", use_inner_text=True)
    page.keyboard.press("5")
    expect(second.get_by_label("Keep: Right, much")).to_be_checked()
    page.keyboard.press("Enter")
    expect(page.locator(".card.decided")).to_have_count(2)
    walk.submit(page)
    revised = Rating.objects.of_question(0).filter(stage="revised").order_by("display__position")
    assert [rated_choice(one) for one in revised] == ["left-much", "right-much"]


def test_the_next_hit_may_be_of_a_study_that_asks_more(open_as: OpenAs, transactional_db: None) -> None:
    make_batch(make_study("plain", instances=1, k=1), pairs=1, raters=1)
    page = open_as("ann", "annotator")
    walk.begin(page)
    more = make_study("more", instances=1, k=1, criteria=SEVERAL, first_reason="required")
    make_batch(more, pairs=1, raters=1)
    answer_consent(annotator=make_annotator(more, "ann"), accepted=True, at=timezone.now())
    page.evaluate("window.stays = true")
    walk.rate(page, ["left"])
    walk.submit(page)
    expect(page.locator("form[data-pair]")).to_have_count(3)
    assert page.evaluate("window.stays")
    expect(form(page, 0, 1).locator("fieldset")).to_have_css("display", "grid")
    reason(page, 0).fill(REASON)
    expect(page.locator(".first-reason .count")).to_have_text(f"So far: {len(REASON)}.")
    for question, choice in enumerate(("left", "both-good", "none")):
        form(page, 0, question).locator(f"input[value={choice}]").click()
        expect_saved(page, 0, question)
    walk.submit(page)
    assert Assignment.objects.filter(state="submitted").count() == 2


def test_a_link_to_what_is_open_leads_to_its_question(begun: Callable[..., Page]) -> None:
    page = begun({"one_pair": True, "viewport": {"width": 360, "height": 740}}, first_reason="optional")
    with page.expect_response("**/vote/"):
        form(page, 0, 0).locator("input[value=none]").click()
    page.locator("[data-step='1']:visible").click()
    expect(page.locator("[data-card]").nth(0)).to_be_hidden()
    page.locator("#hit-status").get_by_role("link", name="pair 1").click()
    expect_in(form(page, 0, 1))


def test_without_scripts_all_of_it_is_sent_and_kept(begun: Callable[..., Page]) -> None:
    page = begun({"java_script_enabled": False})
    for place in (0, 1):
        reason(page, place).fill(REASON)
        for question, choice in enumerate(("none", "left-much", "right")[: 3 - place]):
            form(page, place, question).locator(f"input[value={choice}]").check()
    page.get_by_role("button", name="Submit and continue").click()
    expect(page.get_by_role("alert")).to_contain_text("Still open: pair 2 (question 3).")
    page.get_by_role("button", name="Save these choices").last.click()
    expect(form(page, 1, 2).get_by_role("alert")).to_have_text("Please choose one of the answers.")
    form(page, 1, 2).locator("input[value=left]").check()
    walk.submit(page)
    assert len(stored()) == 6
    assert reasons() == [REASON, REASON]
