"""The pages of a HIT open for the account that the session names, and for a session that has ended not at all."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, Rating, RoleGrant
from tests.factories import claim, make_annotator, make_batch, make_study, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def held() -> Assignment:
    study = make_study()
    make_batch(study)
    return claim(make_annotator(study))


@pytest.fixture
def browser(held: Assignment) -> Client:
    return signed_in(held.annotator.user)


def vote(browser: Client, held: Assignment, **headers: str) -> Any:
    pair = held.displays.select_related("pair")[0].pair
    sent = {"pair_key": pair.key, "choice": "left"}
    return browser.post(reverse("annotation:save-vote", args=[held.key]), sent, headers=headers)


def change_session(browser: Client, **changes: str | None) -> None:
    """Change what the session of a browser holds; a change to None takes it out."""
    session = browser.session
    for name, value in changes.items():
        session.pop(name, None) if value is None else session.update({name: value})
    session.save()


def new_password(user: User, browser: Client) -> None:
    user.set_password("another one that is long enough")
    user.save()


@pytest.mark.parametrize(
    "ended_by",
    [
        new_password,
        pytest.param(lambda user, _: User.objects.filter(pk=user.pk).update(is_active=False), id="switched off"),
        pytest.param(
            lambda _, browser: change_session(
                browser, **{BACKEND_SESSION_KEY: "django.contrib.auth.backends.RemoteUserBackend"}
            ),
            id="another backend",
        ),
        pytest.param(lambda _, browser: change_session(browser, **{HASH_SESSION_KEY: None}), id="without a hash"),
        pytest.param(lambda *_: Session.objects.all().delete(), id="gone"),
        pytest.param(lambda *_: Session.objects.update(expire_date=timezone.now()), id="run out"),
        pytest.param(lambda *_: Session.objects.update(session_data="not:signed:by-us"), id="of another key"),
    ],
)
def test_a_session_that_has_ended_shows_and_takes_nothing(
    browser: Client, held: Assignment, ended_by: Callable[[User, Client], None]
) -> None:
    ended_by(held.annotator.user, browser)
    address = reverse("annotation:hit", args=[held.key])
    login = reverse("annotation:login")
    for answer in (
        browser.get(reverse("annotation:rate")),
        browser.get(address),
        vote(browser, held),
        browser.post(reverse("annotation:submit", args=[held.key])),
    ):
        assert answer.status_code == 302
        assert answer.headers["Location"].startswith(f"{login}?next=/")
    assert vote(browser, held, **{"HX-Request": "true"}).status_code == 401
    assert not Rating.objects.exists()


def test_a_vote_of_a_session_that_was_replaced_meanwhile_leaves_the_new_cookie_alone(
    browser: Client, held: Assignment, settings: Any
) -> None:
    Session.objects.all().delete()
    late = [vote(browser, held, **{"HX-Request": "true"}), browser.get(reverse("annotation:hit", args=[held.key]))]
    assert [answer.status_code for answer in late] == [401, 302]
    assert [settings.SESSION_COOKIE_NAME in answer.cookies for answer in late] == [False, False]

    browser.force_login(held.annotator.user)
    left = browser.post(reverse("annotation:logout"))
    assert left.cookies[settings.SESSION_COOKIE_NAME].value == ""


def test_a_changed_secret_key_keeps_people_signed_in_by_its_fallback(
    browser: Client, held: Assignment, settings: Any
) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = (
        "a new key that is long enough to be one",
        [settings.SECRET_KEY],
    )
    assert browser.get(reverse("annotation:hit", args=[held.key])).status_code == 200
    assert vote(browser, held).status_code == 302
    assert Rating.objects.count() == 1


@pytest.mark.parametrize("reads", [False, True])
def test_the_navigation_of_a_hit_shows_what_its_rater_may_open(browser: Client, held: Assignment, reads: bool) -> None:
    if reads:
        RoleGrant.objects.create(user=held.annotator.user, role="researcher", group=held.annotator.study.group)
    page = browser.get(reverse("annotation:hit", args=[held.key])).content.decode()
    assert reverse("annotation:rate") in page
    assert (f'href="{reverse("annotation:studies")}"' in page) == reads
    assert (f'href="{reverse("annotation:groups")}"' in page) == reads
