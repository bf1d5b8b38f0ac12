"""One-time links: who gets in with one, who doesn't, and that they can't be read afterwards."""

import hashlib
import json
import re
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from axes.models import AccessLog
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.annotators.consent import withdraw
from annotation.core.errors import Unacceptable, UnknownName
from annotation.members.accounts import grant_role
from annotation.models import Annotator, Channel, Invitation, Participant, RoleGrant, Study
from annotation.recruitment.channels import invitation_channel, set_open
from annotation.recruitment.invitations import Link, invite, reissue
from tests.factories import NOON, make_batch, make_study, output_of, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def store() -> Study:
    study = make_study("secret-name", instances=2, question="Which do you like?", contact="ann@example.org")
    make_batch(study)
    return study


def made(study: Study, count: int = 1, **settings: Any) -> list[Link]:
    settings = {"at": timezone.now(), "base_url": "", **settings}
    return invite(channel=invitation_channel(study=study), count=count, **settings)


def run(*arguments: str) -> str:
    return output_of("invite", *arguments)


def rater_of(client: Client) -> str | None:
    """Return the code of the rater that a client is signed in as."""
    pk = client.session.get("_auth_user_id")
    return Annotator.objects.filter(user=pk).values_list("code", flat=True).first() if pk else None


# The command


def test_json_is_one_document_whose_links_let_raters_in(study: Study) -> None:
    before = timezone.now()
    said = json.loads(run(study.slug, "--count", "3", "--format", "json", "--base-url", "https://r.example/"))

    assert said["study"] == "secret-name"
    assert [set(link) for link in said["links"]] == [{"rater", "link", "valid_until"}] * 3
    assert {link["rater"] for link in said["links"]} == set(Annotator.objects.values_list("code", flat=True))
    until = {datetime.fromisoformat(link["valid_until"]) for link in said["links"]}
    assert all(before + timedelta(days=29) < time < before + timedelta(days=31) for time in until)
    for link in said["links"]:
        client = Client()
        assert link["link"].startswith("https://r.example/join/")
        response = client.get(link["link"].removeprefix("https://r.example"), follow=True)
        assert response.redirect_chain[0] == ("/rate/", 302)
        assert "/rate/consent/" in response.redirect_chain[-1][0]
        assert rater_of(client) == link["rater"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["--count", "1", "--batch", "other"], "no batch other", id="no such batch"),
        pytest.param(["--rater", "r-none"], "No rater r-none", id="no such rater"),
        pytest.param(["--rater", "r-none", "--batch", "batch"], "--batch is for new raters", id="rater and batch"),
        pytest.param([], "one of the arguments --count --rater is required", id="neither"),
    ],
)
def test_what_can_not_be_made_is_refused_and_leaves_nothing(study: Study, arguments: list[str], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        call_command("invite", study.slug, *arguments)
    assert not Channel.objects.exists()
    assert not Annotator.objects.exists()


def test_links_go_through_one_open_channel_that_is_not_opened_again_once_closed(study: Study) -> None:
    made(study)
    made(study)
    channel = Channel.objects.get()
    assert (channel.kind, channel.is_open, channel.batch) == ("accounts", True, None)
    assert channel.invitations.count() == 2
    set_open(channel=channel, is_open=False)
    with pytest.raises(CommandError, match="is closed"):
        call_command("invite", study.slug, "--count", "1")
    assert Annotator.objects.count() == 2


def test_many_links_take_no_more_statements_than_a_few(study: Study) -> None:
    invitation_channel(study=study)
    with CaptureQueriesContext(connection) as few:
        made(study, 10)
    with CaptureQueriesContext(connection) as many:
        links = made(study, 250)
    # Some databases take so many rows in a statement and no more; none takes a statement for each.
    assert len(many) <= len(few) + 15
    assert len({link.link for link in links}) == len({link.rater for link in links}) == 250
    assert Invitation.objects.count() == RoleGrant.objects.count() == 260


def test_codes_that_others_have_are_drawn_again(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter(["aa", "aa", "bb", "bb", "cc"])
    draw = secrets.token_hex
    monkeypatch.setattr(secrets, "token_hex", lambda size: next(drawn) if size == 4 else draw(size))
    assert {link.rater for link in made(study)} == {"r-aa"}
    assert {link.rater for link in made(study, 2)} == {"r-bb", "r-cc"}  # aa is taken, and bb came up twice


def test_the_database_holds_no_link(study: Study) -> None:
    [link] = made(study)
    token = link.link.split("/")[-2]
    assert len(token) >= 22  # of 64 characters each: 128 bits
    invitation = Invitation.objects.get()
    assert invitation.digest == hashlib.sha256(token.encode()).hexdigest()
    Client(REMOTE_ADDR="203.0.113.9", HTTP_USER_AGENT="Browser of Ann").get(link.link)
    assert Invitation.objects.get().used_at is not None
    assert not AccessLog.objects.exists()  # of sign-ins that succeed none is kept, nor their address
    stored = [
        str(list(model.objects.values())) for model in (Invitation, Participant, Channel, User, AccessLog, Session)
    ]
    assert not any(token in rows for rows in stored)


# Opening a link


def test_a_link_works_once(study: Study) -> None:
    [link] = made(study)
    first, second = Client(), Client()
    assert first.get(link.link)["Location"] == "/rate/"

    refused = second.get(link.link)

    assert refused.status_code == 403
    assert "This link no longer works" in refused.content.decode()
    assert "ann@example.org" in refused.content.decode()
    assert rater_of(second) is None
    set_open(channel=Channel.objects.get(), is_open=False)
    assert first.get(link.link)["Location"] == "/rate/"  # however often it is opened there
    assert rater_of(first) == link.rater
    assert Participant.objects.count() == 1


def test_signing_in_begins_a_new_session_that_lasts_and_tells_no_page_where_from(study: Study) -> None:
    [link] = made(study)
    client = Client()
    client.cookies["sessionid"] = "planted"
    session = client.session
    session["planted"] = True
    session.save()
    planted = session.session_key
    client.cookies["sessionid"] = planted

    response = client.get(link.link)

    assert client.session.session_key != planted
    assert client.session.get_expiry_age() > 80 * 24 * 3600
    assert response["Referrer-Policy"] == "no-referrer"
    assert "no-store" in response["Cache-Control"]


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Sec-Purpose": "prefetch;prerender"}, id="prefetch"),
        pytest.param({"X-Moz": "prefetch"}, id="old prefetch"),
        pytest.param({"Purpose": "prefetch"}, id="older prefetch"),
        pytest.param({"User-Agent": "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"}, id="slack"),
        pytest.param({"User-Agent": "WhatsApp/2.23.20.0"}, id="whatsapp"),
        pytest.param({"User-Agent": "facebookexternalhit/1.1"}, id="facebook"),
    ],
)
def test_a_program_that_looks_ahead_spends_no_link(study: Study, headers: dict[str, str]) -> None:
    [link] = made(study)
    robot = Client(headers=headers)

    response = robot.get(link.link)

    assert response.status_code in (200, 204)
    assert rater_of(robot) is None
    assert Client().head(link.link).status_code == 204
    assert Invitation.objects.get().used_at is None
    assert Client().get(link.link).status_code == 302


