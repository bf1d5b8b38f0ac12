"""When the network or the server is away: choices wait on the page, survive a reload, and are sent by themselves."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from django.utils import timezone
from playwright.sync_api import Dialog, Page, Route, expect

from annotation.models import Assignment
from annotation.rating.votes import save_vote
from tests.browser import walk
from tests.browser.outbox import changes, checked, expect_saved, kept, leave_behind
from tests.browser.walk import on_server, release, step
from tests.factories import make_batch, make_study

OpenAs = Callable[..., Page]
LONGEST_PAUSE = 30_000  # milliseconds between two tries


def begin(open_as: OpenAs) -> Page:
    """Begin the first of four HITs of three pairs."""
    make_batch(make_study(instances=4, k=3), pairs=3, raters=1)
    return walk.begin(open_as("ann", "annotator"))


def test_the_network_is_away(open_as: OpenAs) -> None:
    page = begin(open_as)
    line = page.locator("#outbox")
    with step("two choices wait, and are sent when it is back"):
        expect(walk.choose(page, 0, "left")).to_contain_text("Saved at")
        page.context.set_offline(True)
        for place, choice in ((1, "none"), (2, "right")):
            told = walk.choose(page, place, choice)
            expect(told).to_contain_text("Waiting: not saved yet.")
        expect(line).to_contain_text("Choices waiting to be sent: 2.")
        expect(walk.pair(page, 1).locator(".answer")).not_to_have_class(re.compile("rated"))
        assert (on_server(page), checked(page)) == ({0: "left"}, ["left", "none", "right"])
        page.context.set_offline(False)
        expect_saved(page, 1, 2)
        expect(line).to_be_hidden()
        assert (on_server(page), kept(page)) == ({0: "left", 1: "none", 2: "right"}, 0)
    with step("to submit waits for what is not sent yet"):
        page.context.route("**/vote/", lambda route: route.abort())
        expect(walk.choose(page, 2, "left")).to_contain_text("Waiting")
        hit = page.url
        page.locator("[data-action=submit]").click()
        expect(line).to_contain_text("you can continue your HIT")
        assert page.url == hit
        page.context.unroute("**/vote/")
        expect(page.locator("h1")).to_have_text("HIT 2")
        assert Assignment.objects.filter(state="submitted").count() == 1

    asked: list[str] = []

    def accept(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", accept)
    with step("choices that wait survive a reload, which is asked about"):
        page.context.route("**/vote/", lambda route: route.abort())
        for place, choice in ((0, "none"), (2, "right")):
            expect(walk.choose(page, place, choice)).to_contain_text("Waiting")
        page.goto(page.url)
        assert asked == ["beforeunload"]
        expect(walk.pair(page, 0).locator(".saved")).to_contain_text("Waiting")
        expect(line).to_contain_text("Choices waiting to be sent: 2.")
        assert (checked(page), on_server(page)) == (["none", "right"], {})
    with step("another tab shows them too, and sees what the first one sent"):
        other = page.context.new_page()
        other.goto(page.url)
        expect(walk.pair(other, 0).locator(".saved")).to_contain_text("Waiting")
        page.context.unroute("**/vote/")
        expect_saved(page, 0, 2)
        expect_saved(other, 0, 2)
        other.close()
        assert on_server(page) == {0: "none", 2: "right"}
        chosen, _ = changes()
        assert chosen.chosen_at is not None
        assert chosen.chosen_at < chosen.received_at  # when it was made, not when it came

    with step("a choice of a HIT left behind is sent from the next one"):
        page.route("**/vote/", lambda route: route.abort())
        expect(walk.choose(page, 1, "right")).to_contain_text("Waiting")
        page.unroute("**/vote/")
        left = leave_behind(page)
        expect(line).to_be_hidden()
        page.wait_for_function("() => !Object.keys(localStorage).some(name => name.startsWith('tandem:'))")
        assert on_server(left) == {0: "none", 1: "right", 2: "right"}
    with step("a refusal is told at the card, and not tried again"):
        tries: list[str] = []
        page.on("request", lambda request: tries.append(request.url) if request.url.endswith("/vote/") else None)
        Assignment.objects.filter(state="claimed").update(state="returned")
        expect(walk.choose(page, 1, "left")).to_contain_text("You returned this HIT; nothing was changed.")
        expect(line).to_be_hidden()
        assert (kept(page), on_server(page), tries) == (0, {}, [f"{page.url}vote/"])


def test_the_server_is_in_trouble(open_as: OpenAs) -> None:
    page = begin(open_as)
    with step("what the page says about a choice is stored with it"):
        expect_notes_to_be_stored(page)
    with step("a choice whose answer is lost is counted once"):
        lost: list[int] = []

        def lose(route: Route) -> None:
            if lost:
                return route.continue_()
            lost.append(route.fetch().status)
            return route.abort()

        before = changes().count()
        page.route("**/vote/", lose)
        walk.choose(page, 1, "left")
        expect_saved(page, 1)
        assert (lost, changes().count() - before, on_server(page)[1]) == ([200], 1, "left")
        page.unroute("**/vote/")
    with step("the last of quick changes holds, and nothing in between is sent"):
        held: list[Route] = []
        page.route("**/vote/", lambda route: route.continue_() if held else held.append(route))
        for choice in ("left", "none", "right"):
            walk.choose(page, 2, choice)
        assert checked(page) == ["none", "left", "right"]
        release(page, held)
        expect(walk.pair(page, 2).locator(".answer")).to_have_class(re.compile("rated"))
        expect_saved(page, 2)
        expect(page.locator("#outbox")).to_be_hidden()
        assert on_server(page) == {0: "none", 1: "left", 2: "right"}
        assert [change.verdict != 0 for change in changes()][-2:] == [True, True]
        page.unroute("**/vote/")
    walk.submit_to(page, 2)

    walk.rate(page, ["left"])
    with step("it is asked again, after what it says and with longer pauses"):
        now = datetime.now(UTC)
        page.clock.install(time=now - timedelta(hours=1))
        page.clock.pause_at(now)  # else a slow machine is asked before its clock is moved
        expect_to_be_asked_again(page)
        page.clock.resume()

    page.route("**/vote/", lambda route: route.abort())
    expect(walk.choose(page, 2, "right")).to_contain_text("Waiting")
    ours = page.evaluate("JSON.stringify({...localStorage})")
    with step("what waits of another account is left alone"):
        other = walk.begin(open_as("ben", "annotator"))
        other.evaluate("kept => Object.entries(JSON.parse(kept)).forEach(one => localStorage.setItem(...one))", ours)
        other.reload()
        expect(walk.choose(other, 1, "left")).to_contain_text("Saved at")
        expect(other.locator("#outbox")).to_be_hidden()
        expect(other.locator("#refused")).to_be_hidden()
        assert kept(other) == 1
        assert other.url != page.url
    with step("without storage a choice waits on its page"):
        other = open_as("ben")
        other.add_init_script("Object.defineProperty(window, 'localStorage', {get() { throw new Error('off'); }})")
        other.goto("/rate/")
        other.context.set_offline(True)
        expect(walk.choose(other, 0, "left")).to_contain_text("Waiting")
        other.context.set_offline(False)
        expect_saved(other, 0)


def expect_notes_to_be_stored(page: Page) -> None:
    """Choose on the first pair, again after a reload and elsewhere; expect times, page and source beside the choices."""
    for choice in ("left", "right"):
        expect(walk.choose(page, 0, choice)).to_contain_text("Saved at")
    first, second = changes()
    assert first.source_opened is second.source_opened is True  # as it is on a wide screen
    assert first.page == second.page != ""
    assert first.chosen_at is not None
    assert second.chosen_at is not None
    assert first.chosen_at < second.chosen_at
    times = (first.active_seconds, first.wall_seconds, second.wall_seconds)
    active, wall, later = [seconds for seconds in times if seconds is not None]
    assert 0 <= active <= wall + 0.1
    assert wall <= later

    page.reload()
    expect(walk.choose(page, 0, "left")).to_contain_text("Saved at")
    third = changes().latest("pk")
    assert third.page != first.page
    assert (third.wall_seconds or 0) >= later  # a reload does not restart the count

    display = Assignment.objects.get().displays.select_related("pair").get(position=0)
    save_vote(assignment=display.assignment, pair_key=display.pair.key, choice="none", at=timezone.now())
    page.reload()
    assert checked(page) == ["none"]  # from elsewhere


def expect_to_be_asked_again(page: Page) -> None:
    """Refuse choices on the first two pairs with one status after the other, with and without a time to wait."""
    answers: list[int] = []

    def answer(route: Route) -> None:
        route.fulfill(status=answers.pop(), body="no") if answers else route.continue_()

    before = changes().count()
    page.route("**/vote/", answer)
    for asked, (status, choice) in enumerate(((500, "right"), (502, "left"), (503, "right"), (429, "left")), start=1):
        answers += [status, status]
        expect(walk.choose(page, 0, choice)).to_contain_text("Waiting")
        while changes().count() < before + asked:  # a pause begins when the page has read the answer
            page.clock.run_for(LONGEST_PAUSE)
        expect_saved(page, 0)
        page.clock.run_for(1)  # what the page does right after an answer
        assert answers == []
        assert changes().count() == before + asked
    page.unroute("**/vote/")

    sent: list[str] = []

    def busy(route: Route) -> None:
        sent.append(route.request.url)
        told = {"Retry-After": "20", "X-Request-ID": "0123abcd"}
        route.fulfill(status=503, headers=told, body='<div role="alert">Not saved yet</div>')

    page.route("**/vote/", busy)
    waits = walk.choose(page, 1, "left")
    expect(waits).to_contain_text("Waiting: not saved yet.")
    expect(waits).to_contain_text("Number of this error: 0123abcd")  # by which the log has it
    page.clock.run_for(19_000)  # when it says, and not before
    assert len(sent) == 1
    page.unroute("**/vote/")
    page.clock.run_for(2_000)
    expect_saved(page, 1)
    assert on_server(page) == {0: "left", 1: "left"}
