"""Rating with JavaScript switched off: whichever button is pressed, nothing that was chosen is lost."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, Route, expect

from annotation.models import Assignment, Display, Flag, Rating
from annotation.rating.votes import save_vote
from tests.browser import walk
from tests.browser.test_two_stages import second, two_stage_study
from tests.browser.walk import step
from tests.factories import make_batch, make_study

OpenAs = Callable[..., Page]
ALL = {0: "left", 1: "none", 2: "right"}


def choose(page: Page, *choices: str) -> None:
    """Choose pair by pair from the top, and save nothing."""
    for place, choice in enumerate(choices):
        walk.choose(page, place, choice)


def button(page: Page, name: str) -> Locator:
    """Return the last button of this name."""
    return page.get_by_role("button", name=name).last


def test_hits_of_one_stage(open_as: OpenAs) -> None:
    make_batch(make_study(instances=4, k=3), pairs=3, raters=1)
    page = walk.begin(open_as("ann", "annotator", java_script_enabled=False))
    save, submit = button(page, "Save this choice"), button(page, "Submit and continue")
    with step("an early submission keeps what was chosen"):
        choose(page, "left", "none")
        submit.click()
        expect(page.get_by_role("alert")).to_contain_text("Still open: pair 3.")
        assert walk.on_server(page) == {0: "left", 1: "none"}
        expect(walk.pair(page, 1).locator(":checked")).to_have_value("none")
        walk.choose(page, 2, "right")
        walk.submit(page)

    with step("to save one choice saves the others too"):
        choose(page, "left")
        save.click()  # of the last pair, which has none
        expect(walk.pair(page, 2).get_by_role("alert")).to_have_text("Please choose one of the answers.")
        assert walk.on_server(page) == {0: "left"}
        choose(page, *ALL.values())
        save.click()
        expect(page.locator(".saved", has_text="Saved at")).to_have_count(3)
        assert walk.on_server(page) == ALL
        for place, choice in ALL.items():
            expect(walk.pair(page, place).locator(":checked")).to_have_value(choice)
    with step("to submit overwrites nothing that was chosen elsewhere"):
        assignment = Assignment.objects.latest("pk")
        for key in list(assignment.displays.order_by("position").values_list("pair__key", flat=True))[:2]:
            save_vote(assignment=assignment, pair_key=key, choice="right", at=timezone.now())
        walk.choose(page, 2, "left")
        submit.click()
        for place in (0, 1):
            expect(walk.pair(page, place).get_by_role("alert")).to_contain_text("on another page")
            expect(walk.pair(page, place).locator(":checked")).to_have_value("right")
        assert walk.on_server(page) == {0: "right", 1: "right", 2: "left"}
        walk.submit(page)

    with step("a report is taken back"):
        report = page.locator(".report").first
        report.locator("summary").click()
        report.get_by_label("Something else").check()
        report.get_by_role("button", name="Report", exact=True).click()
        report.get_by_role("button", name="Take back: Something else").click()
        expect(page.locator(".reported")).to_have_count(0)
        assert Flag.objects.get().taken_back_at is not None
    with step("a submission takes every choice along, and they share their time"):
        hit = Assignment.objects.latest("pk")
        Display.objects.filter(assignment=hit).update(shown_at=timezone.now() - timedelta(seconds=90))
        choose(page, *ALL.values())
        walk.submit(page)
        ratings = Rating.objects.for_question(0).filter(display__assignment=hit)
        seconds = [rating.wall_seconds or 0.0 for rating in ratings]
        assert max(seconds) == pytest.approx(min(seconds))
        assert 90 <= sum(seconds) < 150
    assert Assignment.objects.filter(state="submitted").count() == 3
    with step("times name their zone"):
        page.goto("/rate/progress/")
        expect(page.locator("td time", has_text="UTC")).to_have_count(3)

    with step("choices made before any script arrived are submitted"):
        late = open_as("ann")
        late.goto("/rate/")
        held: list[Route] = []
        late.route("**/*.js", lambda route: held.append(route))
        late.reload(wait_until="commit")
        choose(late, *ALL.values())
        walk.submit(late)
        assert Assignment.objects.filter(state="submitted").count() == 4
        assert Rating.objects.for_question(0).count() == 12


@pytest.mark.weekly
def test_hits_of_two_stages(open_as: OpenAs) -> None:
    two_stage_study("table:c8")
    page = walk.begin(open_as("ann", "annotator", java_script_enabled=False))
    submit = button(page, "Submit and continue")
    with step("closing the first votes takes every choice along"):
        choose(page, "left", "right")
        walk.lock(page)
        assert walk.on_server(page) == {0: "left", 1: "right"}
    with step("a row is flagged"):
        page.get_by_role("button", name="Not supported by the texts: Detail").click()
        expect(page.locator("[aria-pressed=true]")).to_have_count(1)
    with step("an early submission takes the second choice and its reason along"):
        second(page).get_by_label("Change to: Right").check()
        second(page).get_by_label("Reason").fill(walk.REASON)
        submit.click()
        expect(page.get_by_role("alert")).to_contain_text("Still open: pair 2.")
        assert walk.on_server(page, "revised") == {0: "right"}
    with step("a change without a reason is refused, and stays chosen"):
        second(page).get_by_label("Change to: Left").check()
        submit.click()
        expect(second(page).get_by_role("alert")).to_contain_text("Please say why")
        expect(second(page).get_by_label("Change to: Left")).to_be_checked()
        second(page).get_by_label("Reason").fill(walk.REASON)
        button(page, "Save and continue").click()
    with step("a decision is looked at again, and submitted with the rest"):
        page.get_by_role("link", name="Look again").first.click()
        second(page).get_by_label("Keep: Left").check()
        walk.submit(page)
        revised = Rating.objects.for_question(0).filter(stage="revised").select_related("display")
        assert [one.choice for one in revised.order_by("display__position")] == ["left", "left"]
        assert Assignment.objects.filter(state="submitted").count() == 1

    with step("a first page that is still open makes no second votes"):
        choose(page, "left", "right")
        other = page.context.new_page()
        other.goto(page.url)
        choose(other, "left", "right")
        walk.lock(other)
        button(page, "Save this choice").click()
        expect(page.get_by_role("alert")).to_contain_text("The first choices of this HIT are closed")
        assert walk.on_server(other, "revised") == {}


def test_without_the_script_that_keeps_choices_they_are_saved_one_by_one(open_as: OpenAs) -> None:
    make_batch(make_study(instances=1, k=3), pairs=3, raters=1)
    page = open_as("ann", "annotator")
    page.route("**/outbox*.js", lambda route: route.abort())
    walk.begin(page)
    for choice in ("right", "left"):  # the card as the page brought it, and as the first answer did
        with page.expect_response("**/vote/") as answer:
            walk.choose(page, 1, choice)
        assert answer.value.status == 200
        assert walk.on_server(page) == {1: choice}
