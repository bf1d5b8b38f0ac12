"""A channel of MTurk before its launch: what is missing, and what it costs."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from annotation.models import Channel, Study
from tests.annotation.recruitment.mturk.server import MturkServer
from tests.annotation.recruitment.mturk.setup import make_mturk
from tests.factories import make_batch, make_study, make_user, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def channel() -> Channel:
    """A channel into a batch of three HITs of two pairs, six places."""
    study = make_study(instances=3, k=2, minutes_per_hit=3)
    make_batch(study, pairs=2, raters=2)
    return make_mturk(study=study, title="", reward="")


@pytest.fixture
def manager(channel: Channel) -> Client:
    return signed_in(make_user("manager", "study-admin", study=channel.study))


@pytest.mark.slow
def test_what_is_missing_and_what_it_costs_are_shown(manager: Client, channel: Channel, settings: Any) -> None:
    settings.LEAST_HOURLY_PAY = {"USD": Decimal(9)}
    address = f"/studies/study/channels/{channel.key}/"
    page = manager.get(address).text
    assert page.count(">Missing</span>") == 4  # title, reward, access key, address
    assert "USD, with" not in page
    assert '<details class="panel" id="settings" open>' in " ".join(page.split())  # where the missing is set

    settings.BASE_URL = "https://rate.example.org"
    Study.objects.update(pay_per_hit=Decimal("0.35"), currency="USD")
    channel.options["title"] = "Compare two texts"
    channel.save()
    page = manager.get(address).text
    assert page.count(">Missing</span>") == 1
    assert page.count(">Advised</span>") == 2  # 7 dollars an hour, no requirements
    assert "6 free places, on 3 HITs of MTurk." in page
    assert "cost 2.52 USD" in page  # 6 × (0.35 + 0.07)


@pytest.mark.slow
def test_after_the_offer_the_day_is_watched(channel: Channel, manager: Client, mturk: MturkServer) -> None:
    channel.options |= {"title": "Compare", "reward": "0.50", "endpoint": mturk.url}
    channel.save()
    page = manager.post(f"/studies/study/channels/{channel.key}/", {"act": "publish"}, follow=True).text
    assert [hit["MaxAssignments"] for hit in mturk.hits.values()] == [2, 2, 2]
    assert "HITs offered: 3." in page
    assert "0 free places, on 0 HITs of MTurk." in page
    assert "No place is free" not in page
    assert "While it runs" in page
    assert "First raters have come" in page
