"""Choices that wait for the rater: the bar says what to do, with the link, wherever they are on the page."""

import re
from collections.abc import Callable

import pytest
from django.db.models import F
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from annotation.models import Annotator, Assignment, Study
from annotation.quality.exclusion import exclude_annotator
from tests.browser import walk
from tests.browser.outbox import kept
from tests.browser.walk import on_server, step
from tests.factories import make_batch, make_study

OpenAs = Callable[..., Page]
WIDE, PHONE = {"viewport": {"width": 1280, "height": 720}}, {"viewport": {"width": 360, "height": 640}}
ONE_PAIR = {**PHONE, "one_pair": True}
ALL = {0: "left", 1: "none", 2: "right"}
COOKIES = ("sessionid", "csrftoken")


def choose_all(page: Page) -> Locator:
    """Choose pair by pair, led on by each choice; return the bar that says what waits."""
    for place, choice in ALL.items():
        expect(walk.pair(page, place)).to_be_visible()  # on a phone, as soon as the choice before has led on
        walk.choose(page, place, choice)
    bar = page.locator("#outbox")
    expect(bar).to_contain_text("Choices waiting to be sent: 3.")
    expect(bar).to_be_in_viewport()
    assert on_server(page) == {}
    return bar


def expect_all_saved(page: Page) -> None:
    """Wait until nothing waits any more, and submit."""
    page.wait_for_function("() => !Object.keys(localStorage).some(name => name.startsWith('tandem:'))")
    expect(page.locator("#outbox")).to_be_hidden()
    assert on_server(page) == ALL
    before = Assignment.objects.filter(state="submitted").count()
    page.locator("[data-action=submit]").click()
    expect(page.locator("form[data-pair] .rated")).to_have_count(0)
    assert Assignment.objects.filter(state="submitted").count() == before + 1


def without(context: BrowserContext, *names: str) -> list:  # type: ignore[type-arg]
    """Take cookies away, and return them."""
    cookies = [cookie for cookie in context.cookies() if cookie["name"] in names]
    assert len(cookies) == len(names)
    for name in names:
        context.clear_cookies(name=name)
    return cookies


@pytest.mark.parametrize(
    "screen", [pytest.param(WIDE, id="leading on", marks=pytest.mark.weekly), pytest.param(ONE_PAIR, id="one pair")]
)
def test_the_bar_says_what_the_rater_has_to_do(open_as: OpenAs, screen: dict[str, object]) -> None:
    make_batch(make_study(instances=9, k=3, auto_advance=True), pairs=3, raters=1)
    page = walk.begin(open_as("ann", "annotator", **screen))
    with step("the session is lost: sign in"):
        cookies = without(page.context, "sessionid")
        link = choose_all(page).get_by_role("link")
        expect(link).to_have_attribute("href", f"/login/?next=/rate{page.url.split('/rate')[1]}")
        page.locator("[data-action=submit]").click()
        expect(page.locator("#outbox")).to_contain_text("you can continue your HIT")
        link.focus()
        with page.expect_response("**/vote/"):  # tried again
            pass
        expect(link).to_be_focused()
        page.goto(str(link.get_attribute("href")))
        page.context.add_cookies(cookies)
        page.goto("/rate/")
        expect_all_saved(page)
    with step("the consent text was amended: read it"):
        Study.objects.update(consent_version=F("consent_version") + 1, consent_text="A new text.")
        choose_all(page).get_by_role("link").click()
        page.get_by_role("button", name="I agree, begin").click()
        expect_all_saved(page)
    with step("all cookies are lost: load the page again, which asks to sign in"):
        cookies = without(page.context, *COOKIES)
        choose_all(page).get_by_role("link").click()
        expect(page).to_have_url(re.compile(r"/login/\?next=/rate/hit/"))
        page.context.add_cookies(cookies)
        page.goto("/rate/")
        expect_all_saved(page)
    with step("the token alone is lost: another one is fetched"):
        without(page.context, "csrftoken")
        for place, choice in ALL.items():
            expect(walk.pair(page, place)).to_be_visible()
            walk.choose(page, place, choice)
        expect_all_saved(page)
    with step("the token is lost when the HIT is submitted"):
        for place, choice in ALL.items():
            expect(walk.pair(page, place)).to_be_visible()
            walk.choose(page, place, choice)
        page.wait_for_function("() => !Object.keys(localStorage).some(name => name.startsWith('tandem:'))")
        without(page.context, "csrftoken")
        expect_all_saved(page)
    with step("requests are refused for good: load the page again"):
        page.route("**/vote/", lambda route: route.fulfill(status=403, body="no"))
        link = choose_all(page).get_by_role("link")
        expect(link).to_have_attribute("href", re.compile("^/rate/hit/"))
        page.unroute("**/vote/")
        link.click()
        expect_all_saved(page)
    with step("the network is away: nothing is to be done"):
        page.context.set_offline(True)
        bar = choose_all(page)
        expect(bar).to_contain_text("You are offline.")
        expect(bar.get_by_role("link")).to_have_count(0)
        page.context.set_offline(False)
        expect_all_saved(page)
    with step("the server is down: nothing is to be done"):
        page.route("**/vote/", lambda route: route.fulfill(status=502, body="no"))
        bar = choose_all(page)
        expect(bar).to_contain_text("They are sent by themselves.")
        expect(bar.get_by_role("link")).to_have_count(0)
        page.unroute("**/vote/")
        expect_all_saved(page)
    assert kept(page) == 0


