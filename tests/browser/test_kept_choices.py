"""What a browser keeps is for its owner: across accounts, consent questions, late scripts, and entries gone bad."""

import re
from collections.abc import Callable

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from annotation.allocation.claims import claim_hit
from annotation.members.accounts import grant_role, login_link
from annotation.models import Assignment, Study
from tests.browser import walk
from tests.browser.outbox import checked, expect_saved, kept, stored
from tests.factories import make_batch, make_study

OpenAs = Callable[..., Page]


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


def test_a_choice_made_before_the_script_arrived_is_saved(page: Page) -> None:
    held: list[Route] = []
    page.route("**/outbox*.js", lambda route: held.append(route))
    with page.expect_request("**/outbox*.js"):
        page.reload(wait_until="commit")
    choice = walk.pair(page, 1).get_by_label("Right")
    choice.click()
    expect(choice).to_be_checked()
    assert stored() == {}
    held[0].continue_()
    expect_saved(page, 1)
    assert stored() == {1: "right"}
    assert kept(page) == 0


def test_a_choice_waits_while_another_user_is_signed_in(page: Page) -> None:
    page.route("**/vote/", lambda route: route.abort())
    expect(walk.choose(page, 0, "left")).to_contain_text("Waiting")
    sign_in(page, "ben")
    page.unroute("**/vote/")
    with page.expect_response("**/vote/") as answer:
        send_now(page)
    assert answer.value.status == 401
    line = walk.pair(page, 0).locator(".saved")
    expect(line).to_contain_text("you are signed out")
    expect(line.get_by_role("link", name="Sign in again")).to_be_visible()
    assert (kept(page), checked(page), stored()) == (1, ["left"], {})

    sign_in(page, "ann")
    send_now(page)
    expect_saved(page, 0)
    assert (kept(page), stored()) == (0, {0: "left"})


def test_a_choice_of_a_hit_left_behind_waits_for_its_owner_too(page: Page) -> None:
    first = Assignment.objects.get()
    page.route("**/vote/", lambda route: route.abort())
    expect(walk.choose(page, 0, "right")).to_contain_text("Waiting")
    first.state, first.expires_at = "expired", timezone.now()
    first.save()
    first.slot.delete()
    assert claim_hit(annotator=first.annotator, at=timezone.now()) != first
    page.goto("/rate/")
    sign_in(page, "ben")
    page.unroute("**/vote/")
    with page.expect_response("**/vote/") as answer:
        send_now(page)
    assert answer.value.status == 401
    expect(page.locator("#outbox")).to_have_text("Choices waiting to be sent: 1.")
    assert (kept(page), stored()) == (1, {})

    sign_in(page, "ann")
    send_now(page)
    expect(page.locator("#outbox")).to_be_hidden()
    assert (kept(page), stored()) == (0, {0: "right"})


def test_who_has_signed_in_again_elsewhere_may_submit(page: Page) -> None:
    hit = page.url
    walk.rate(page, ["left", "none", "right"])
    sign_in(page, "ann")  # which changes the token that forms carry
    page.locator("[data-action=submit]").click()
    expect(page).not_to_have_url(hit)
    assert Assignment.objects.filter(state="submitted").count() == 1


def test_a_choice_waits_for_the_answer_to_a_new_consent_question(page: Page, study: Study) -> None:
    hit = page.url
    Study.objects.filter(pk=study.pk).update(consent_version=2, consent_text="A new text.")
    line = walk.choose(page, 1, "right")
    expect(line).to_contain_text("as soon as you have answered the consent question")
    assert (kept(page), checked(page), stored()) == (1, ["right"], {})
    line.get_by_role("link", name="Answer it").click()
    page.get_by_role("button", name="I agree, begin").click()
    expect(page).to_have_url(hit)
    expect_saved(page, 1)
    assert (kept(page), stored()) == (0, {1: "right"})


def test_a_choice_of_a_hit_left_behind_waits_for_consent_too(page: Page, study: Study) -> None:
    page.route("**/vote/", lambda route: route.abort())
    expect(walk.choose(page, 0, "right")).to_contain_text("Waiting")
    entries = page.evaluate("JSON.stringify({...localStorage})")
    elsewhere = re.sub(r"(/rate/hit/)[\w-]+", r"\1an-earlier-one", entries)
    assert elsewhere != entries
    page.route(
        "**/rate/hit/an-earlier-one/vote/",
        lambda route: route.fulfill(status=409, headers={"X-Tandem-Wait": "consent"}, body="<p role=alert>no</p>"),
    )
    page.evaluate("kept => Object.entries(JSON.parse(kept)).forEach(one => localStorage.setItem(...one))", elsewhere)
    page.reload()
    told = page.locator("#refused")
    # The choice of this page may be tried first, and after each failure there is a longer pause.
    expect(told).to_contain_text("as soon as you have answered the consent question")
    assert told.get_by_role("link").evaluate("link => link.pathname") == "/rate/hit/an-earlier-one/"
    assert kept(page) == 2


def test_a_stored_choice_that_cannot_be_read_hides_no_other(page: Page) -> None:
    bad = ["{cut off", "null", '"text"', '{"id": "1", "action": "/x"}', '{"fields": {}}', "[]"]
    page.route("**/vote/", lambda route: route.abort())
    expect(walk.choose(page, 2, "right")).to_contain_text("Waiting")
    prefix = f"tandem:{page.locator('#hit').get_attribute('data-owner')}:"
    for number, one in enumerate(bad):
        for name in (f"{prefix}/a/{number}", f"{prefix}/rate/hit/z/vote/{number}"):
            page.evaluate("([name, bad]) => localStorage.setItem(name, bad)", [name, one])
    page.reload()
    expect(walk.pair(page, 2).locator(".saved")).to_contain_text("Waiting")
    assert (checked(page), kept(page)) == (["right"], 1)
    page.unroute("**/vote/")
    send_now(page)
    expect_saved(page, 2)
    assert (kept(page), stored()) == (0, {2: "right"})