def test_who_is_taken_for_a_robot_gets_in_with_the_button(study: Study) -> None:
    [link] = made(study)
    client = Client(enforce_csrf_checks=True, headers={"User-Agent": "A phone called CuBot"})
    page = client.get(link.link)
    token = re.search(r'csrfmiddlewaretoken" value="(\w+)"', page.content.decode())
    assert (
        page["Referrer-Policy"] == "same-origin"
    )  # under no-referrer a browser's POST could not be told from a forged one

    assert client.post(link.link).status_code == 403
    assert Invitation.objects.get().used_at is None
    assert client.post(link.link, {"csrfmiddlewaretoken": token[1]}).status_code == 302
    assert rater_of(client) == link.rater


def test_a_signed_in_user_is_not_put_into_anothers_place_unasked(study: Study) -> None:
    admin = User.objects.create_superuser("root")
    [link] = made(study)
    client = signed_in(admin)

    page = client.get(link.link)

    assert page.status_code == 200
    assert "Another user is signed in" in page.content.decode()
    assert client.session["_auth_user_id"] == str(admin.pk)
    assert Invitation.objects.get().used_at is None
    assert client.post(link.link).status_code == 302
    assert rater_of(client) == link.rater


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(lambda: Channel.objects.update(is_open=False), "takes no new raters", id="shut"),
        pytest.param(lambda: Study.objects.update(archived_at=NOON), "takes no new raters", id="archived"),
        pytest.param(lambda: Invitation.objects.update(expires_at=NOON), "It has expired", id="expired"),
    ],
)
def test_no_rater_comes_by_a_shut_channel_or_an_old_link(
    study: Study, change: Callable[[], object], words: str
) -> None:
    [link] = made(study)
    change()
    client = Client()
    response = client.get(link.link)
    assert response.status_code == 403
    assert words in response.content.decode()
    assert rater_of(client) is None
    assert Invitation.objects.get().used_at is None


