"""Sign-in links: looking spends nothing, no account changes unasked, and a lost answer locks no user out."""

import re
import time
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.members.account_views import BROWSER, REUSE_WINDOW, use_link
from annotation.members.accounts import grant_role, login_link
from annotation.models.members import Role
from tests.annotation.allocation.test_races import together
from tests.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def ann() -> User:
    return make_user("ann", Role.ANNOTATOR)


def link_of(user: User) -> str:
    user.refresh_from_db()
    return login_link(user=user, base_url="")


def who(client: Client) -> str | None:
    pk = client.session.get("_auth_user_id")
    return User.objects.get(pk=pk).username if pk else None


def opened(link: str, **more: Any) -> Client:
    """Return a browser that shows the page of a link."""
    browser = Client(**more)
    assert browser.get(link).status_code == 200
    return browser


def press(browser: Client, link: str) -> int:
    """Press the page's button, as a browser does that guards its forms."""
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', browser.get(link).text)
    return browser.post(link, {"csrfmiddlewaretoken": found[1]}).status_code


def press_and_lose_the_answer(browser: Client, link: str) -> None:
    before = {name: morsel.value for name, morsel in browser.cookies.items()}
    assert press(browser, link) == 302
    browser.cookies.clear()
    browser.cookies.load(before)
    assert who(browser) is None


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="a browser"),
        pytest.param({"User-Agent": "WhatsApp/2.23"}, id="preview"),
        pytest.param({"Sec-Purpose": "prefetch;prerender"}, id="prefetch"),
        pytest.param({"User-Agent": "Mozilla/5.0 Chrome/131.0"}, id="scanner that looks like a browser"),
    ],
)
def test_looking_at_a_link_spends_nothing_and_does_not_sign_in(ann: User, headers: dict[str, str]) -> None:
    link = link_of(ann)
    looker = Client(headers=headers)
    for answer in (looker.get(link), looker.head(link)):
        assert answer.status_code == 200
        assert "no-store" in answer["Cache-Control"]
        assert answer["Referrer-Policy"] == "same-origin"
    assert who(looker) is None
    browser = opened(link)
    assert press(browser, link) == 302
    assert who(browser) == "ann"


def test_a_link_works_once_after_its_page_was_opened(ann: User) -> None:
    link = link_of(ann)
    first, second = opened(link), opened(link)
    assert press(first, link) == 302
    assert first.get("/")["Location"] == "/rate/"
    refused = second.post(link)
    assert refused.status_code == 403
    assert "This link no longer works" in refused.text
    assert who(second) is None
    assert second.get(link).status_code == 403


# Signed in already


def test_a_link_opened_in_another_session_asks_first_and_says_both_names(ann: User) -> None:
    browser, bobs, anns = Client(), link_of(make_user("bob", Role.ANNOTATOR)), link_of(ann)
    press(browser, bobs)

    asked = browser.get(anns)

    assert asked.status_code == 200
    assert "You are signed in as <strong>bob</strong>, and this link signs in <strong>ann</strong>." in asked.text
    assert "Stay signed in as bob" in asked.text
    assert who(browser) == "bob"
    assert press(browser, anns) == 302
    assert who(browser) == "ann"


def test_a_link_opened_by_its_owner_leads_on_and_stays_unused(ann: User) -> None:
    browser = Client()
    press(browser, link_of(ann))
    further = link_of(ann)
    assert browser.get(further)["Location"] == "/"
    assert browser.post(further)["Location"] == "/"
    assert who(browser) == "ann"
    assert press(Client(), further) == 302


def test_the_page_shows_the_name_that_was_typed_and_escapes_it(ann: User) -> None:
    User.objects.filter(pk=ann.pk).update(first_name="<b>Ann</b>")
    page = Client().get(link_of(ann)).text
    assert "Sign in as &lt;b&gt;Ann&lt;/b&gt;" in page
    assert "<b>Ann" not in page


# An answer that was lost


def test_the_browser_that_lost_the_answer_may_use_its_link_again(ann: User) -> None:
    link = link_of(ann)
    browser, other = opened(link, enforce_csrf_checks=True), opened(link)
    press_and_lose_the_answer(browser, link)
    assert other.post(link).status_code == 403
    press_and_lose_the_answer(browser, link)
    assert press(browser, link) == 302
    assert who(browser) == "ann"


def test_a_second_use_is_for_some_minutes_after_the_first(ann: User) -> None:
    link = link_of(ann)
    browser = opened(link)
    press_and_lose_the_answer(browser, link)
    id_of_browser, token = browser.cookies[BROWSER].value, link.split("sesame=")[1]
    now = timezone.now()
    assert use_link(token=token, browser=id_of_browser, at=now + REUSE_WINDOW - timedelta(seconds=30)) == ann
    assert use_link(token=token, browser=id_of_browser, at=now + REUSE_WINDOW) is None
    Session.objects.update(expire_date=now)
    assert browser.get(link).status_code == 403


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda: grant_role(username="ann", role=Role.ADMIN), id="password"),
        pytest.param(lambda: User.objects.update(is_active=False), id="account"),
    ],
)
def test_a_second_use_ends_with_the_password_and_with_the_account(ann: User, change: Callable[[], object]) -> None:
    link = link_of(ann)
    browser = opened(link)
    press_and_lose_the_answer(browser, link)
    change()
    assert browser.get(link).status_code == 403
    assert browser.post(link).status_code == 403


def test_neither_the_next_person_at_a_browser_nor_a_made_up_one_opens_a_used_link(ann: User) -> None:
    link = link_of(ann)
    browser, thief = opened(link), Client()
    press(browser, link)
    browser.post("/logout/")
    thief.cookies[BROWSER] = "made-up"
    assert [one.get(link).status_code for one in (browser, thief)] == [403, 403]


def test_what_is_kept_of_a_browser_does_not_sign_in(ann: User) -> None:
    link = link_of(ann)
    press_and_lose_the_answer(opened(link), link)
    for row in Session.objects.all():
        thief = Client()
        thief.cookies["sessionid"] = row.session_key
        if "_auth_user_id" not in row.get_decoded():
            assert thief.get("/rate/")["Location"].startswith("/login/")


@pytest.mark.django_db(transaction=True)
def test_of_two_browsers_at_one_moment_one_gets_in() -> None:
    token = link_of(make_user("ann", Role.ANNOTATOR)).split("sesame=")[1]

    def use(browser: str) -> User | None:
        return use_link(token=token, browser=browser, at=timezone.now())

    found = together([lambda browser=browser: use(browser) for browser in ("first", "second", "third")])  # type: ignore[misc]
    assert sorted(user is None for user in found) == [False, True, True]


def test_signing_in_makes_every_earlier_link_stale(ann: User) -> None:
    earlier, later = link_of(ann), link_of(ann)
    assert press(Client(), later) == 302
    assert Client().get(earlier).status_code == 403


def test_a_link_that_is_no_link_is_refused_with_a_page(client: Client) -> None:
    for query in ("", "?sesame=", "?sesame=nonsense", "?sesame=AAAAAAAAAAAAAAAAAAAA"):
        response = client.get(reverse("annotation:login-link") + query)
        assert response.status_code == 403
        assert "ask the person who sent it for a new one" in response.text


def test_a_link_lasts_a_day(ann: User, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    link, day = link_of(ann), time.time() + 24 * 3600
    for moment, status in ((day - 60, 200), (day + 60, 403)):
        monkeypatch.setattr("sesame.tokens_v2.time", SimpleNamespace(time=lambda moment=moment: moment))
        assert client.get(link).status_code == status
