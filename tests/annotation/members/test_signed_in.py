"""Sessions and accounts as a request reads them."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from annotation.members.signed_in import ACCOUNT_BACKEND, SessionStore

pytestmark = pytest.mark.django_db


@pytest.fixture
def account() -> User:
    return User.objects.create_user("ada", password="long enough 1")


def signed_in(account: User) -> Client:
    client = Client()
    client.force_login(account, ACCOUNT_BACKEND)
    return client


def is_signed_in(client: Client) -> bool:
    return client.get("/account/").status_code == 200


def test_a_stored_session_comes_back() -> None:
    store = SessionStore()
    store["a"] = {"b": 1}
    store.save()
    again = SessionStore(store.session_key)
    assert again["a"] == {"b": 1}
    assert again.session_key == store.session_key


@pytest.mark.parametrize("key", [None, "", "nobodys-key-0000000000000000000000"])
def test_an_unknown_key_is_not_kept(key: str | None) -> None:
    store = SessionStore(key)
    assert dict(store.items()) == {}
    assert store.session_key is None


def test_an_ended_session_signs_nobody_in(account: User) -> None:
    client = signed_in(account)
    assert is_signed_in(client)
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert not is_signed_in(client)


@pytest.mark.parametrize("change", ["inactive", "deleted", "password"])
def test_an_account_that_changed_is_signed_out(account: User, change: str) -> None:
    client = signed_in(account)
    assert is_signed_in(client)
    if change == "inactive":
        User.objects.update(is_active=False)
    elif change == "deleted":
        account.delete()
    else:
        account.set_password("another one 2")
        account.save()
    assert not is_signed_in(client)
