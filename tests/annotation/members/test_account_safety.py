"""Accounts stay their owners': old links open nothing new, and a self-chosen name proves no identity."""

import io
import logging
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.core.errors import AnnotationError, ClaimRefused, Unacceptable
from annotation.members.accounts import grant_role, login_link, resolve_username
from annotation.members.groups import add_member
from annotation.models import Annotator, Channel, Invitation, Study
from annotation.models.members import Role
from annotation.recruitment.arrival_limits import ATTEMPTS_EACH, WINDOW, TooManyArrivals, note_attempt
from annotation.recruitment.channels import change_channel, make_channel, set_open
from annotation.recruitment.invitations import accept_invitation, invite, refuse_unusable, reissue
from config.log_filters import MASK, MaskTokens, masked
from tests.factories import NOON, make_batch, make_study, make_user, output_of, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
GOOD = "correct horse battery"


def store() -> Study:
    study = make_study("talks", instances=1)
    make_batch(study)
    return study


@pytest.fixture
def channel(study: Study) -> Channel:
    return opened(study)


def opened(study: Study, **options: Any) -> Channel:
    settings = {"registration": "password", **options}
    return make_channel(study=study, kind="accounts", name="Accounts", options=settings, is_open=True)


def register(channel: Channel, name: str, **more: Any) -> Client:
    client = Client(**more)
    fields = {"username": name, "password1": GOOD, "password2": GOOD}
    assert client.post(f"/join/{channel.key}/", fields).status_code == 302
    return client


def invited(channel: Channel) -> tuple[str, User]:
    """Return the link of a new rater and their account."""
    [link] = invite(channel=channel, count=1, base_url="", at=timezone.now())
    user = Annotator.objects.get(code=link.rater).user
    assert user is not None
    return link.link, user


def who(client: Client) -> int | None:
    pk = client.session.get("_auth_user_id")
    return int(pk) if pk else None


# Links into accounts that have become more


@pytest.mark.parametrize("how", ["staff", "role"])
def test_a_one_time_link_looks_at_the_account_itself(channel: Channel, how: str) -> None:
    _link, user = invited(channel)
    invitation = Invitation.objects.get()
    if how == "staff":
        User.objects.filter(pk=user.pk).update(is_staff=True)
    else:
        user.role_grants.create(role=Role.RESEARCHER, study=make_study("other", instances=0))
    with pytest.raises(ClaimRefused, match="no longer exists"):
        accept_invitation(invitation=invitation, at=timezone.now())
    with pytest.raises(ClaimRefused, match="no longer exists"):
        refuse_unusable(Invitation.objects.get(), timezone.now())
    assert Invitation.objects.get().used_at is None


def test_a_further_role_ends_unused_invitations_and_the_sessions_of_who_used_one(channel: Channel) -> None:
    link, user = invited(channel)
    early = Client()
    early.get(link)
    assert who(early) == user.pk
    new = reissue(channel=channel, code=Annotator.objects.get().code, base_url="", at=timezone.now())
    grant_role(username=user.username, role=Role.ADMIN, any_account=True)
    assert Invitation.objects.get().expires_at <= timezone.now()
    assert early.get("/admin/").status_code == 302
    assert early.get("/rate/")["Location"].startswith("/login/")
    assert Client().get(new.link).status_code == 403


def test_the_same_role_again_ends_no_link(channel: Channel, study: Study) -> None:
    link, user = invited(channel)
    assert grant_role(username=user.username, role=Role.ANNOTATOR, place=study) == (user, False)
    assert Client().get(link)["Location"] == "/rate/"


def test_a_new_link_for_a_rater_is_good_for_a_day(channel: Channel) -> None:
    invited(channel)
    code = Annotator.objects.get().code
    new = reissue(channel=channel, code=code, base_url="", at=timezone.now() - timedelta(hours=25))
    assert "It has expired" in Client().get(new.link).text
    with pytest.raises(CommandError, match="valid for one day"):
        call_command("invite", "talks", "--rater", code, "--days", "14")


