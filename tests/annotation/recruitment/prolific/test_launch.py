"""The study at Prolific, made as a draft from the channel's page: what is missing first, then nothing to type there."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from annotation.models import Batch, Channel, Study
from tests.annotation.recruitment.prolific.server import DRAFT, LOST, ProlificServer
from tests.annotation.recruitment.prolific.setup import come, make_prolific
from tests.factories import make_batch, make_study, make_user, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
SCREENING = "approval_rate >= 95\nage >= 18\n\nage <= 80\nfluent-languages in 19 20"
TEXTS = {
    "act": "draft",
    "name": "Which summary is better?",
    "description": "Read a text, compare.",
    "places": "3",
    "screening": SCREENING,
}


@pytest.fixture(scope="module")
def stored_study(module_rows: None) -> int:
    study = make_study(instances=3, pay_per_hit=Decimal("0.75"), currency="GBP", minutes_per_hit=4)
    make_batch(study, raters=2)
    return study.pk


@pytest.fixture
def channel(study: Study, prolific: ProlificServer, settings: Any) -> Channel:
    settings.BASE_URL = "https://rate.example.org"
    return make_prolific(study, prolific, study_id="", code_completed="", code_timed_out="", most_hits=2)


def press(browser: Client, channel: Channel, **data: str) -> str:
    address = f"/studies/{channel.study.slug}/channels/{channel.key}/"
    return browser.post(address, TEXTS | data, follow=True).content.decode()


def test_draft_has_address_places_reward_minutes_and_codes_and_lets_participants_in(
    manager: Client, channel: Channel, prolific: ProlificServer
) -> None:
    page = manager.get(f"/studies/study/channels/{channel.key}/").text
    assert 'value="3"' in page  # six free slots, two HITs a place
    assert "1.50 GBP" in page
    assert f"{DRAFT} is at Prolific" in press(manager, channel)

    [draft] = prolific.asked("/studies/")
    assert draft["external_study_url"].startswith(f"https://rate.example.org/join/{channel.key}/?PROLIFIC_PID=")
    assert (draft["total_available_places"], draft["reward"], draft["estimated_completion_time"]) == (3, 150, 8)
    assert draft["filters"] == [
        {"filter_id": "approval_rate", "selected_range": {"lower": 95}},
        {"filter_id": "age", "selected_range": {"lower": 18, "upper": 80}},
        {"filter_id": "fluent-languages", "selected_values": ["19", "20"]},
    ]
    codes = {one["code"]: one["actions"][0]["action"] for one in draft["completion_codes"]}
    assert sorted(codes.values()) == ["MANUALLY_REVIEW", *["REQUEST_RETURN"] * 3]
    channel.refresh_from_db()
    assert channel.options["study_id"] == DRAFT
    assert codes[channel.options["code_completed"]] == "MANUALLY_REVIEW"
    assert "OUT1" in codes  # a code that was there is kept
    arrived, _browser = come(channel, study=DRAFT)
    assert arrived.status_code == 302

    assert "has a study at Prolific already" in press(manager, channel)
    assert len(prolific.asked("/studies/")) == 1


def test_what_is_missing_is_listed(manager: Client, channel: Channel, prolific: ProlificServer, settings: Any) -> None:
    Study.objects.update(minutes_per_hit=None)
    Batch.objects.update(status="closed")
    settings.BASE_URL, settings.ENDPOINT_KEY = "http://localhost:8000", lambda name: None
    page = manager.get(f"/studies/study/channels/{channel.key}/").text
    assert page.count(">Missing</span>") == 6
    assert "BASE_URL is http://localhost:8000." in page
    assert "Missing: API token, Pay and expected minutes, Places." in press(manager, channel)
    assert prolific.asked("/studies/") == []


WRONG = [
    ({"name": " "}, "participants read both"),
    ({"description": ""}, "participants read both"),
    ({"places": "0"}, "a whole number"),
    ({"places": "many"}, "a whole number"),
    ({"screening": "adults only"}, "is no filter"),
    ({"screening": "age >= 18\nage >= 20"}, "two lines"),
    ({"screening": "age >= 18\nage in 20"}, "two lines"),
]


def test_draft_of_unreadable_settings_is_refused(manager: Client, channel: Channel, prolific: ProlificServer) -> None:
    for wrong, told in WRONG:
        assert told in press(manager, channel, **wrong), wrong
    assert prolific.asked("/studies/") == []


def test_a_reader_makes_no_draft(channel: Channel, study: Study, prolific: ProlificServer) -> None:
    reader = signed_in(make_user("reader", "researcher", study=study))
    assert 'value="draft"' not in reader.get(f"/studies/study/channels/{channel.key}/").text
    press(reader, channel)
    assert prolific.asked("/studies/") == []


def test_published_once_then_places_grow(manager: Client, channel: Channel, prolific: ProlificServer) -> None:
    press(manager, channel)
    Batch.objects.update(status="paused")
    assert "Missing: Batch." in press(manager, channel, act="publish")
    Batch.objects.update(status="open")
    prolific.fail(LOST, on="/transition/")
    assert "try the same again later" in press(manager, channel, act="publish")
    assert prolific.studies[DRAFT]["status"] == "ACTIVE"
    assert "While it runs" not in manager.get(f"/studies/study/channels/{channel.key}/").text
    assert "participants see it now" in press(manager, channel, act="publish")
    assert "done before" in press(manager, channel, act="publish")
    assert len(prolific.asked("/transition/")) == 1

    page = press(manager, channel, act="places", places="5")
    assert "Places of the study at Prolific: 5 in all now." in page
    assert prolific.studies[DRAFT]["total_available_places"] == 5
    assert "First raters have come" in page
    assert "taken away" in press(manager, channel, act="places", places="2")