def test_a_submission_that_waits_for_the_rater_says_so_in_the_bar(open_as: OpenAs) -> None:
    make_batch(make_study(instances=3, k=3), pairs=3, raters=1)
    page = walk.begin(open_as("ann", "annotator", **WIDE))
    bar = page.locator("#outbox")
    walk.rate(page, list(ALL.values()))
    cookies = without(page.context, "sessionid")
    page.locator("[data-action=submit]").click()
    link = bar.get_by_role("link", name="Sign in again")
    expect(link).to_be_in_viewport()
    expect(link).to_have_attribute("href", f"/login/?next=/rate{page.url.split('/rate')[1]}")
    page.context.add_cookies(cookies)
    expect(page.locator("form[data-pair] .rated")).to_have_count(0)
    expect(bar).to_be_hidden()
    assert Assignment.objects.filter(state="submitted").count() == 1


def test_without_storage_the_way_out_leaves_the_page_open(open_as: OpenAs) -> None:
    make_batch(make_study(instances=1, k=3), pairs=3, raters=1)
    page = walk.begin(open_as("ann", "annotator"))
    page.add_init_script("Object.defineProperty(window, 'localStorage', {get() { throw new Error('off'); }})")
    page.reload()
    cookies = without(page.context, "sessionid")
    walk.choose(page, 0, "left")
    with page.context.expect_page() as opened:
        page.locator("#outbox").get_by_role("link").click()
    expect(opened.value).to_have_url(re.compile("/login/"))
    page.context.add_cookies(cookies)
    opened.value.close()
    expect(walk.pair(page, 0).locator(".saved")).to_contain_text("Saved at")
    assert on_server(page) == {0: "left"}


def test_a_closed_hit_says_why_and_not_that_it_was_continued_elsewhere(open_as: OpenAs) -> None:
    make_batch(make_study(instances=3, k=3), pairs=3, raters=1)
    page = walk.begin(open_as("ann", "annotator"))
    told = page.locator("#refused")
    with step("returned"):
        Assignment.objects.filter(state="claimed").update(state="returned")
        expect(walk.choose(page, 1, "left")).to_contain_text("You returned this HIT")
        expect(told).to_have_text("You returned this HIT; nothing was changed. Load this page again")
        hit = page.url
        told.get_by_role("link").click()
        expect(page).not_to_have_url(hit)
        expect(page.locator("form[data-pair]")).to_have_count(3)
    with step("excluded"):
        rater = Annotator.objects.get()
        exclude_annotator(annotator=rater, reason="x", reopen=False, by=None, at=timezone.now())
        walk.choose(page, 1, "left")
        expect(told).to_have_text("Your work in this study has ended; nothing was changed. Thank you.")


@pytest.mark.parametrize(
    ("script", "screen"),
    [pytest.param("htmx", ONE_PAIR, id="htmx"), pytest.param("rate", WIDE, id="rate", marks=pytest.mark.weekly)],
)
def test_without_one_script_a_hit_is_rated_by_its_forms(
    open_as: OpenAs, chromium: Browser, screen: dict[str, object], script: str
) -> None:
    """In a context of its own, as the scripts that stay say on the console what they miss."""
    make_batch(make_study(instances=3, k=3, auto_advance=True), pairs=3, raters=1)
    signed_in = walk.begin(open_as("ann", "annotator"))
    context = walk.open_context(
        chromium, storage_state=signed_in.context.storage_state(), base_url=signed_in.url, **screen
    )
    page = context.new_page()
    page.route(f"**/{script}*.js", lambda route: route.abort())
    page.goto(signed_in.url)

    def choose(place: int, choice: str) -> None:
        walk.pair(page, place).locator(f"input[value={choice}]").click()

    for place in range(3):
        expect(walk.pair(page, place)).to_be_visible()
    if script == "htmx":
        choose(1, "left")
        page.get_by_role("button", name="Save this choice").last.click()
        expect(walk.pair(page, 2).get_by_role("alert")).to_be_visible()  # that one has none yet
        assert on_server(page) == {1: "left"}
        choose(0, "left")
        page.locator("[data-action=submit]").click()
        expect(page.get_by_role("alert").first).to_contain_text("Still open")
        assert on_server(page) == {0: "left", 1: "left"}
    for place, choice in ALL.items():
        choose(place, choice)
    hit = Assignment.objects.get(state="claimed")
    page.locator("[data-action=submit]").click()
    expect(page.locator("form[data-pair] .rated")).to_have_count(0)
    expect(page.locator("input[type=radio]:checked")).to_have_count(0)
    hit.refresh_from_db()
    assert (hit.state, on_server(hit)) == ("submitted", ALL)
    context.close()
