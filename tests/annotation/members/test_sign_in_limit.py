"""Wrong passwords are limited by name and by address; addresses are kept as keyed hashes only."""

import logging
from typing import Any

import pytest
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib.auth.models import User
from django.test import Client, RequestFactory

from annotation.core.http import network_of, pseudonym_of
from annotation.members.accounts import login_link
from config import env
from tests.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
GOOD = "correct horse battery"
HERE, ELSEWHERE = "203.0.113.9", "203.0.113.10"
FEW = 6


def sign_in(name: str, password: str, address: str = HERE, **meta: str) -> int:
    return Client(REMOTE_ADDR=address, **meta).post("/login/", {"username": name, "password": password}).status_code


def try_names(count: int, address: str = HERE, **meta: str) -> list[int]:
    return [sign_in(f"name-{number}", "guess", address, **meta) for number in range(count)]


def test_many_names_from_one_address_are_refused_there_and_nowhere_else_and_links_work(settings: Any) -> None:
    settings.SIGN_IN_FAILURES_PER_ADDRESS = FEW
    User.objects.create_user("rita", password=GOOD)
    assert try_names(FEW) == [200] * FEW
    assert sign_in("another", "guess") == 429
    assert sign_in("rita", GOOD, ELSEWHERE) == 302
    browser = Client(REMOTE_ADDR=HERE)
    refused = browser.post("/login/", {"username": "rita", "password": GOOD})
    assert (refused.status_code, refused["Retry-After"]) == (429, "3600")
    assert "Too many wrong passwords" in refused.text
    assert "</html>" in refused.text
    browser.post(login_link(user=make_user("ann", "annotator"), base_url=""))
    assert browser.get("/")["Location"] == "/rate/"


def test_one_name_from_many_addresses_is_refused_and_its_links_work(settings: Any) -> None:
    settings.SIGN_IN_FAILURES_PER_NAME = FEW
    User.objects.create_user("rita", password=GOOD)
    User.objects.create_user("otto", password=GOOD)
    addresses = [f"198.51.100.{number}" for number in range(FEW)]
    assert [sign_in("rita", "guess", address) for address in addresses] == [200] * FEW
    assert sign_in("rita", GOOD, ELSEWHERE) == 429
    assert sign_in("otto", GOOD, ELSEWHERE) == 302
    for address in addresses:  # links that have no name count for no name
        Client(REMOTE_ADDR=address).post("/login/link/?sesame=guess")
    link = login_link(user=User.objects.get(username="rita"), base_url="")
    assert Client(REMOTE_ADDR=ELSEWHERE).post(link).status_code == 302


def test_people_behind_one_address_who_mistype_twice_all_get_in(settings: Any) -> None:
    assert settings.SIGN_IN_FAILURES_PER_ADDRESS > 2 * 30
    settings.SIGN_IN_FAILURES_PER_ADDRESS = 2 * 4 + 1
    people = [f"rater-{number}" for number in range(4)]
    for name in people:
        User.objects.create_user(name, password=GOOD)
    mistyped = [sign_in(name, "wrong") for name in people for _time in range(2)]
    assert mistyped == [200] * 8
    assert [sign_in(name, GOOD) for name in people] == [302] * 4


def test_those_who_sign_in_rightly_count_for_nothing(settings: Any) -> None:
    settings.SIGN_IN_FAILURES_PER_ADDRESS = FEW
    User.objects.create_user("rita", password=GOOD)
    assert [sign_in("rita", GOOD) for _time in range(FEW + 1)] == [302] * (FEW + 1)
    assert not AccessAttempt.objects.exists()


def test_no_address_is_stored_or_logged(caplog: pytest.LogCaptureFixture, settings: Any) -> None:
    settings.SIGN_IN_FAILURES_PER_ADDRESS = 2
    User.objects.create_user("rita", password=GOOD)
    with caplog.at_level(logging.DEBUG):
        browser = Client(REMOTE_ADDR=HERE)
        browser.post("/login/", {"username": "rita", "password": GOOD})
        browser.post("/logout/")
        try_names(4)
    stored = [str(row) for model in (AccessAttempt, AccessFailureLog, AccessLog) for row in model.objects.values()]
    assert len(stored) == 2
    assert HERE not in " ".join([*stored, caplog.text])


def test_a_header_is_no_way_round_unless_a_proxy_is_there(settings: Any) -> None:
    settings.SIGN_IN_FAILURES_PER_ADDRESS = FEW
    settings.BEHIND_PROXY = False
    for number in range(FEW):
        sign_in(f"name-{number}", "guess", HTTP_X_FORWARDED_FOR=f"198.51.100.{number}")
    assert sign_in("name", "guess", HTTP_X_FORWARDED_FOR="198.51.100.99") == 429
    settings.BEHIND_PROXY = True
    assert sign_in("name", "guess", HTTP_X_FORWARDED_FOR="198.51.100.99") == 200


def test_the_limit_leaves_room_for_a_class_and_stays_one(settings: Any) -> None:
    assert 90 <= settings.SIGN_IN_FAILURES_PER_ADDRESS <= 200
    assert settings.BEHIND_PROXY is env.BEHIND_PROXY


@pytest.mark.parametrize(
    ("address", "network"),
    [
        pytest.param("203.0.113.9", "203.0.113.9", id="IPv4"),
        pytest.param("::ffff:203.0.113.9", "203.0.113.9", id="mapped"),
        pytest.param("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", id="IPv6"),
        pytest.param("fe80::1%eth0", "fe80::/64", id="zone"),
        pytest.param("203.0.113.9:51234", "203.0.113.9", id="IPv4 with a port"),
        pytest.param("[2001:db8:1:2::5]:51234", "2001:db8:1:2::/64", id="IPv6 with a port"),
        pytest.param("[2001:db8:1:2::5]", "2001:db8:1:2::/64", id="IPv6 in brackets"),
        pytest.param("unknown", "unknown", id="a proxy's word"),
        pytest.param(None, "", id="none"),
    ],
)
def test_addresses_of_one_household_are_one(address: str | None, network: str) -> None:
    assert network_of(address) == network


def test_a_pseudonym_changes_with_the_key_and_is_no_valid_address(settings: Any) -> None:
    request = RequestFactory().get("/", REMOTE_ADDR=HERE)
    first = pseudonym_of(request)
    assert first == pseudonym_of(RequestFactory().get("/", REMOTE_ADDR=HERE))
    assert first.startswith("fd")  # of a private network
    settings.SECRET_KEY = "another key that is long enough to be one"
    assert pseudonym_of(request) != first
