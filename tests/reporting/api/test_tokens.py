"""API tokens: a person chooses what theirs may do, a read-only one changes nothing, and the page says what is so."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.html import escape
from rest_framework.authtoken.models import Token
from rest_framework.test import APIClient

from annotation.models import Study
from annotation.models.members import Role
from reporting.api import tokens
from tests.factories import make_study, make_user
from tests.routes import Route, ask, body_of, routes
from tests.whole_study import Whole, build_whole_study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PAGE = "/api/v1/token/"
UNSAFE = ("POST", "PUT", "PATCH", "DELETE")
REFUSED = "This token is read-only"


def api_routes() -> list[Route]:
    """List the API's own addresses; the page that makes tokens is for browsers."""
    return [one for one in routes() if one.address.startswith("/api/v1/") and hasattr(one.callback, "cls")]


def header_of(user: User, *, read_only: bool) -> dict[str, str]:
    return {"Authorization": f"Token {tokens.rotate_token(user=user, read_only=read_only)}"}


def browser_of(user: User) -> Client:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def whole() -> Whole:
    return build_whole_study("mine")


def test_a_read_only_token_is_refused_by_every_route_for_every_unsafe_method(client: Client, whole: Whole) -> None:
    header = header_of(User.objects.create_superuser("root", password="a long enough one"), read_only=True)
    asked = 0
    for route in api_routes():
        for method in UNSAFE:
            answer: Any = ask(client, route, method, whole, "", headers=header)
            if not route.callback.cls.authentication_classes:  # without authentication, so it may change nothing
                assert answer.status_code == 405, (method, route.name)
                continue
            assert answer.status_code == 403, (method, route.name)
            assert REFUSED in body_of(answer), (method, route.name)
            asked += 1
    assert asked > 100


def test_a_read_only_token_reads_what_a_full_one_reads(client: Client, whole: Whole) -> None:
    root = User.objects.create_superuser("root", password="a long enough one")
    read = [route for route in api_routes() if "GET" in route.methods]
    seen = []
    for read_only in (False, True):
        header = header_of(root, read_only=read_only)
        seen.append([ask(client, route, "GET", whole, "", headers=header).status_code for route in read])
    assert seen[0] == seen[1]
    assert seen[0].count(200) > 40


def test_a_token_from_before_there_were_kinds_may_do_all_that_its_owner_may() -> None:
    make_study("talks", instances=0)
    Token.objects.create(user=make_user("boss", Role.STUDY_ADMIN), key="9944b09199c62bcf9418ad846dd0e4bbdfc6ee4b")
    api = APIClient(headers={"Authorization": "Token 9944b09199c62bcf9418ad846dd0e4bbdfc6ee4b"})
    assert api.post("/api/v1/studies/talks/archive/").status_code == 200
    assert Study.objects.get().archived_at is not None


def test_a_read_only_token_without_its_mark_is_no_token() -> None:
    key = tokens.rotate_token(user=make_user("boss", Role.STUDY_ADMIN), read_only=True)
    bare = key.removeprefix(tokens.READ_ONLY)
    assert bare != key
    assert APIClient().get("/api/v1/studies/", headers={"Authorization": f"Token {bare}"}).status_code == 401


@pytest.mark.parametrize("kind", ["read-only", "full"])
def test_the_page_makes_the_kind_that_was_chosen_and_says_which_it_is(kind: str) -> None:
    make_study("talks", instances=0)
    browser = browser_of(make_user("boss", Role.STUDY_ADMIN))

    made = browser.post(PAGE, {"make": kind}, follow=True).text

    key = re.search(r"<code data-token>([^<]+)</code>", made)
    assert key is not None
    said = "You have a read-only token" if kind == "read-only" else "You have a full token"
    assert said in made
    again = browser.get(PAGE).text
    assert said in again
    assert key[1] not in again
    archived = APIClient().post("/api/v1/studies/talks/archive/", headers={"Authorization": f"Token {key[1]}"})
    assert archived.status_code == (403 if kind == "read-only" else 200)


@pytest.mark.parametrize("sent", [{}, {"make": "everything"}])
def test_no_token_is_made_until_its_kind_is_chosen(sent: dict[str, str]) -> None:
    boss = make_user("boss", Role.STUDY_ADMIN)
    key = tokens.rotate_token(user=boss, read_only=True)
    answer = browser_of(boss).post(PAGE, sent)
    assert answer.status_code == 422
    assert "Please choose" in answer.text
    assert Token.objects.get().key == key


SETS_UP = "launch, pause, extend and close batches"


@pytest.mark.parametrize(
    ("role", "said", "not_said"),
    [
        pytest.param(Role.RESEARCHER, "make and copy studies", SETS_UP, id="researcher"),
        pytest.param(Role.STUDY_ADMIN, SETS_UP, "in every study", id="study admin"),
        pytest.param(Role.ADMIN, "in every study", "where you are study admin", id="site admin"),
    ],
)
def test_the_page_says_what_a_full_token_may_do_in_each_role(role: Role, said: str, not_said: str) -> None:
    user = User.objects.create_superuser("root") if role == Role.ADMIN else make_user("ann", role)
    page = " ".join(browser_of(user).get(PAGE).text.split())
    assert escape(said) in page
    assert escape(not_said) not in page
    assert "is read-only and shows what you may see here" not in page
