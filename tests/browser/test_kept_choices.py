"""What a browser keeps is for its owner: across accounts, consent questions, late scripts, and entries gone bad."""

import re
from collections.abc import Callable

import pytest
from django.contrib.auth import get_user_model
from playwright.sync_api import Page, Route, expect

from annotation.members.accounts import grant_role, login_link
from tests.browser import walk
from tests.browser.outbox import checked, expect_saved, kept, leave_behind
from tests.browser.walk import on_server, release, step
from tests.factories import make_batch, make_study

OpenAs = Callable[..., Page]
BAD = ["{cut off", "null", '"text"', '{"id": "1", "action": "/x"}', '{"fields": {}}', "[]"]


def begin(open_as: OpenAs) -> Page:
    """Begin the first of three HITs of three pairs."""
    make_batch(make_study(instances=3, k=3), pairs=3, raters=1)
    return walk.begin(open_as("ann", "annotator"))


def sign_in(page: Page, name: str) -> None:
    """Sign a user in, in a new tab of the same browser; the tabs that are open keep what they show."""
    grant_role(username=name, role="annotator")
    tab = page.context.new_page()
    user = get_user_model().objects.get(username=name)
    walk.sign_in(tab, login_link(user=user, base_url=page.url.split("/rate/")[0]))
    tab.close()


def send_now(page: Page) -> None:
    """Have a page try what waits, as it does when the network comes back."""
    page.evaluate("dispatchEvent(new Event('online'))")


@pytest.mark.weekly
def test_others_sign_in_meanwhile(open_as: OpenAs) -> None:
    page = begin(open_as)
    with step("a choice that was made before the script arrived is saved"):
        held: list[Route] = []
        page.route("**/outbox*.js", lambda route: held.append(route))
        with page.expect_request("**/outbox*.js"):
            page.reload(wait_until="commit")
        choice = walk.pair(page, 1).get_by_label("Right")
        choice.click()
        expect(choice).to_be_checked()
        assert on_server(page) == {}
        release(page, held)
        page.unroute("**/outbox*.js")
        expect_saved(page, 1)
        assert (kept(page), on_server(page)) == (0, {1: "right"})
    with step("a choice waits while another user is signed in"):
        page.route("**/vote/", lambda route: route.abort())
        expect(walk.choose(page, 0, "left")).to_contain_text("Waiting")
        sign_in(page, "ben")
        page.unroute("**/vote/")
        with page.expect_response("**/vote/") as answer:
            send_now(page)
        assert answer.value.status == 401
        expect(page.locator("#outbox")).to_contain_text("Another person has signed in")
        expect(page.locator("#outbox").get_by_role("link", name="Sign in again")).to_be_visible()
        assert (kept(page), checked(page), on_server(page)) == (1, ["left", "right"], {1: "right"})
        sign_in(page, "ann")
        send_now(page)
        expect_saved(page, 0)
        assert (kept(page), on_server(page)) == (0, {0: "left", 1: "right"})
    with step("a rater who has signed in again elsewhere may submit"):
        expect(walk.choose(page, 2, "none")).to_contain_text("Saved at")
        sign_in(page, "ann")  # which changes the token that forms carry
        walk.submit_to(page, 2)

    with step("a choice of a HIT left behind waits for its owner too"):
        page.route("**/vote/", lambda route: route.abort())
        expect(walk.choose(page, 0, "right")).to_contain_text("Waiting")
        left = leave_behind(page)
        sign_in(page, "ben")
        page.unroute("**/vote/")
        with page.expect_response("**/vote/") as answer:
            send_now(page)
        assert answer.value.status == 401
        expect(page.locator("#outbox")).to_contain_text("Choices waiting to be sent: 1.")
        assert (kept(page), on_server(left)) == (1, {})
        sign_in(page, "ann")
        send_now(page)
        expect(page.locator("#outbox")).to_be_hidden()
        assert (kept(page), on_server(left)) == (0, {0: "right"})


def test_consent_is_asked_and_storage_is_damaged(open_as: OpenAs) -> None:
    page = begin(open_as)
    with step("a stored choice that cannot be read hides no other"):
        page.route("**/vote/", lambda route: route.abort())
        expect(walk.choose(page, 2, "right")).to_contain_text("Waiting")
        prefix = f"tandem:{page.locator('#hit').get_attribute('data-owner')}:"
        for number, one in enumerate(BAD):
            for name in (f"{prefix}/a/{number}", f"{prefix}/rate/hit/z/vote/{number}"):
                page.evaluate("([name, bad]) => localStorage.setItem(name, bad)", [name, one])
        page.reload()
        expect(walk.pair(page, 2).locator(".saved")).to_contain_text("Waiting")
        assert (checked(page), kept(page)) == (["right"], 1)
        page.unroute("**/vote/")
        send_now(page)
        expect_saved(page, 2)
        assert (kept(page), on_server(page)) == (0, {2: "right"})
    with step("a choice of a HIT left behind waits for the answer to its consent question"):
        page.route("**/vote/", lambda route: route.abort())
        expect(walk.choose(page, 0, "right")).to_contain_text("Waiting")
        entries = page.evaluate("JSON.stringify({...localStorage})")
        elsewhere = re.sub(r"(/rate/hit/)[\w-]+", r"\1an-earlier-one", entries)
        assert elsewhere != entries
        page.route(
            "**/rate/hit/an-earlier-one/vote/",
            lambda route: route.fulfill(status=409, headers={"X-Tandem-Wait": "consent"}, body="<p role=alert>no</p>"),
        )
        store = "kept => Object.entries(JSON.parse(kept)).forEach(one => localStorage.setItem(...one))"
        page.evaluate(store, elsewhere)
        page.reload()
        told = page.locator("#outbox")
        # The choice of this page may be tried first, and after each failure there is a longer pause.
        expect(told.get_by_role("link", name="Answer it")).to_be_visible()
        assert told.get_by_role("link").evaluate("link => link.pathname") == "/rate/hit/an-earlier-one/"
        assert kept(page) == 2
