"""When the network or the server is away: choices wait on the page, survive a reload, and are sent by themselves."""

import re
from collections.abc import Callable

import pytest
from django.utils import timezone
from playwright.sync_api import Dialog, Page, Route, expect

from annotation.allocation.claims import claim_hit
from annotation.models import Assignment, Rating, Study, VoteChange
from annotation.rating.votes import save_vote
from tests.browser import walk
from tests.browser.outbox import checked, expect_saved, kept, stored
from tests.factories import make_batch, make_study

OpenAs = Callable[..., Page]
LONGEST_PAUSE = 30_000  # milliseconds between two tries


@pytest.fixture
def study(transactional_db: None) -> Study:
    """Two HITs of three pairs."""
    study = make_study(instances=2, k=3)
    make_batch(study, pairs=3, raters=1)
    return study


@pytest.fixture
def page(open_as: OpenAs, study: Study) -> Page:
    """A HIT, just begun."""
    page = open_as("ann", "annotator")
    walk.begin(page)
    return page


def test_two_votes_offline_wait_and_are_sent_when_the_network_is_back(page: Page) -> None:
    expect(walk.choose(page, 0, "left")).to_contain_text("Saved at")
    page.context.set_offline(True)
    for place, choice in ((1, "none"), (2, "right")):
        expect(walk.choose(page, place, choice)).to_contain_text("Waiting: not saved yet. It will be sent by itself.")
    expect(page.locator("#outbox")).to_have_text("Choices waiting to be sent: 2.")
    expect(walk.pair(page, 1)).not_to_have_class(re.compile("rated"))
    assert (stored(), checked(page)) == ({0: "left"}, ["left", "none", "right"])

    page.context.set_offline(False)
    expect_saved(page, 1, 2)
    expect(page.locator("#outbox")).to_be_hidden()
    assert stored() == {0: "left", 1: "none", 2: "right"}
    assert kept(page) == 0


