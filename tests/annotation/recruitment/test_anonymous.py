"""Channels that are open to all: the anonymous link with its cookie, and self-registration; and how many may come."""

import json
import re
from datetime import timedelta
from http.cookies import Morsel
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.signing import get_cookie_signer
from django.test import Client
from django.utils import timezone

from annotation.models import Annotator, Channel, Consent, Participant, RoleGrant, Study
from annotation.recruitment.arrival_limits import TooManyArrivals, join_limited
from annotation.recruitment.base import WorkOutcome, adapter_of
from annotation.recruitment.channels import change_channel, make_channel, set_open
from config.settings import PASSWORD_HASHERS
from tests.factories import NOON, make_batch, make_study, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
GOOD = "correct horse battery"


def store() -> Study:
    study = make_study("secret-name", instances=2, question="Which do you like?", contact="ann@example.org")
    make_batch(study)
    return study


def opened(study: Study, kind: str = "anonymous", **options: Any) -> Channel:
    return make_channel(study=study, kind=kind, name=f"Hidden {kind}", options=options, is_open=True)


def address(channel: Channel) -> str:
    return f"/join/{channel.key}/"


def cookie_of(client: Client, channel: Channel) -> Morsel[str]:
    return client.cookies[f"tandem-{channel.key}"]


def joined(channel: Channel, **settings: Any) -> Client:
    """Return a browser whose person opened the link and pressed the button."""
    client = Client(**settings)
    client.get(address(channel))
    response = client.post(address(channel))
    assert (response.status_code, response["Location"]) == (302, "/rate/")
    return client


def rater_of(client: Client) -> Annotator | None:
    pk = client.session.get("_auth_user_id")
    return Annotator.objects.get(user=pk) if pk else None


# The anonymous link


def test_the_button_makes_a_rater_and_opening_the_link_does_not(study: Study) -> None:
    channel = opened(study)
    client = Client()
    page = client.get(address(channel))
    assert page.status_code == 200
    assert client.head(address(channel)).status_code == 204
    assert client.get(address(channel), headers={"Sec-Purpose": "prefetch"}).status_code == 204
    assert not Annotator.objects.exists()

    landed = client.post(address(channel), follow=True)

    assert landed.redirect_chain[-1][0].startswith("/rate/consent/")
    rater = rater_of(client)
    assert (rater.kind, rater.study) == ("anonymous", study)
    assert not rater.user.has_usable_password()
    assert list(RoleGrant.objects.values_list("user", "role", "study")) == [(rater.user.pk, "annotator", study.pk)]


def test_the_page_names_neither_study_nor_systems(study: Study) -> None:
    Study.objects.update(title="Hidden title")
    told = Client().get(address(opened(study))).content.decode()
    assert "Which do you like?" in told
    assert not any(word in told for word in ("secret-name", "Hidden", "alpha", "beta", "news"))


def test_the_cookie_is_out_of_reach_and_lasts(study: Study, settings: Any) -> None:
    channel = opened(study)
    cookie = cookie_of(joined(channel), channel)
    assert cookie["httponly"] is True
    assert cookie["samesite"] == "Lax"
    assert cookie["path"] == address(channel)
    assert cookie["max-age"] == 90 * 24 * 3600
    assert not cookie["secure"]
    settings.SESSION_COOKIE_SECURE = True
    assert cookie_of(joined(channel), channel)["secure"] is True


def test_the_same_browser_is_the_same_rater_when_its_session_has_ended(study: Study) -> None:
    channel = opened(study)
    client = joined(channel)
    before = rater_of(client)
    del client.cookies["sessionid"]
    set_open(channel=channel, is_open=False)  # raters who joined continue

    again = client.get(address(channel))

    assert (again.status_code, again["Location"]) == (302, "/rate/")
    assert rater_of(client) == before
    assert Participant.objects.count() == 1


def test_the_same_browser_is_led_on_while_its_session_lasts_and_the_cookie_comes_back(study: Study) -> None:
    channel = opened(study)
    client = joined(channel)
    before, session = rater_of(client), client.session.session_key
    del client.cookies[f"tandem-{channel.key}"]
    assert client.get(address(channel)).status_code == 302
    del client.cookies["sessionid"]
    assert client.get(address(channel)).status_code == 302
    assert rater_of(client) == before
    assert client.session.session_key != session


def test_a_forged_cookie_is_ignored(study: Study) -> None:
    channel, other = opened(study), opened(make_study("other", instances=0))
    victim = joined(channel)
    name, value = f"tandem-{channel.key}", cookie_of(victim, channel).value
    known = Participant.objects.get().external_id
    elsewhere = joined(other)
    changed = value[:-1] + ("A" if value[-1] != "A" else "B")
    of_others = [get_cookie_signer(salt=name).sign(known), cookie_of(elsewhere, other).value]
    forged = [known, changed, value.replace(known, known[::-1]), *of_others, "\x00", ""]
    for one in forged:
        thief = Client()
        thief.cookies[name] = one
        assert thief.get(address(channel)).status_code == 200
        assert rater_of(thief) is None
        thief.cookies[name] = one
        thief.post(address(channel))
        assert rater_of(thief) != rater_of(victim)


