"""The command `mturk` and the buttons of a channel's page, over HTTP."""

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation.models import Channel
from tests.annotation.recruitment.mturk.server import THROTTLED, MturkServer
from tests.annotation.recruitment.mturk.setup import do_work
from tests.factories import make_user, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_the_command_fails_when_something_waits(mturk: MturkServer, channel: Channel, capsys: Any) -> None:
    mturk.fail(THROTTLED)

    with pytest.raises(CommandError, match="run this again later"):
        call_command("mturk", "publish", "study")

    assert json.loads(capsys.readouterr().out)["waiting"] == 3


def test_the_command_names_the_channels_when_none_is_meant(channel: Channel) -> None:
    with pytest.raises(CommandError, match="there are: MTurk"):
        call_command("mturk", "sync", "study", "--channel", "Other")


def page_of(channel: Channel, role: str = "study-admin") -> tuple[Client, str]:
    browser = signed_in(make_user(role, role, study=channel.study))
    return browser, reverse("annotation:channel", args=[channel.study.slug, channel.key])


def test_the_buttons_of_the_page_offer_learn_and_approve(mturk: MturkServer, channel: Channel) -> None:
    browser, page = page_of(channel)
    assert browser.post(page, {"act": "publish"}).status_code == 302
    assignment = do_work(mturk, channel, "3HIT00001", "AWORKER1")
    browser.post(page, {"act": "sync"})

    shown = browser.get(page).content.decode()
    assert assignment in shown
    assert "AWORKER1" not in shown
    reader, _page = page_of(channel, "researcher")
    assert 'name="act"' not in reader.get(page).text
    browser.post(page, {"act": "reject", "assignment": [assignment], "feedback": "All left."})
    browser.post(page, {"act": "approve", "assignment": [assignment], "override": "yes"})
    browser.post(page, {"act": "bonus", "assignment": [assignment], "amount": "1", "feedback": "Sorry."})

    assert mturk.assignments[assignment]["AssignmentStatus"] == "Approved"
    assert len(mturk.bonuses) == 1


@pytest.mark.parametrize(
    ("sent", "status"),
    [({"act": "approve"}, 422), ({"act": "nonsense", "assignment": "x"}, 422), ({"act": "release", "rater": "x"}, 404)],
)
def test_a_button_says_why_it_fails(mturk: MturkServer, channel: Channel, sent: dict[str, str], status: int) -> None:
    browser, page = page_of(channel)

    assert browser.post(page, sent).status_code == status
    assert mturk.requests == []
