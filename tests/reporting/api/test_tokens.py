"""API tokens: what a token may do, in which studies and until when; keys are shown once, and stored as hashes."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client, RequestFactory
from django.utils import timezone
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.test import APIClient
from rest_framework.views import APIView

from annotation.core.actions import filled
from annotation.core.errors import BadFields
from annotation.members.forms import NewToken
from annotation.members.tokens import digest_of
from annotation.models import ApiToken, Study
from annotation.models.members import Role
from tests.factories import add_instances, make_annotator, make_study, make_user, signed_in, token_of
from tests.routes import Route, ask, routes, values_of
from tests.whole_study import Whole, build_whole_study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PAGE = "/api/v1/token/"
UNSAFE = ("POST", "PUT", "PATCH", "DELETE")


def api_routes() -> list[Route]:
    """List the API's own addresses; the page that makes tokens is for browsers."""
    return [one for one in routes() if one.address.startswith("/api/v1/") and hasattr(one.callback, "cls")]


def methods_of(route: Route) -> tuple[str, ...]:
    """Return the methods that an address may take: a view set has no handler for any other, another view may have."""
    return tuple(route.methods) if hasattr(route.callback, "actions") else ("GET", *UNSAFE)


def header_of(user: User, *scopes: str, **settings: Any) -> dict[str, str]:
    return {"Authorization": f"Token {token_of(user, *scopes, **settings)}"}


@pytest.fixture
def whole() -> Whole:
    return build_whole_study("mine")


class Opened(APIException):
    """Stands for whatever lies behind the permissions of a request."""

    status_code = 418


