"""Rating with JavaScript switched off: whichever button is pressed, nothing that was chosen is lost."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, Route, expect

from annotation.models import Assignment, Display, Rating, Study
from annotation.rating.votes import save_vote
from tests.browser import walk
from tests.browser.test_two_stages import second, stored, two_stage_study
from tests.factories import make_batch, make_study

OpenAs = Callable[..., Page]


@pytest.fixture
def study(transactional_db: None) -> Study:
    """One HIT of three pairs."""
    study = make_study(instances=1, k=3)
    make_batch(study, pairs=3, raters=1)
    return study


@pytest.fixture
def page(open_as: OpenAs, study: Study) -> Page:
    """The HIT, just begun, without scripts."""
    page = open_as("ann", "annotator", java_script_enabled=False)
    walk.begin(page)
    return page


def choose(page: Page, *choices: str) -> None:
    """Choose pair by pair from the top, and save nothing."""
    for place, choice in enumerate(choices):
        walk.choose(page, place, choice)


def button(page: Page, name: str) -> Locator:
    """Return the last button of this name."""
    return page.get_by_role("button", name=name).last


def test_an_early_submit_keeps_what_was_chosen(page: Page) -> None:
    choose(page, "left", "none")
    button(page, "Submit and continue").click()
    expect(page.get_by_role("alert")).to_contain_text("Still open: pair 3.")
    assert stored("first") == ["left", "none"]
    expect(walk.pair(page, 1).locator(":checked")).to_have_value("none")
    walk.choose(page, 2, "right")
    walk.submit(page)
    assert stored("first") == ["left", "none", "right"]


def test_saving_one_choice_saves_the_others_too(page: Page) -> None:
    choose(page, "left")
    button(page, "Save this choice").click()  # of the last pair, which has none
    expect(walk.pair(page, 2).get_by_role("alert")).to_have_text("Please choose one of the answers.")
    assert stored("first") == ["left"]
    choose(page, "left", "none", "right")
    button(page, "Save this choice").click()
    assert stored("first") == ["left", "none", "right"]
    for place, choice in enumerate(["left", "none", "right"]):
        expect(walk.pair(page, place).locator(":checked")).to_have_value(choice)
        expect(walk.pair(page, place).locator(".saved")).to_contain_text("Saved at")


def test_submit_takes_every_choice_along_and_they_share_their_time(page: Page) -> None:
    Display.objects.update(shown_at=timezone.now() - timedelta(seconds=90))
    choose(page, "left", "none", "right")
    walk.submit(page)
    seconds = [rating.wall_seconds or 0.0 for rating in Rating.objects.of_every_question()]
    assert stored("first") == ["left", "none", "right"]
    assert Assignment.objects.get().state == "submitted"
    assert max(seconds) == pytest.approx(min(seconds))
    assert 90 <= sum(seconds) < 150


def test_submit_overwrites_nothing_that_was_chosen_elsewhere(page: Page) -> None:
    choose(page, "left", "none", "right")
    button(page, "Save this choice").click()
    assignment = Assignment.objects.get()
    keys = list(assignment.displays.order_by("position").values_list("pair__key", flat=True))
    for key in keys[:2]:
        save_vote(assignment=assignment, pair_key=key, choice="right", at=timezone.now())
    walk.choose(page, 2, "left")
    button(page, "Submit and continue").click()
    for place in (0, 1):
        expect(walk.pair(page, place).get_by_role("alert")).to_contain_text("on another page")
        expect(walk.pair(page, place).locator(":checked")).to_have_value("right")
    assert stored("first") == ["right", "right", "left"]
    walk.submit(page)
    assert stored("first") == ["right", "right", "left"]


def test_locking_and_both_stages_take_every_choice_along(open_as: OpenAs, transactional_db: None) -> None:
    two_stage_study("table:c8")
    page = open_as("ann", "annotator", java_script_enabled=False)
    walk.begin(page)
    choose(page, "left", "right")
    walk.lock(page)
    assert stored("first") == ["left", "right"]
    page.get_by_role("button", name="Not supported by the texts: Detail").click()
    expect(page.locator("[aria-pressed=true]")).to_have_count(1)

    second(page).get_by_label("Change to: Right").check()
    second(page).get_by_label("Reason").fill(walk.REASON)
    button(page, "Submit and continue").click()
    expect(page.get_by_role("alert")).to_contain_text("Still open: pair 2.")
    assert stored("revised") == ["right"]

    second(page).get_by_label("Change to: Left").check()
    button(page, "Submit and continue").click()
    expect(second(page).get_by_role("alert")).to_contain_text("Please say why")
    expect(second(page).get_by_label("Change to: Left")).to_be_checked()
    second(page).get_by_label("Reason").fill(walk.REASON)
    button(page, "Save and continue").click()
    page.get_by_role("link", name="Look again").first.click()
    second(page).get_by_label("Keep: Left").check()
    walk.submit(page)
    assert stored("revised") == ["left", "left"]
    assert Assignment.objects.filter(state="submitted").count() == 1


def test_a_first_page_that_is_still_open_makes_no_second_votes(open_as: OpenAs, transactional_db: None) -> None:
    two_stage_study("table:c8")
    page = open_as("ann", "annotator", java_script_enabled=False)
    walk.begin(page)
    choose(page, "left", "right")
    other = page.context.new_page()
    other.goto(page.url)
    choose(other, "left", "right")
    walk.lock(other)
    button(page, "Save this choice").click()
    expect(page.get_by_role("alert")).to_contain_text("The first choices of this HIT are closed")
    assert stored("revised") == []


def test_without_the_script_that_keeps_choices_they_are_saved_one_by_one(open_as: OpenAs, study: Study) -> None:
    page = open_as("ann", "annotator")
    page.route("**/outbox*.js", lambda route: route.abort())
    walk.begin(page)
    for choice in ("right", "left"):  # the card as the page brought it, and as the first answer did
        with page.expect_response("**/vote/") as answer:
            walk.choose(page, 1, choice)
        assert answer.value.status == 200
        assert stored("first") == [choice]


def test_choices_made_before_any_script_arrived_are_submitted(open_as: OpenAs, study: Study) -> None:
    page = open_as("ann", "annotator")
    walk.begin(page)
    held: list[Route] = []
    page.route("**/*.js", lambda route: held.append(route))
    page.reload(wait_until="commit")
    choose(page, "left", "none", "right")
    walk.submit(page)
    assert stored("first") == ["left", "none", "right"]
