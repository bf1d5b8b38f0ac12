"""The page on adding a recruitment channel, walked through: its module, its line and its test come from the page."""

import re
from pathlib import Path

import pytest
from django.test import Client

from annotation.annotators.payments import PAID_HERE
from annotation.models import Annotator, Channel, Study
from annotation.recruitment.base import CHANNEL_ADAPTERS, adapters
from tests.factories import make_study
from tests.howto import run, run_tests

ROOT = Path(__file__).resolve().parent.parent.parent.parent
PAGE = ROOT / "docs" / "howto" / "add_a_recruitment_channel.md"
MODULE, LINE, TEST = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
CREDIT = "https://pool.example.edu/done?code=XXXX"

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the page's adapter for the length of a test."""
    monkeypatch.setattr(Channel, "added_kinds", {})
    monkeypatch.setitem(adapters(), "sona", None)
    monkeypatch.delitem(adapters(), "sona")
    run(MODULE)


@pytest.fixture
def study() -> Study:
    return make_study(instances=1)


def test_test_of_the_page_passes() -> None:
    assert run_tests(TEST) == ["test_survey_code_makes_one_rater_who_gets_credit"]


def test_the_pages_line_is_one_more_than_those_of_the_app() -> None:
    assert run(LINE)["CHANNEL_ADAPTERS"] == (*CHANNEL_ADAPTERS, "sona")
    assert adapters()["sona"].__class__.__name__ == "Sona"


def test_the_channel_is_offered_made_opened_and_shown(study: Study, manager: Client) -> None:
    offered = manager.get(f"/studies/{study.slug}/channels/").content.decode()
    assert f'href="/studies/{study.slug}/channels/new/sona/">Sona</a>' in offered
    assert "Participants of a university’s pool" in offered

    refused = manager.post(f"/studies/{study.slug}/channels/new/sona/", {"name": "Pool", "credit_url": ""})
    assert (refused.status_code, Channel.objects.count()) == (422, 0)
    made = manager.post(f"/studies/{study.slug}/channels/new/sona/", {"name": "Pool", "credit_url": CREDIT})
    channel = Channel.objects.get()
    assert (channel.kind, channel.is_open, channel.options["credit_url"]) == ("sona", False, CREDIT)
    assert Client().get(f"/join/{channel.key}/?survey_code=1").status_code == 403

    manager.post(made["Location"], {"door": "open"})
    assert Client().get(f"/join/{channel.key}/?survey_code=1")["Location"] == "/rate/"
    page = manager.get(made["Location"]).content.decode()
    assert "Sona" in page
    assert Annotator.objects.get().code in page
    assert f"/join/{channel.key}/" in page
    assert Annotator.objects.get().kind in PAID_HERE