@pytest.mark.parametrize("role", [Role.ADMIN, Role.STUDY_ADMIN])
def test_a_newcomers_link_opens_nothing_that_was_given_after_it_was_made(study: Study, role: Role) -> None:
    boss = make_user("boss", Role.STUDY_ADMIN)
    new, _changed = add_member(username="new", role=Role.ANNOTATOR, place=study, new=True, by=boss)
    early = login_link(user=new, base_url="")

    call_command("grant", "new", "--role", role, stdout=io.StringIO())

    thief = Client()
    assert thief.get(early).status_code == 403
    assert thief.post(early).status_code == 403
    assert who(thief) is None
    late = output_of("login_link", "new", "--base-url", "").strip()
    assert Client().post(late).status_code == 302


def test_who_used_a_newcomers_link_is_signed_out_when_the_account_becomes_a_site_admins() -> None:
    output_of("grant", "new", "--role", "annotator")
    client = Client()
    client.post(output_of("login_link", "new", "--base-url", "").strip())
    output_of("grant", "new", "--role", "admin")
    assert client.get("/admin/").status_code == 302


def test_a_role_given_by_an_admin_does_not_sign_a_link_only_account_out(study: Study) -> None:
    output_of("grant", "root", "--role", "admin")
    client = Client()
    client.post(output_of("login_link", "root", "--base-url", "").strip())
    add_member(username="root", role=Role.ANNOTATOR, place=study, by=make_user("boss", Role.STUDY_ADMIN))
    assert client.get("/admin/").status_code == 200


def test_a_password_stays_whatever_role_comes(study: Study) -> None:
    User.objects.create_user("pat", password=GOOD)
    grant_role(username="pat", role=Role.ADMIN)
    assert User.objects.get().check_password(GOOD)


# Names that people give themselves


def test_a_self_registered_name_gets_no_role_and_is_free_for_an_account_of_an_admins(channel: Channel) -> None:
    squatter = register(channel, "prof.weber")

    said = output_of("grant", "prof.weber", "--role", "admin")

    assert said.splitlines()[:2] == ["prof.weber is now admin in all studies", "the account was created"]
    assert squatter.get("/admin/").status_code == 302
    account = User.objects.get(pk=who(squatter) or 0)
    assert (account.username, account.first_name) == (f"prof.weber@@{channel.key}", "prof.weber")
    assert not account.is_superuser
    make_user("ann", Role.RESEARCHER)
    register(channel, "ann")  # and the other way round
    assert User.objects.count() == 4


def test_an_account_of_a_channel_gets_a_role_only_when_that_is_meant(channel: Channel, study: Study) -> None:
    rater = User.objects.get(pk=who(register(channel, "ann")) or 0)
    other = make_study("other", instances=0)
    boss = make_user("boss", Role.STUDY_ADMIN)
    _link, nameless = invited(channel)

    for account in (rater, nameless):
        with pytest.raises(Unacceptable, match="There is no account"):
            add_member(username=account.username, role=Role.RESEARCHER, place=other, by=boss)
        with pytest.raises(CommandError, match="can give a role to any account"):
            call_command("grant", account.username, "--role", "researcher")
        assert not account.role_grants.filter(role=Role.RESEARCHER).exists()
    said = output_of("grant", rater.username, "--role", "researcher", "--any-account")
    today = f"{timezone.now():%Y-%m-%d}"
    assert f"the account existed: created on {today}, last signed in on {today}" in said
    assert rater.role_grants.filter(role=Role.RESEARCHER).exists()
    with pytest.raises(AnnotationError, match="by themselves"):
        grant_role(username="made@@up", role=Role.ANNOTATOR)


def test_who_registered_signs_in_with_the_name_they_typed(channel: Channel) -> None:
    rater = who(register(channel, "ann"))
    page = Client().get(f"/join/{channel.key}/").text
    address = re.search(r'href="(/login/[^"]*)"', page)
    address_of_form = address[1].replace("&amp;", "&")
    assert f"channel={channel.key}" in address_of_form
    form = Client().get(address_of_form)
    assert f'name="channel" value="{channel.key}"' in form.text
    client = Client()
    fields = {"username": "ann", "password": GOOD, "channel": channel.key, "next": "/rate/"}
    assert client.post("/login/", fields)["Location"] == "/rate/"
    assert who(client) == rater
    plain = Client()
    plain.post("/login/", {"username": "ann", "password": GOOD})
    assert who(plain) == rater