def test_an_old_cookie_is_ignored(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = opened(study)
    client = joined(channel)
    del client.cookies["sessionid"]
    later = timezone.now().timestamp() + 91 * 24 * 3600
    monkeypatch.setattr("django.core.signing.time.time", lambda: later)
    assert client.get(address(channel)).status_code == 200
    assert rater_of(client) is None


def test_a_user_of_another_account_is_asked_first(study: Study) -> None:
    channel = opened(study)
    client = joined(channel)
    before = rater_of(client)
    admin = User.objects.create_superuser("root")
    client.force_login(admin, backend="annotation.members.signed_in.AccountBackend")

    page = client.get(address(channel))

    assert page.status_code == 200
    assert "Another user is signed in" in page.content.decode()
    assert client.session["_auth_user_id"] == str(admin.pk)
    client.post(address(channel))
    assert rater_of(client) == before


@pytest.mark.parametrize("kind", ["anonymous", "accounts"])
@pytest.mark.parametrize("change", ["shut", "archived"])
def test_no_new_rater_is_taken_by_a_shut_channel_or_an_archived_study(study: Study, kind: str, change: str) -> None:
    channel = opened(study, kind, registration="name")
    if change == "shut":
        set_open(channel=channel, is_open=False)
    else:
        Study.objects.update(archived_at=NOON)
    for response in (Client().get(address(channel)), Client().post(address(channel), {"name": "Ann"})):
        assert response.status_code == 403
        assert "takes no new raters" in response.content.decode()
        assert "ann@example.org" in response.content.decode()
    assert not Annotator.objects.exists()


def test_an_account_that_was_switched_off_stays_outside(study: Study) -> None:
    channel = opened(study)
    client = joined(channel)
    User.objects.update(is_active=False)
    assert client.post(address(channel)).status_code == 403
    assert Participant.objects.count() == 1


def test_who_did_everything_is_told_how_to_come_back(study: Study) -> None:
    channel = opened(study)
    rater = rater_of(joined(channel))
    assert rater is not None
    completion_message = adapter_of(channel).completion_message(annotator=rater, outcome=WorkOutcome.COMPLETED, at=NOON)
    assert "the same link" in completion_message.text
    assert adapter_of(channel).completion_message(annotator=rater, outcome=WorkOutcome.NOTHING, at=NOON) is None


# How many may come


def test_too_many_from_one_address_are_asked_to_wait_and_others_get_in(study: Study) -> None:
    channel = opened(study, per_address="2")
    known = joined(channel, REMOTE_ADDR="203.0.113.9")
    joined(channel, REMOTE_ADDR="203.0.113.9")
    third = Client(REMOTE_ADDR="203.0.113.9")
    third.get(address(channel))

    refused = third.post(address(channel))

    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= 3601
    assert "try again later" in refused.content.decode()
    assert rater_of(third) is None
    joined(channel, REMOTE_ADDR="203.0.113.10")
    for _time in range(3):  # who is known is not counted
        del known.cookies["sessionid"]
        assert known.post(address(channel)).status_code == 302
    assert Participant.objects.count() == 3


def test_an_hour_later_there_is_room_again_and_nothing_is_kept_of_the_address(study: Study) -> None:
    channel = opened(study, per_address="1")
    join_limited(channel=channel, external_id="a", address="203.0.113.9", at=NOON)
    almost = NOON + timedelta(minutes=59)
    with pytest.raises(TooManyArrivals) as caught:
        join_limited(channel=channel, external_id="b", address="203.0.113.9", at=almost)
    assert caught.value.retry_after == 61
    join_limited(channel=channel, external_id="c", address="203.0.113.10", at=almost)

    join_limited(channel=channel, external_id="b", address="203.0.113.9", at=NOON + timedelta(minutes=61))

    channel.refresh_from_db()
    assert "203.0" not in json.dumps(channel.options)
    assert len(channel.options["arrivals"]) == 2  # the first one is forgotten
    assert channel.participants.count() == 3


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        pytest.param("203.0.113.9", "203.0.113.10", False, id="two"),
        pytest.param("2001:db8:1:1::5", "2001:db8:1:1:ffff::9", True, id="one network of IPv6"),
        pytest.param("2001:db8:1:1::5", "2001:db8:1:2::5", False, id="two networks of IPv6"),
        pytest.param("::ffff:203.0.113.9", "203.0.113.9", True, id="IPv4 in IPv6"),
        pytest.param("::ffff:203.0.113.9", "::ffff:203.0.113.8", False, id="two IPv4 in IPv6"),
        pytest.param("nonsense", "203.0.113.9", False, id="no address"),
        pytest.param(None, "", True, id="none at all"),
    ],
)
def test_addresses_are_told_apart_by_owner(study: Study, first: str | None, second: str | None, same: bool) -> None:
    channel = opened(study, per_address="1")
    join_limited(channel=channel, external_id="a", address=first, at=NOON)
    try:
        join_limited(channel=channel, external_id="b", address=second, at=NOON)
    except TooManyArrivals:
        assert same
    else:
        assert not same


