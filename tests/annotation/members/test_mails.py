"""Addresses of accounts and new passwords by mail: no one learns which accounts exist, and each link works once."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.core import mail as sent
from django.test import Client
from django.utils import timezone

from annotation.members.mail_views import RESETS
from annotation.members.mails import MOST_RESETS_PER_HOUR
from annotation.models import AuditEntry, Mail
from annotation.recruitment.invitations import send_mails
from tests.factories import make_study, make_user, signed_in

PASSWORD, NEW = "correct horse battery", "another staple altogether"

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(autouse=True)
def mails(settings: Any) -> Iterator[list[Any]]:
    settings.MAIL_ON = True
    settings.BASE_URL = "https://tandem.example.org"
    return sent.outbox


@pytest.fixture
def rita() -> User:
    user = make_user("rita", "researcher")
    user.email = "rita@example.org"
    user.set_password(PASSWORD)
    user.save()
    return user


def link_in_last() -> str:
    send_mails(at=timezone.now())
    return str(sent.outbox[-1].body.partition("https://tandem.example.org")[2].split()[0])


def test_a_new_password_is_chosen_once_by_a_link_and_does_not_sign_in(rita: User) -> None:
    asked = Client(headers={"Host": "localhost"}).post("/login/new/", {"address": "Rita@Example.org"})
    link = link_in_last()
    assert sent.outbox[-1].to == ["Rita@Example.org"]
    browser = Client()
    form = browser.get(link, follow=True)
    assert form.redirect_chain[-1][0].endswith("/set-password/")
    chosen = browser.post(form.redirect_chain[-1][0], {"new_password1": NEW, "new_password2": NEW})
    assert (asked.status_code, chosen["Location"]) == (200, "/login/")
    assert "_auth_user_id" not in browser.session
    rita.refresh_from_db()
    assert rita.check_password(NEW)
    assert "This link was used" in Client().get(link, follow=True).text
    assert NEW not in json.dumps(list(AuditEntry.objects.values("changes", "about")))
    [entry] = AuditEntry.objects.filter(action="annotation:choose-password")
    assert (entry.account, entry.status, entry.changes[0]["texts"]) == (rita.pk, 302, ["password"])


@pytest.mark.parametrize("address", ["rıta@example.org", "RİTA@example.org"])
def test_an_address_that_looks_alike_gets_no_link(rita: User, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Mail.objects.create(kind="reset", address=address, created_at=timezone.now(), due_at=timezone.now())
    monkeypatch.setattr(User.objects, "filter", lambda **_: User.objects.all())  # a locale that takes ı for i
    send_mails(at=timezone.now())
    assert sent.outbox == []


def test_the_answer_and_what_is_stored_tell_nothing_about_accounts(rita: User) -> None:
    known = Client().post("/login/new/", {"address": rita.email})
    unknown = Client().post("/login/new/", {"address": "nobody@example.org"})
    pages = {re.sub(r'value="\w{64}"', "", one.text) for one in (known, unknown)}
    assert len(pages) == 1
    assert len(attempts := [str(row) for row in AccessAttempt.objects.values()]) == 1
    assert "@" not in attempts[0]
    assert Mail.objects.count() == 2
    send_mails(at=timezone.now())
    assert len(sent.outbox) == 1
    assert set(Mail.objects.values_list("address", flat=True)) == {""}


@pytest.mark.parametrize(
    "change", [pytest.param({"is_active": False}, id="shut"), pytest.param({"password": "!"}, id="without a password")]
)
def test_accounts_without_a_password_or_shut_ones_get_no_link(rita: User, change: dict[str, Any]) -> None:
    User.objects.update(**change)
    Client().post("/login/new/", {"address": rita.email})
    send_mails(at=timezone.now())
    assert sent.outbox == []


def test_asking_is_limited_by_network_and_by_address(rita: User) -> None:
    answers = [Client().post("/login/new/", {"address": rita.email}).status_code for _ in range(12)]
    assert (answers[0], answers[-1]) == (200, 429)
    assert Mail.objects.count() == MOST_RESETS_PER_HOUR
    assert not User.objects.filter(username=RESETS).exists()


def test_without_mail_settings_there_is_no_such_page(settings: Any) -> None:
    settings.MAIL_ON = False
    assert Client().get("/login/new/").status_code == 404


def test_an_address_counts_when_its_owner_has_opened_the_link_and_takes_the_password(rita: User) -> None:
    browser = signed_in(rita)
    assert browser.post("/account/", {"address": "new@example.org", "password": "wrong"}).status_code == 422
    assert browser.post("/account/", {"address": "new@example.org", "password": PASSWORD}).status_code == 302
    link = link_in_last()
    rita.refresh_from_db()
    assert rita.email == "rita@example.org"
    other = signed_in(make_user("other", "researcher"))
    assert other.post(link).status_code == 422
    assert browser.get(link).status_code == 200
    assert browser.post(link).status_code == 302
    rita.refresh_from_db()
    assert rita.email == "new@example.org"
    assert browser.post(link).status_code == 422
    log = json.dumps(list(AuditEntry.objects.values("about", "changes")))
    assert "confirm-address" in str(list(AuditEntry.objects.values_list("action", flat=True)))
    assert link.rstrip("/").rpartition("/")[2] not in log
    assert "example.org" not in log
    assert browser.post("/account/", {"address": "", "password": PASSWORD}).status_code == 302
    rita.refresh_from_db()
    assert rita.email == ""


def test_guessing_the_password_on_the_accounts_page_is_limited_as_signing_in_is(rita: User) -> None:
    browser = signed_in(rita)
    answers = [
        browser.post("/account/", {"address": "x@example.org", "password": "wrong"}).status_code for _ in range(12)
    ]
    assert answers[-1] in (403, 429)


def test_a_new_accounts_link_is_sent_by_mail() -> None:
    study = make_study("talks")
    browser = signed_in(make_user("boss", "study-admin", study=study))
    asked = {"username": "ada", "role": "researcher", "new": "True", "address": "ada@example.org"}
    browser.post(f"/studies/{study.slug}/members/", asked)
    link = link_in_last()
    newcomer = Client()
    assert newcomer.post(link).status_code == 302
    assert newcomer.session["_auth_user_id"] == str(User.objects.get(username="ada").pk)
    assert User.objects.get(username="ada").email == ""
