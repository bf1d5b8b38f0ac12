"""The pages of channels: who sees and who changes them, settings, doors, buttons, links."""

import csv
import io
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar

import pytest
from django import forms
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.utils import timezone

from annotation.annotators.consent import answer_consent, withdraw
from annotation.annotators.participants import join
from annotation.core.errors import BadFields, ClaimRefused, Unacceptable, UnknownName
from annotation.models import Annotator, Channel, Invitation, Study
from annotation.recruitment.base import Adapter, Panel, adapters
from annotation.recruitment.channels import change_channel, make_channel, options_form_of, set_open
from annotation.recruitment.invitations import invite
from tests.factories import NOON, claim, make_batch, make_study, make_user, queries_of, rate, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def store() -> Study:
    study = make_study(instances=3)
    make_batch(study)
    return study


def opened(study: Study, kind: str = "accounts", **settings: Any) -> Channel:
    return make_channel(study=study, kind=kind, name=f"The {kind} one", options=settings, is_open=True)


def page_of(channel: Channel) -> str:
    return f"/studies/{channel.study.slug}/channels/{channel.key}/"


class PriceForm(forms.Form):
    """Settings that JSON has no values for."""

    price = forms.DecimalField()
    day = forms.DateField(required=False)


class WithButton(Adapter):
    """A kind whose only button says what it was given, or refuses."""

    kind = "accounts"
    options_form = PriceForm
    pressed: ClassVar[list[Any]] = []

    def arrive(self, request: HttpRequest, channel: Channel) -> HttpResponse:
        return HttpResponse("arrived")

    def panel(self, channel: Channel) -> Panel:
        return Panel("annotation/studies/_contact.html", {"words": "from the adapter"})

    def act(self, *, channel: Channel, action: str, data: Mapping[str, str], by: User, at: datetime) -> str:
        if action == "refuse":
            raise Unacceptable("That can’t be taken.")
        self.pressed.append((channel.pk, action, data["what"], by.username))
        return f"{data['what']}: done"


@pytest.fixture
def with_button(monkeypatch: pytest.MonkeyPatch) -> WithButton:
    adapter = WithButton()
    monkeypatch.setitem(adapters(), "accounts", adapter)
    monkeypatch.setattr(WithButton, "pressed", [])
    return adapter


# The list


def test_the_list_counts_who_came_and_what_they_did(study: Study, manager: Client) -> None:
    channel = opened(study, "anonymous")
    opened(study)
    raters = [join(channel=channel, external_id=str(n), at=NOON)[0].annotator for n in range(4)]
    for rater in raters:
        answer_consent(annotator=rater, accepted=True, at=NOON)
    rate(claim(raters[0]))
    rate(claim(raters[0]))
    rate(claim(raters[1]))
    claim(raters[1])
    rate(claim(raters[3]))
    withdraw(annotator=raters[3], at=NOON)  # nothing of theirs is shown

    reader = signed_in(make_user("reader", "researcher", study=study))
    assert not any(text in reader.get(page_of(channel)).text for text in ('name="door"', "Create links"))
    page = manager.get(f"/studies/{study.slug}/channels/").content.decode()

    row = re.search(r"The anonymous one</a>.*?</tr>", page, re.DOTALL)
    assert re.findall(r'class="num">(\d+)<', row[0]) == ["3", "1", "3"]
    assert "3 joined, 1 at a HIT now, 3 HITs submitted" in manager.get(page_of(channel)).content.decode()


def test_pages_take_as_many_queries_for_many_channels_and_raters_as_for_one(study: Study, manager: Client) -> None:
    channel = opened(study)
    pages = f"/studies/{study.slug}/channels/", page_of(channel)
    invite(channel=channel, count=1, base_url="", at=NOON)
    before = [queries_of(lambda page=page: manager.get(page)) for page in pages]
    for number in range(9):
        make_channel(study=study, kind="anonymous", name=str(number), options={})
    invite(channel=channel, count=20, base_url="", at=NOON)
    assert [queries_of(lambda page=page: manager.get(page)) for page in pages] == before


# Making and changing