def test_waiting_votes_survive_a_reload_which_is_asked_about(page: Page) -> None:
    hit = page.url
    asked: list[str] = []

    def accept(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", accept)
    page.route("**/vote/", lambda route: route.abort())
    for place, choice in ((0, "none"), (2, "right")):
        expect(walk.choose(page, place, choice)).to_contain_text("Waiting")

    page.goto(hit)
    assert asked == ["beforeunload"]
    expect(walk.pair(page, 0).locator(".saved")).to_contain_text("Waiting")
    expect(page.locator("#outbox")).to_have_text("Choices waiting to be sent: 2.")
    assert (checked(page), stored()) == (["none", "right"], {})

    page.unroute("**/vote/")
    expect_saved(page, 0, 2)
    assert stored() == {0: "none", 2: "right"}
    chosen = VoteChange.objects.of_every_question().order_by("pk").first()
    assert chosen is not None
    assert chosen.chosen_at is not None
    assert chosen.chosen_at < chosen.received_at  # when it was made, not when it came


def test_a_server_that_is_in_trouble_is_asked_again(page: Page) -> None:
    answers: list[int] = []

    def answer(route: Route) -> None:
        route.fulfill(status=answers.pop(), body="no") if answers else route.continue_()

    page.clock.install()
    page.route("**/vote/", answer)
    for asked, (status, choice) in enumerate(((500, "left"), (502, "right"), (503, "left"), (429, "right")), start=1):
        answers += [status, status]
        expect(walk.choose(page, 0, choice)).to_contain_text("Waiting")
        for _ in range(2):
            with page.expect_response("**/vote/"):
                page.clock.run_for(LONGEST_PAUSE)
        expect_saved(page, 0)
        assert answers == []
        assert VoteChange.objects.of_every_question().count() == asked

    sent: list[str] = []

    def busy(route: Route) -> None:
        sent.append(route.request.url)
        route.fulfill(status=503, headers={"Retry-After": "20"}, body='<div role="alert">Not saved yet</div>')

    page.unroute("**/vote/")
    page.route("**/vote/", busy)
    expect(walk.choose(page, 1, "left")).to_contain_text("Waiting: not saved yet.")
    page.clock.run_for(19_000)  # when it says, and not before
    assert len(sent) == 1
    page.unroute("**/vote/")
    page.clock.run_for(2_000)
    expect_saved(page, 1)
    assert stored() == {0: "right", 1: "left"}


def test_a_choice_is_counted_once_and_the_last_of_quick_changes_holds(page: Page) -> None:
    lost: list[int] = []

    def lose(route: Route) -> None:
        if lost:
            route.continue_()
        else:
            lost.append(route.fetch().status)
            route.abort()

    page.route("**/vote/", lose)
    walk.choose(page, 1, "left")
    expect_saved(page, 1)
    assert lost == [200]
    assert (VoteChange.objects.of_every_question().count(), stored()) == (1, {1: "left"})
    page.unroute("**/vote/")

    held: list[Route] = []
    page.route("**/vote/", lambda route: route.continue_() if held else held.append(route))
    walk.choose(page, 0, "left")
    walk.choose(page, 0, "none")
    walk.choose(page, 0, "right")
    assert checked(page) == ["right", "left"]
    held[0].continue_()
    expect(walk.pair(page, 0)).to_have_class(re.compile("rated"))
    expect(walk.pair(page, 0).locator(".saved")).to_contain_text("Saved at")
    expect(page.locator("#outbox")).to_be_hidden()
    assert (checked(page), stored()) == (["right", "left"], {0: "right", 1: "left"})
    changes = VoteChange.objects.of_every_question().order_by("pk")
    assert [change.verdict != 0 for change in changes] == [True, True, True]  # nothing of “none” in between


def test_who_was_signed_out_signs_in_and_loses_nothing(page: Page, open_as: OpenAs) -> None:
    hit = page.url
    signed_in = page.context.cookies()
    page.context.clear_cookies(name="sessionid")
    line = walk.choose(page, 0, "left")
    expect(line).to_contain_text("you are signed out")
    address = line.get_by_role("link", name="Sign in again").get_attribute("href")
    assert address == f"/login/?next={hit.removeprefix(hit.split('/rate')[0])}"
    assert stored() == {}

    page.context.add_cookies([cookie for cookie in signed_in if cookie["name"] == "sessionid"])
    expect_saved(page, 0)
    assert stored() == {0: "left"}


def test_submit_waits_for_what_is_not_sent_yet(page: Page) -> None:
    hit = page.url
    for place, choice in ((0, "left"), (1, "none")):
        expect(walk.choose(page, place, choice)).to_contain_text("Saved at")
    page.route("**/vote/", lambda route: route.abort())
    expect(walk.choose(page, 2, "right")).to_contain_text("Waiting")
    page.locator("[data-action=submit]").click()
    expect(page.locator("#outbox")).to_contain_text("you can continue your HIT")
    assert page.url == hit

    page.unroute("**/vote/")
    expect(page).not_to_have_url(hit)
    assert Assignment.objects.filter(state="submitted").count() == 1
    assert stored() == {0: "left", 1: "none", 2: "right"}


def test_a_choice_of_a_hit_left_behind_is_sent_from_the_next_one(page: Page, study: Study) -> None:
    first = Assignment.objects.get()
    page.route("**/vote/", lambda route: route.abort())
    expect(walk.choose(page, 0, "right")).to_contain_text("Waiting")
    page.unroute("**/vote/")
    first.state, first.expires_at = "expired", timezone.now()
    first.save()
    first.slot.delete()
    second = claim_hit(annotator=first.annotator, at=timezone.now())
    assert second != first

    page.goto("/rate/")
    expect(page).to_have_url(re.compile(second.key))
    expect(page.locator("#outbox")).to_be_hidden()
    page.wait_for_function("() => !Object.keys(localStorage).some(name => name.startsWith('tandem:'))")
    assert stored() == {0: "right"}
    assert Rating.objects.of_every_question().get().display.assignment == first


def test_a_refusal_is_told_at_the_card_and_not_tried_again(page: Page) -> None:
    key = Assignment.objects.get().key
    tries: list[str] = []
    page.on("request", lambda request: tries.append(request.url) if request.url.endswith("/vote/") else None)
    Assignment.objects.update(state="returned")
    line = walk.choose(page, 1, "left")
    expect(line).to_contain_text("You returned this HIT; nothing was changed.")
    expect(page.locator("#outbox")).to_be_hidden()
    assert (kept(page), len(tries), stored()) == (0, 1, {})
    assert key in tries[0]


def test_a_choice_of_another_account_is_left_alone(page: Page, open_as: OpenAs) -> None:
    page.route("**/vote/", lambda route: route.abort())
    expect(walk.choose(page, 0, "right")).to_contain_text("Waiting")
    hit, kept_here = page.url, page.evaluate("JSON.stringify({...localStorage})")
    other = open_as("ben", "annotator")
    walk.begin(other)
    other.evaluate("kept => Object.entries(JSON.parse(kept)).forEach(one => localStorage.setItem(...one))", kept_here)
    other.reload()
    expect(walk.choose(other, 1, "left")).to_contain_text("Saved at")
    expect(other.locator("#outbox")).to_be_hidden()
    expect(other.locator("#refused")).to_be_hidden()
    assert kept(other) == 1
    assert other.url != hit


def test_another_tab_sees_what_the_first_one_sent(page: Page) -> None:
    page.context.route("**/vote/", lambda route: route.abort())
    expect(walk.choose(page, 0, "right")).to_contain_text("Waiting")
    second = page.context.new_page()
    second.goto(page.url)
    expect(walk.pair(second, 0).locator(".saved")).to_contain_text("Waiting")
    page.context.unroute("**/vote/")
    expect_saved(page, 0)
    expect_saved(second, 0)
    assert (VoteChange.objects.of_every_question().count(), stored()) == (1, {0: "right"})


def test_what_a_page_says_about_a_vote_is_stored_with_it(page: Page) -> None:
    expect(walk.choose(page, 0, "left")).to_contain_text("Saved at")
    expect(walk.choose(page, 0, "right")).to_contain_text("Saved at")
    first, second = VoteChange.objects.of_every_question().order_by("pk")
    assert first.source_opened is second.source_opened is True  # as it is on a wide screen
    assert first.page == second.page != ""
    assert first.chosen_at is not None
    assert second.chosen_at is not None
    assert first.chosen_at < second.chosen_at
    times = (first.active_seconds, first.wall_seconds, second.wall_seconds)
    active, wall, later = [seconds for seconds in times if seconds is not None]
    assert 0 <= active <= wall + 0.1
    assert wall <= later

    before = VoteChange.objects.of_every_question().latest("pk").wall_seconds or 0
    page.reload()
    expect(walk.choose(page, 0, "left")).to_contain_text("Saved at")
    third = VoteChange.objects.of_every_question().latest("pk")
    assert third.page != first.page
    assert (third.wall_seconds or 0) >= before  # a reload does not restart the count

    display = Assignment.objects.get().displays.select_related("pair").get(position=0)
    save_vote(assignment=display.assignment, pair_key=display.pair.key, choice="none", at=timezone.now())
    page.reload()
    assert checked(page) == ["none"]  # from elsewhere


def test_without_storage_a_choice_still_waits_on_its_page(open_as: OpenAs, study: Study) -> None:
    page = open_as("ann", "annotator")
    page.add_init_script("Object.defineProperty(window, 'localStorage', {get() { throw new Error('off'); }})")
    walk.begin(page)
    page.context.set_offline(True)
    expect(walk.choose(page, 0, "left")).to_contain_text("Waiting")
    page.context.set_offline(False)
    expect_saved(page, 0)
