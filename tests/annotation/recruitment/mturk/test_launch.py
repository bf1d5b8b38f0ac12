"""A channel of MTurk before its launch: what is missing, what it costs, and the way by file from its page."""

import csv
import io
import zipfile
from decimal import Decimal
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from annotation.models import Assignment, Batch, Channel, Study
from tests.annotation.recruitment.mturk.server import MturkServer
from tests.annotation.recruitment.mturk.setup import make_mturk, mturk
from tests.factories import make_batch, make_study, make_user

pytestmark = pytest.mark.django_db
__all__ = ["mturk"]


@pytest.fixture
def channel() -> Channel:
    """A channel into a batch of three HITs of two pairs, six places."""
    study = make_study(instances=3, k=2, minutes_per_hit=3)
    make_batch(study, pairs=2, raters=2)
    return make_mturk(study=study, title="", reward="")


@pytest.fixture
def manager(channel: Channel) -> Client:
    browser = Client()
    browser.force_login(make_user("manager", "study-admin", study=channel.study))
    return browser


@pytest.mark.slow
def test_what_is_missing_and_what_it_costs_are_shown_before_a_request(
    manager: Client, channel: Channel, settings: Any
) -> None:
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
    assert "On the day" in page
    assert "First raters have come" in page


@pytest.mark.slow
def test_by_file_from_the_page_and_back(manager: Client, channel: Channel) -> None:
    address = f"/studies/study/channels/{channel.key}/mturk/"
    assert "draft, paused or closed" in manager.get(address, {"batch": "batch"}, follow=True).text  # it is open
    Batch.objects.update(status="paused")
    refused = manager.get(address, {"batch": "batch"})
    assert refused.status_code == 422
    assert "Set the reward first" in refused.text

    channel.options["reward"] = "0.50"
    channel.save()
    files = zipfile.ZipFile(io.BytesIO(manager.get(address, {"batch": "batch"}).content))
    assert "Reward per response: $0.50" in files.read("project.txt").decode()
    assert "Number of respondents: 2" in files.read("project.txt").decode()
    assert "${model1_summary1}" in files.read("template.html").decode()
    rows = list(csv.DictReader(io.StringIO(files.read("hits.csv").decode(), newline="")))

    out = io.StringIO(newline="")
    answers = {"Answer.pref1": "1", "Answer.pref2": "-1", "Answer.consent": "yes", "AssignmentStatus": "Approved"}
    answered = [
        {"WorkerId": "AW1", "AssignmentId": f"3X{place}", **{f"Input.{key}": value for key, value in row.items()}}
        for place, row in enumerate(rows)
    ]
    writer = csv.DictWriter(out, [*answered[0], *answers])
    writer.writeheader()
    writer.writerows({**row, **answers} for row in answered)

    def read(content: str) -> str:
        file = SimpleUploadedFile("Batch_results.csv", content.encode())
        return manager.post(address, {"batch": "batch", "file": file}, follow=True).text

    assert "3 assignments added." in read(out.getvalue())
    assert Assignment.objects.filter(state="submitted").count() == 3
    assert "0 assignments added. 3 read before." in read(out.getvalue())
    assert "it must be" in read(out.getvalue().replace("AW1", "a w"))
    assert "Choose the file" in manager.post(address, {"batch": "batch"}, follow=True).text