def test_a_channel_is_made_shut_with_its_settings(study: Study, manager: Client) -> None:
    batch = study.batches.get()
    address = f"/studies/{study.slug}/channels/new/anonymous/"
    assert 'value="20"' in manager.get(address).content.decode()  # what a limit begins with

    made = manager.post(address, {"name": " Poster ", "batch": batch.name, "per_address": "5", "most_hits": "3"})

    channel = Channel.objects.get()
    assert made["Location"] == page_of(channel)
    assert (channel.name, channel.kind, channel.batch, channel.is_open) == ("Poster", "anonymous", batch, False)
    assert channel.options == {"most_hits": 3, "per_address": 5, "most_raters": 500}


BAD_SETTINGS = [
    ({"name": ""}, "required"),
    ({"name": "Taken"}, "already exists"),
    ({"name": "x" * 101}, "at most 100"),
    ({"name": "x", "per_address": "0"}, "greater than or equal to 1"),
    ({"name": "x", "most_hits": "many"}, "whole number"),
    ({"name": "x", "batch": "0"}, "no batch 0"),
]


def test_bad_settings_are_shown_at_their_field_and_kept(study: Study, manager: Client) -> None:
    make_channel(study=study, kind="accounts", name="Taken", options={})
    channel = make_channel(study=study, kind="anonymous", name="Mine", options={})
    new, own = f"/studies/{study.slug}/channels/new/anonymous/", page_of(channel)
    for fields, words in BAD_SETTINGS:
        for address in (new, own) if fields["name"] == "Taken" else (new,):
            response = manager.post(address, {"most_raters": "77", **fields})
            assert response.status_code == 422, fields
            assert words in response.content.decode(), fields
            assert 'value="77"' in response.content.decode()
    assert manager.post(own, {"most_raters": "0", "name": "x"}).status_code == 422
    assert Channel.objects.count() == 2
    channel.refresh_from_db()
    assert (channel.name, channel.options["most_raters"]) == ("Mine", 500)


def test_settings_are_changed_and_what_the_adapter_keeps_stays(study: Study, manager: Client) -> None:
    channel = opened(study, "anonymous")
    channel.options = {**channel.options, "kept": [1, 2]}
    channel.save()
    manager.post(page_of(channel), {"name": "New", "per_address": "7", "most_raters": "8"})
    channel.refresh_from_db()
    assert (channel.name, channel.is_open) == ("New", True)
    assert channel.options == {"kept": [1, 2], "per_address": 7, "most_raters": 8, "most_hits": None}
    assert 'value="7"' in manager.get(page_of(channel)).content.decode()


def test_another_studys_batch_can_not_be_named(study: Study) -> None:
    other = make_batch(make_study("other"))
    with pytest.raises(BadFields, match="another study"):
        make_channel(study=study, kind="accounts", name="x", options={}, batch=other)
    channel = opened(study)
    with pytest.raises(BadFields, match="another study"):
        change_channel(channel=channel, name="x", options={}, batch=other)


def test_a_kind_without_an_adapter_is_unknown(study: Study, manager: Client) -> None:
    assert manager.get(f"/studies/{study.slug}/channels/new/fax/").status_code == 404
    with pytest.raises(UnknownName):
        make_channel(study=study, kind="fax", name="x", options={})


def test_the_door_is_opened_and_shut_and_stays_shut_in_the_archive(study: Study, manager: Client) -> None:
    channel = opened(study)
    for door in ("shut", "open", "shut"):
        manager.post(page_of(channel), {"door": door})
        assert Channel.objects.get().is_open is (door == "open")
    Study.objects.update(archived_at=NOON)
    study.refresh_from_db()
    refused = manager.post(page_of(channel), {"door": "open"})
    assert refused.status_code == 409
    assert "is archived" in refused.content.decode()
    with pytest.raises(ClaimRefused, match="archive"):
        make_channel(study=study, kind="accounts", name="x", options={})
    assert "channels/new" not in manager.get(f"/studies/{study.slug}/channels/").content.decode()
    assert "The study is archived" in manager.get(page_of(channel)).content.decode()


# What adapters bring