def test_a_full_channel_takes_no_new_rater_and_says_so(study: Study) -> None:
    channel = opened(study, most_raters="1")
    client = joined(channel)
    other = Client(REMOTE_ADDR="203.0.113.9")
    other.get(address(channel))

    refused = other.post(address(channel))

    assert refused.status_code == 429
    assert "Retry-After" not in refused
    assert "Enough people have joined" in refused.content.decode()
    assert client.get(address(channel)).status_code == 302


def test_saving_the_settings_forgets_no_arrivals(study: Study) -> None:
    channel = opened(study, per_address="1")
    join_limited(channel=channel, external_id="a", address="203.0.113.9", at=NOON)
    change_channel(channel=channel, name="Renamed", options={"per_address": "1"})  # from a page loaded before
    with pytest.raises(TooManyArrivals):
        join_limited(channel=channel, external_id="b", address="203.0.113.9", at=NOON)


# Self-registration


@pytest.mark.parametrize("options", [{}, {"registration": "off"}], ids=["from the start", "off"])
def test_there_is_no_registration_unless_it_was_switched_on(study: Study, options: dict[str, str]) -> None:
    channel = opened(study, "accounts", **options)
    assert Client().get(address(channel)).status_code == 404
    assert Client().post(address(channel), {"name": "Ann"}).status_code == 404
    assert not Annotator.objects.exists()


def test_registering_with_a_password_makes_an_account_to_come_back_with(study: Study, settings: Any) -> None:
    settings.PASSWORD_HASHERS = PASSWORD_HASHERS
    channel = opened(study, "accounts", registration="password")
    client = Client()
    assert client.get(address(channel)).status_code == 200
    landed = client.post(address(channel), {"username": "ann", "password1": GOOD, "password2": GOOD}, follow=True)

    assert landed.redirect_chain[-1][0].startswith("/rate/consent/")
    rater = rater_of(client)
    assert rater.participant.channel == channel
    assert re.fullmatch(r"r-[0-9a-f]{8}", rater.code)
    assert User.objects.get().password.startswith("argon2")
    again = Client()
    again.post("/login/", {"username": "ann", "password": GOOD})
    assert rater_of(again) == rater
    assert client.get(address(channel))["Location"] == "/rate/"
    assert not Consent.objects.exists()


def test_registering_with_a_name_only_keeps_it_from_the_ratings_and_has_the_cap_of_hits(study: Study) -> None:
    channel = opened(study, "accounts", registration="name", most_hits="1")
    client = Client()
    client.post(address(channel), {"name": "Ann Smith"})
    rater = rater_of(client)
    assert (rater.user.first_name, rater.user.has_usable_password()) == ("Ann Smith", False)
    assert "Ann" not in rater.code + rater.user.username + rater.participant.external_id
    assert rater.kind == "invited"
    assert adapter_of(channel).hits_left(annotator=rater, channel=channel) == 1


@pytest.mark.parametrize(
    ("how", "fields"),
    [
        pytest.param("password", {"username": "ann", "password1": "abc", "password2": "abc"}, id="short"),
        pytest.param("password", {"username": "ann", "password1": GOOD, "password2": GOOD + "x"}, id="two passwords"),
        pytest.param("password", {"username": "TAKEN", "password1": GOOD, "password2": GOOD}, id="taken"),
        pytest.param("password", {"username": "a b", "password1": GOOD, "password2": GOOD}, id="bad name"),
        pytest.param("name", {"name": " "}, id="empty"),
        pytest.param("name", {"name": "..."}, id="no letters"),
        pytest.param("name", {"name": "x" * 61}, id="long"),
        pytest.param("name", {"name": "A\x00nn"}, id="nul"),
    ],
)
def test_a_bad_form_says_what_is_wrong_and_keeps_what_was_typed(study: Study, how: str, fields: dict[str, str]) -> None:
    channel = opened(study, "accounts", registration=how)
    make_user(f"taken@@{channel.key}")
    response = Client().post(address(channel), fields)
    assert response.status_code == 422
    assert not Annotator.objects.exists()
    if how == "password":
        assert fields["username"] in response.content.decode()


def test_a_name_that_is_taken_at_the_same_moment_is_told_as_such(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = opened(study, "accounts", registration="password")
    taken = make_user(f"ann@@{channel.key}").username
    monkeypatch.setattr("django.contrib.auth.forms.UserCreationForm.clean_username", lambda form: taken)
    monkeypatch.setattr(User, "validate_unique", lambda user, exclude: None)
    response = Client().post(address(channel), {"username": "ann", "password1": GOOD, "password2": GOOD})
    assert response.status_code == 422
    assert "just been taken" in response.content.decode()
    assert not Annotator.objects.exists()


def test_registering_is_limited_before_any_password_is_looked_at(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = opened(study, "accounts", registration="name", per_address="1")
    Client().post(address(channel), {"name": "Ann"})
    change_channel(channel=channel, name="x", options={"registration": "password", "per_address": "1"})
    monkeypatch.setattr(User, "set_password", None)
    refused = Client().post(address(channel), {"username": "bob", "password1": GOOD, "password2": GOOD})
    assert refused.status_code == 429
    assert Annotator.objects.count() == 1