def test_a_link_of_another_channel_or_a_made_up_one_is_a_404(study: Study) -> None:
    [link] = made(study)
    other = invitation_channel(study=make_study("other", instances=0))
    token = link.link.split("/")[-2]
    assert Client().get(f"/join/{other.key}/{token}/").status_code == 404
    assert Client().get(f"/join/{other.key}/made-up/").status_code == 404
    assert Client().get(f"/join/nowhere/{token}/").status_code == 404
    assert Client().get("/join/nowhere/").status_code == 404
    assert Invitation.objects.get().used_at is None


def test_an_account_that_was_switched_off_stays_outside(study: Study) -> None:
    [link] = made(study)
    User.objects.update(is_active=False)
    assert Client().get(link.link).status_code == 403


def test_no_page_of_a_link_names_the_study_or_a_system(study: Study) -> None:
    Study.objects.update(title="Hidden title")
    used, fresh = made(study, 2)
    Client().get(used.link)
    shown = [
        Client(headers={"User-Agent": "a bot"}).get(fresh.link),
        Client().get(used.link),
        Client().get(fresh.link + "x"),
    ]
    told = " ".join(response.content.decode() for response in shown)
    assert "Which do you like?" in told
    assert not any(word in told for word in ("secret-name", "Hidden title", "alpha", "beta", "news", "Invitations"))


# A new link for a rater who lost theirs


def test_a_new_link_leads_to_the_same_rater_and_ends_what_was_before(study: Study) -> None:
    [link] = made(study)
    lost, found = Client(), Client()
    lost.get(link.link)

    said = json.loads(run(study.slug, "--rater", link.rater, "--format", "json", "--base-url", "http://x"))

    new = said["links"][0]
    assert new["rater"] == link.rater
    assert lost.get("/rate/")["Location"].startswith("/rate/consent/")  # until it is used, nothing changes
    assert Client().get(link.link).status_code == 404
    assert found.get(new["link"].removeprefix("http://x")).status_code == 302
    assert rater_of(found) == link.rater
    assert lost.get("/rate/")["Location"].startswith("/login/")
    assert Annotator.objects.count() == Participant.objects.count() == 1


@pytest.mark.parametrize("is_new", [False, True], ids=["old browser", "new browser"])
def test_any_browser_may_use_the_new_link_although_the_channel_was_shut(study: Study, is_new: bool) -> None:
    [link] = made(study)
    client = Client()
    client.get(link.link)
    channel = set_open(channel=Channel.objects.get(), is_open=False)
    new = reissue(channel=channel, code=link.rater, base_url="", at=timezone.now())
    browser = Client() if is_new else client
    assert browser.get(new.link)["Location"] == "/rate/"
    assert rater_of(browser) == link.rater
    assert Invitation.objects.get().used_at is not None


@pytest.mark.parametrize("grown", ["elsewhere", "researcher", "staff"])
def test_no_new_link_into_an_account_that_can_do_more_than_rate_here(study: Study, grown: str) -> None:
    [link] = made(study)
    user = Annotator.objects.get().user
    assert user is not None
    if grown == "staff":
        User.objects.update(is_staff=True)
    else:
        role = "annotator" if grown == "elsewhere" else grown
        grant_role(username=user.username, role=role, place=make_study("other", instances=0), any_account=True)
    with pytest.raises(Unacceptable, match="other roles"):
        reissue(channel=Channel.objects.get(), code=link.rater, base_url="", at=NOON)


def test_no_new_link_for_who_withdrew_came_otherwise_or_rates_elsewhere(study: Study) -> None:
    [link] = made(study)
    channel = Channel.objects.get()
    [foreign] = made(make_study("other", instances=0))
    with pytest.raises(UnknownName):
        reissue(channel=channel, code=foreign.rater, base_url="", at=NOON)
    withdraw(annotator=Annotator.objects.get(code=link.rater), at=NOON)
    with pytest.raises(Unacceptable, match="has left"):
        reissue(channel=channel, code=link.rater, base_url="", at=NOON)
    channel.kind = "anonymous"
    with pytest.raises(Unacceptable, match="has no invitations"):
        reissue(channel=channel, code=link.rater, base_url="", at=NOON)