def test_a_name_of_several_people_is_that_of_the_channel_where_it_is_typed(channel: Channel) -> None:
    other = opened(make_study("other", instances=0))
    first, second = who(register(channel, "ann")), who(register(other, "ann"))
    assert first != second
    for one, its in ((channel, first), (other, second)):
        client = Client()
        client.post("/login/", {"username": "ann", "password": GOOD, "channel": one.key})
        assert who(client) == its
    lost = Client()
    refused = lost.post("/login/", {"username": "ann", "password": GOOD})
    assert "from the page where you registered" in refused.text
    assert who(lost) is None
    assert resolve_username("ann") == "ann"


def test_an_account_made_by_an_admin_comes_before_a_self_registered_one(channel: Channel) -> None:
    register(channel, "ann")
    ann = make_user("ann")
    ann.set_password("another long enough one")
    ann.save()
    client = Client()
    client.post("/login/", {"username": "ann", "password": "another long enough one"})
    assert who(client) == ann.pk
    assert resolve_username("ann", "no-such-channel") == "ann"


def test_wrong_passwords_lock_a_registered_name_however_it_is_typed(channel: Channel) -> None:
    register(channel, "ann")
    for number in range(10):
        typed = {"username": "ann"} if number % 2 else {"username": "ann", "channel": channel.key}
        Client().post("/login/", {**typed, "password": "wrong"})
    assert Client().post("/login/", {"username": "ann", "password": GOOD}).status_code == 429


def test_registering_tells_nothing_of_accounts_elsewhere(channel: Channel) -> None:
    make_user("boss")
    told = Client().post(f"/join/{channel.key}/", {"username": "boss", "password1": "a", "password2": "b"})
    free = Client().post(f"/join/{channel.key}/", {"username": "free", "password1": "a", "password2": "b"})
    assert told.status_code == 422
    assert told.context["form"].errors == free.context["form"].errors


def test_the_channels_page_shows_the_name_as_it_was_typed(channel: Channel) -> None:
    register(channel, "ann")
    boss = signed_in(make_user("boss", Role.STUDY_ADMIN))
    page = boss.get(reverse("annotation:channel", args=["talks", channel.key])).text
    assert "ann" in page
    assert "@@" not in page


def test_forms_that_fail_are_counted_for_their_address(study: Study) -> None:
    channel = opened(study, per_address="1")
    bad = {"username": "ann", "password1": "a", "password2": "b"}
    sent = [Client().post(f"/join/{channel.key}/", bad).status_code for _number in range(ATTEMPTS_EACH + 2)]
    assert sent == [422] * ATTEMPTS_EACH + [429] * 2
    assert Client(REMOTE_ADDR="203.0.113.9").post(f"/join/{channel.key}/", bad).status_code == 422
    refused = Client().post(f"/join/{channel.key}/", {"username": "ann", "password1": GOOD, "password2": GOOD})
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) > 0
    assert Client().get(f"/join/{channel.key}/").status_code == 200
    kept = Channel.objects.get().options["attempts"]
    assert [count for _time, _address, count in kept] == [ATTEMPTS_EACH, 1]
    assert "127.0.0.1" not in str(kept)


def test_attempts_are_forgotten_after_an_hour_and_not_by_saving(study: Study) -> None:
    channel = opened(study, per_address="1")
    for _number in range(ATTEMPTS_EACH):
        note_attempt(channel=channel, address="203.0.113.9", at=NOON)
    change_channel(channel=channel, name="x", options={"registration": "password", "per_address": "1"})
    with pytest.raises(TooManyArrivals) as caught:
        note_attempt(channel=channel, address="203.0.113.9", at=NOON)
    assert caught.value.retry_after == WINDOW.total_seconds() + 1
    note_attempt(channel=channel, address="203.0.113.9", at=NOON + WINDOW)
    assert [count for _time, _address, count in Channel.objects.get().options["attempts"]] == [1]


# Making a new link for a rater


def test_no_new_link_for_a_rater_with_a_password(channel: Channel) -> None:
    register(channel, "carol")
    code = Annotator.objects.get().code
    boss = signed_in(make_user("boss", Role.STUDY_ADMIN))
    refused = boss.post(reverse("annotation:links", args=["talks", channel.key]), {"rater": code})
    assert refused.status_code == 422
    assert "signs in with a password" in refused.text
    assert not Invitation.objects.exists()


