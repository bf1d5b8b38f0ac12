"""Large request bodies of strangers are refused unread, on pages and in the API; those of accounts are read."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.files import uploadhandler
from django.test import Client
from django.utils import timezone

from annotation.members.signed_in import STRANGERS_MOST
from annotation.members.tokens import make_token
from annotation.models.members import Scope
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db
BOUNDARY = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n'
LARGE = BOUNDARY + b"a" * STRANGERS_MOST + b"\r\n--x--\r\n"
CONTENT = "multipart/form-data; boundary=x"


def send(client: Client, path: str, body: bytes = LARGE, **headers: str) -> Any:
    return client.post(path, body, content_type=CONTENT, headers=headers)


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploadhandler, "load_handler", lambda *_: pytest.fail("the body was read"))


STRANGERS = [
    pytest.param({}, id="nothing"),
    pytest.param({"Cookie": "sessionid=0123456789abcdefghijklmnopqrstuv; csrftoken=x"}, id="session that is none"),
    pytest.param({"Authorization": "Token tandem-guessed"}, id="token that is none"),
    pytest.param({"Authorization": "Basic dXNlcjpwYXNz"}, id="another scheme"),
]


@pytest.mark.parametrize("headers", STRANGERS)
@pytest.mark.parametrize(
    "path", ["/login/", "/studies/study/upload/", "/api/v1/studies/study/import/", "/no/such/page/"]
)
def test_a_strangers_large_body_is_refused_unread(headers: dict[str, str], path: str, unread: None) -> None:
    refusal = send(Client(), path, **headers)
    assert (refusal.status_code, refusal["Connection"]) == (413, "close")
    assert Client().get("/large-bodies", headers=headers).status_code == 403


def test_a_strangers_form_of_64_kib_is_read() -> None:
    sent = b"username=" + b"a" * (STRANGERS_MOST - 9)
    assert Client().post("/login/", sent, content_type="application/x-www-form-urlencoded").status_code == 200
    assert send(Client(), "/login/", sent + b"a").status_code == 413


def test_a_session_opens_the_way_until_the_account_is_closed(client: Client) -> None:
    rita = make_user("rita", "researcher", study=make_study())
    client.force_login(rita, backend="annotation.members.signed_in.AccountBackend")
    assert client.get("/large-bodies").status_code == 204
    assert send(client, "/studies/study/upload/").status_code == 422  # the form says what is wrong with it
    rita.is_active = False
    rita.save()
    assert client.get("/large-bodies").status_code == 403
    assert send(client, "/studies/study/upload/").status_code == 413


def test_a_token_opens_the_way_until_it_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    study, now = make_study(), timezone.now()
    user = make_user("rita", "researcher", study=study)
    _token, key = make_token(user=user, name="t", scopes=[Scope.CONFIGURE], expires_at=now + timedelta(days=1), at=now)
    path = f"/api/v1/studies/{study.slug}/import/"
    for keyword in ("Token", "bearer"):
        assert send(Client(), path, Authorization=f"{keyword} {key}").status_code == 422
    monkeypatch.setattr(timezone, "now", lambda: now + timedelta(days=2))
    assert send(Client(), path, Authorization=f"Token {key}").status_code == 413