def stop_behind_permissions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be read or done once a request is allowed."""
    check = APIView.check_permissions

    def check_and_stop(view: APIView, request: Request) -> None:
        check(view, request)
        raise Opened

    monkeypatch.setattr(APIView, "check_permissions", check_and_stop)


def asked_directly(route: Route, method: str, whole: Whole, headers: dict[str, str]) -> Any:
    """Hand a request to its view alone: who may ask is settled there, and the rest of the program takes most of the time.

    What that changed is undone.
    """
    request = RequestFactory().generic(method, "/", headers=headers)
    with transaction.atomic():
        answer = route.callback(request, **values_of(route, whole))
        transaction.set_rollback(True)
    return answer


def test_each_scope_opens_its_own_requests_and_no_others(
    client: Client, whole: Whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = User.objects.create_superuser("root", password="a long enough one")
    headers = {scope: header_of(root, scope) for scope in ("read", "manage", "configure", "personal")}
    opened: dict[str, set[tuple[str, str]]] = {scope: set() for scope in headers}
    for_all, scoped = [], []
    for route in api_routes():
        is_for_all = not route.callback.cls.authentication_classes or route.name == "api:api-root"
        (for_all if is_for_all else scoped).append(route)
    for route in for_all:
        for method in UNSAFE:
            assert ask(client, route, method, whole, "", headers=headers["read"]).status_code == 405, route.name
    stop_behind_permissions(monkeypatch)
    for route in scoped:
        for method in methods_of(route):
            for scope, header in headers.items():
                answer = asked_directly(route, method, whole, header)
                if answer.status_code == Opened.status_code:
                    opened[scope].add((method, route.name))
                else:
                    assert answer.status_code == 403, (method, route.name)
                    assert "This token lacks the scope" in str(answer.data), (method, route.name)
    assert {method for method, _ in opened["read"]} == {"GET"}
    assert len(opened["read"]) > 40
    assert opened["personal"] == {
        *(("GET", f"api:{name}") for name in ("study-payments", "annotator-data", "study-members", "group-members"))
    }
    assert {("GET", "api:channel-links"), ("POST", "api:annotator-exclude"), ("POST", "api:batch-list")} <= opened[
        "manage"
    ]
    assert {("POST", "api:judgerun-list"), ("PATCH", "api:study-detail")} <= opened["configure"]
    all_of_them = sum(map(len, opened.values()))
    assert all_of_them == len(set.union(*opened.values())), "a request that two scopes open"


def test_a_token_of_some_studies_opens_no_other_and_makes_none() -> None:
    one, other = (add_instances(make_study(slug, instances=0)) for slug in ("one", "other"))
    for owner in (make_user("boss", Role.STUDY_ADMIN), User.objects.create_superuser("root")):
        api = APIClient(headers=header_of(owner, studies=[one]))
        assert [row["slug"] for row in api.get("/api/v1/studies/").json()["results"]] == ["one"]
        assert {row["study"] for row in api.get("/api/v1/instances/").json()["results"]} == {"one"}
        assert api.get("/api/v1/studies/other/findings/").status_code == 404
        assert api.post("/api/v1/studies/other/archive/").status_code == 404
        assert api.post("/api/v1/studies/one/archive/").status_code == 200
        assert api.post("/api/v1/studies/", {"slug": "third"}, format="json").status_code == 403
        assert api.get("/api/v1/endpoints/").status_code == 403
    Study.objects.filter(slug="one").delete()
    assert api.get("/api/v1/studies/").json()["results"] == []
    assert Study.objects.get() == other


def test_an_expired_token_and_that_of_a_closed_account_open_nothing() -> None:
    make_study("talks", instances=0)
    boss, now = make_user("boss", Role.STUDY_ADMIN), timezone.now()
    key = token_of(boss, expires_at=now + timedelta(hours=1))
    api = APIClient(headers={"Authorization": f"Bearer {key}"})
    assert api.get("/api/v1/studies/").status_code == 200
    used = ApiToken.objects.get().last_used_at
    assert used is not None
    ApiToken.objects.update(expires_at=now)
    refused = api.get("/api/v1/studies/")
    assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, "Token")
    ApiToken.objects.update(expires_at=None)
    User.objects.update(is_active=False)
    assert api.get("/api/v1/studies/").status_code == 401
    for wrong in ("Token", "Token ", f"Token {key}x", f"Token {digest_of(key)}", f"Token {key} more"):
        assert APIClient(headers={"Authorization": wrong}).get("/api/v1/studies/").status_code == 401, wrong


@pytest.mark.parametrize(
    ("change", "field", "code"),
    [
        pytest.param({"name": " "}, "name", "required", id="no name"),
        pytest.param({"scopes": []}, "scopes", "required", id="no scope"),
        pytest.param({"scopes": ["all"]}, "scopes", "invalid_choice", id="unknown scope"),
        pytest.param({"days": 0}, "days", "min_value", id="expired"),
        pytest.param({"studies": ["hidden"]}, "studies", "invalid_choice", id="study of others"),
    ],
)
def test_a_token_that_cannot_be_is_refused(change: dict[str, Any], field: str, code: str) -> None:
    reader = make_user("rea", Role.RESEARCHER, study=make_study("seen", instances=0))
    make_study("hidden", instances=0)
    with pytest.raises(BadFields) as refused:
        filled(NewToken, {"name": "mine", "scopes": ["read"], **change}, user=reader)
    assert refused.value.codes == {field: [code]}


def test_the_page_makes_a_token_that_it_shows_once_lists_and_ends() -> None:
    study = make_study("talks", instances=0)
    browser = signed_in(make_user("boss", Role.STUDY_ADMIN))
    assert "You have no token" in browser.get(PAGE).text
    chosen = {"name": "nightly", "scopes": ["read", "configure"], "studies": ["talks"], "days": "30"}

    made = browser.post(PAGE, chosen, follow=True).text

    key = re.search(r"<code data-token>([^<]+)</code>", made)
    assert key is not None
    again = browser.get(PAGE).text
    assert key[1] not in again
    assert "nightly" in again
    token = ApiToken.objects.get()
    assert (token.scopes, token.limited, list(token.studies.all())) == (["read", "configure"], True, [study])
    assert token.expires_at is not None
    assert (token.expires_at - token.created_at).days == 30
    api = APIClient(headers={"Authorization": f"Token {key[1]}"})
    assert api.post("/api/v1/studies/talks/archive/").status_code == 200
    assert "Last used" in browser.get(PAGE).text
    signed_in(make_user("rea", Role.RESEARCHER)).post(PAGE, {"end": token.pk})
    assert ApiToken.objects.filter(pk=token.pk).exists()
    browser.post(PAGE, {"end": token.pk})
    assert not ApiToken.objects.exists()
    for wrong in ({}, {**chosen, "scopes": []}, {**chosen, "scopes": ["all"]}, {**chosen, "days": "7"}):
        assert browser.post(PAGE, wrong).status_code == 422
    assert not ApiToken.objects.exists()


def test_annotators_get_no_token_and_forged_posts_are_refused() -> None:
    annotator = make_annotator(make_study("talks", instances=0))
    assert annotator.user is not None
    assert signed_in(annotator.user).post(PAGE, {"name": "x", "scopes": ["read"]}).status_code == 403
    client = signed_in(make_user("boss", Role.STUDY_ADMIN), enforce_csrf_checks=True)
    assert client.post(PAGE, {"name": "x", "scopes": ["read"]}).status_code == 403
    assert not ApiToken.objects.exists()


def test_the_command_prints_a_token(capsys: pytest.CaptureFixture[str]) -> None:
    study = make_study("talks", instances=0)
    make_user("boss", Role.STUDY_ADMIN)
    call_command("create_token", "boss", "--scope", "read", "--scope", "manage", "--study", "talks", "--days", "9")
    key = capsys.readouterr().out.strip()
    token = ApiToken.objects.get()
    assert (token.scopes, list(token.studies.all()), token.user.username) == (["read", "manage"], [study], "boss")
    assert APIClient(headers={"Authorization": f"Token {key}"}).get("/api/v1/studies/").status_code == 200
    for wrong in (("nobody", "--scope", "read"), ("boss", "--scope", "read", "--days", "0")):
        with pytest.raises(CommandError):
            call_command("create_token", *wrong)