@pytest.mark.usefixtures("with_button")
def test_every_kind_has_the_shared_settings_and_values_that_json_can_hold(study: Study) -> None:
    assert set(options_form_of("accounts").base_fields) == {"price", "day", "most_hits"}
    channel = opened(study, price="1.50", day="2026-07-01", most_hits="4")
    channel.refresh_from_db()
    assert channel.options == {"price": "1.50", "day": "2026-07-01", "most_hits": 4}


def test_a_button_is_answered_or_says_why_not(study: Study, manager: Client, with_button: WithButton) -> None:
    channel = opened(study, price="1")
    done = manager.post(page_of(channel), {"act": "approve", "what": "S1"}, follow=True)
    assert done.redirect_chain == [(page_of(channel), 302)]
    assert "S1: done" in done.content.decode()
    assert with_button.pressed == [(channel.pk, "approve", "S1", "manager")]

    refused = manager.post(page_of(channel), {"act": "refuse"})
    assert refused.status_code == 422
    assert "That can’t be taken." in refused.text
    assert "The accounts one" in refused.text
    without = opened(study, "anonymous")
    assert manager.post(page_of(without), {"act": "bonus"}).status_code == 422


# Links


def links_on(page: str) -> list[str]:
    return re.findall(r"http://testserver(/join/\S+?/)<", page)


def test_links_are_shown_until_they_are_used_and_looking_makes_none(study: Study, manager: Client) -> None:
    channel = opened(study)
    address = f"{page_of(channel)}links/"
    assert manager.post(address, {"count": "2", "days": "3"}).headers["Location"] == address
    page = manager.get(address)
    links = links_on(page.text)
    assert len(set(links)) == 2
    assert "no-store" in page["Cache-Control"]
    assert links_on(manager.get(address).text) == links
    assert Client().get(links[0]).status_code == 302
    assert links_on(manager.get(address).text) == links[1:]
    assert Invitation.objects.count() == 2
    as_csv = manager.get(address, {"format": "csv"})
    assert "no-store" in as_csv["Cache-Control"]
    assert as_csv["Content-Disposition"] == 'attachment; filename="links.csv"'
    [row] = csv.DictReader(io.StringIO(as_csv.text))
    assert row["link"] == f"http://testserver{links[1]}"
    assert row["rater"] in Annotator.objects.values_list("code", flat=True)
    tokens = [link.split("/")[-2] for link in links]
    assert not any(token in manager.get(page_of(channel)).content.decode() for token in tokens)
    about_three_days = Invitation.objects.first().expires_at - timezone.now()
    assert timedelta(days=2, hours=23) < about_three_days <= timedelta(days=3)


def test_a_rater_gets_a_new_link_from_the_page(study: Study, manager: Client) -> None:
    channel = opened(study)
    [old] = invite(channel=channel, count=1, base_url="", at=timezone.now())
    page = manager.post(f"{page_of(channel)}links/", {"rater": f" {old.rater} "}, follow=True).text
    [link] = links_on(page)
    assert f"The new link of rater {old.rater} is below." in page
    assert Client().get(old.link).status_code == 404
    assert Client().get(link).status_code == 302


@pytest.mark.parametrize(
    ("fields", "kind", "status"),
    [
        pytest.param({"count": "1001", "days": "3"}, "accounts", 422, id="too many"),
        pytest.param({"rater": "r-none"}, "accounts", 422, id="nobody"),
        pytest.param({}, "accounts", 422, id="nothing"),
        pytest.param({"count": "1", "days": "3"}, "shut", 422, id="shut"),
        pytest.param({"count": "1", "days": "3"}, "anonymous", 404, id="kind without links"),
    ],
)
def test_links_that_can_not_be_made_are_refused(
    study: Study, manager: Client, fields: dict[str, str], kind: str, status: int
) -> None:
    channel = opened(study, "anonymous" if kind == "anonymous" else "accounts")
    set_open(channel=channel, is_open=kind != "shut")
    assert manager.post(f"{page_of(channel)}links/", fields).status_code == status
    assert not Invitation.objects.exists()


def test_what_raters_call_themselves_is_escaped(study: Study, manager: Client) -> None:
    channel = opened(study, registration="name")
    Client().post(f"/join/{channel.key}/", {"name": "<script>alert(1)</script>"})
    page = manager.get(page_of(channel)).content.decode()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