def test_the_log_says_who_made_a_new_link(channel: Channel, caplog: pytest.LogCaptureFixture) -> None:
    invited(channel)
    code = Annotator.objects.get().code
    boss = make_user("boss", Role.STUDY_ADMIN)
    browser = signed_in(boss)
    with caplog.at_level(logging.INFO, logger="annotation.recruitment.invitations"):
        made = browser.post(reverse("annotation:links", args=["talks", channel.key]), {"rater": code})
        output_of("invite", "talks", "--rater", code)
    assert made.status_code == 302
    assert caplog.messages == [
        f"new link for rater {code} of study talks created by account {boss.pk}",
        f"new link for rater {code} of study talks created by the command line",
    ]


# The log holds no link that works


@pytest.fixture
def written() -> Any:
    """Return what a handler writes that filters as the server's does."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(MaskTokens())
    logging.getLogger().addHandler(handler)
    yield stream
    logging.getLogger().removeHandler(handler)


def test_the_log_gets_no_token_of_a_link_that_works(channel: Channel, written: io.StringIO) -> None:
    link, _user = invited(channel)
    token = link.split("/")[-2]
    set_open(channel=channel, is_open=False)
    assert Client().get(link).status_code == 403
    assert Client(enforce_csrf_checks=True).post(link, headers={"Referer": f"http://other{link}"}).status_code == 403
    set_open(channel=channel, is_open=True)
    work = f"/mturk/{channel.key}/task/abc:def:ghi/"
    assert Client().get(work).status_code == 404
    assert Client().get(work.replace("task", "status")).status_code == 404

    lines = written.getvalue()

    assert lines.count(f"/join/{channel.key}/{MASK}/") >= 2
    assert f"/mturk/{channel.key}/task/{MASK}/" in lines
    assert f"/mturk/{channel.key}/status/{MASK}/" in lines
    assert token not in lines
    assert "abc:def" not in lines
    assert Client().get(link)["Location"] == "/rate/"  # it would still have worked


def test_the_servers_own_handler_filters(settings: Any) -> None:
    handlers = settings.LOGGING["handlers"]
    assert [handler["filters"] for handler in handlers.values()] == [["tokens", "request_id"]] * len(handlers)
    assert settings.LOGGING["filters"]["tokens"]["()"] == f"{MaskTokens.__module__}.{MaskTokens.__name__}"
    used = [
        handler for logger in logging.root.manager.loggerDict.values() for handler in getattr(logger, "handlers", [])
    ]
    names = [handler.name for handler in used if handler.name]
    assert set(names) <= {"console"}
    console = next(handler for handler in logging.getLogger().handlers if handler.name == "console")
    assert any(isinstance(one, MaskTokens) for one in console.filters)


@pytest.mark.parametrize(
    ("line", "left"),
    [
        pytest.param("GET /login/link/?sesame=AbC-_1 HTTP/1.1", f"GET /login/link/?sesame={MASK} HTTP/1.1", id="query"),
        pytest.param("?next=%3Fsesame%3DAbC&x=1", f"?next={MASK}&x={MASK}", id="quoted"),
        pytest.param("/join/KEY/TOKEN", f"/join/KEY/{MASK}", id="without its end"),
        pytest.param("Not Found: /join/KEY/", "Not Found: /join/KEY/", id="a channel"),
        pytest.param("/mturk/KEY/other/x/", "/mturk/KEY/other/x/", id="another address"),
        pytest.param("100% of /studies/talks/", "100% of /studies/talks/", id="nothing"),
    ],
)
def test_tokens_are_masked_and_nothing_else(line: str, left: str) -> None:
    assert masked(line) == left


def test_a_traceback_is_masked_too(written: io.StringIO) -> None:
    try:
        raise ValueError("/join/KEY/TOKEN/")
    except ValueError:
        logging.getLogger("tests.mask").exception("failed at %s", "/join/KEY/TOKEN/")
    assert written.getvalue().count(f"/join/KEY/{MASK}/") >= 2
    assert "TOKEN" not in written.getvalue()
