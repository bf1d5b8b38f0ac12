"""The pages of audits: what they show, to whom, and what they start."""

import json
from typing import Any

import pytest
from django.test import Client

from annotation.models import Study
from judging.audits.asking import ask
from judging.audits.stress import StressTest, start_stress
from judging.models import Judge, JudgeAudit
from tests.judging.audits.readers import Reader, client_of, study_of_facts
from tests.judging.builders import make_endpoint, make_judge

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
ADDRESS = "/studies/facts/audits/"
CHANGES = ("position", "authority", "identical")


def store() -> Study:
    return study_of_facts(6)


@pytest.fixture
def judge() -> Judge:
    endpoint = make_endpoint("https://93.184.216.34/v1", price_prompt=1000, price_completion=1000)
    return make_judge(params={"ties": True}, endpoint=endpoint)


@pytest.fixture
def tested(study: Study, judge: Judge) -> JudgeAudit:
    audit = start_stress(StressTest(study, judge, CHANGES))
    ask(audit, make_client=client_of(Reader(first=True)))
    return audit


def text_of(client: Client, address: str = ADDRESS, status: int = 200) -> str:
    response: Any = client.get(address)
    assert response.status_code == status, response.content.decode()[:500]
    return " ".join(response.content.decode().split())


def test_a_stress_test_has_its_page_table_picture_and_file(tested: JudgeAudit, researcher: Client) -> None:
    page = text_of(researcher, f"{ADDRESS}{tested.pk}/")
    assert "Stress test of" in page
    position = page.split("Texts change places")[1].split("</tr>")[0]
    assert "100.0% <small>[" in position
    assert "n = 12 pairs; 6 instances" in position
    assert position.rstrip().endswith("stays</td>")
    assert "12 have fewer than two votes" in page
    assert page.count("<table") == 3
    found = json.loads(researcher.get(f"{ADDRESS}{tested.pk}.json").content)
    assert found["changes"][0]["all"]["towards"]["value"] == 1
    drawn = json.loads(researcher.get(f"{ADDRESS}{tested.pk}/turned.json").content)["data"]["values"]
    assert {(row["name"], row["series"], row["value"]) for row in drawn if row["value"]} == {
        ("Texts change places", "Towards the changed text", 1),
        ("Identical texts", "Towards the changed text", 1),
    }
    assert researcher.get(f"{ADDRESS}{tested.pk}/turned.svg?theme=dark").content.startswith(b"<svg")
    assert f'href="{ADDRESS}{tested.pk}/"' in text_of(researcher)
    assert "48 of 48 answers" in text_of(researcher)


def test_a_test_of_another_study_and_unknown_pictures_are_not_found(tested: JudgeAudit, researcher: Client) -> None:
    study_of_facts(1, slug="other")
    assert researcher.get(f"/studies/other/audits/{tested.pk}/").status_code == 404
    assert researcher.get(f"{ADDRESS}{tested.pk}/turned.svg?theme=neon").status_code == 404


def test_the_api_prices_starts_lists_and_shows_what_was_found(tested: JudgeAudit, researcher: Client) -> None:
    def post(path: str, **more: Any) -> Any:
        body = json.dumps({"study": "facts", "judge": "judy", **more})
        return researcher.post(f"/api/v1/audits/{path}", body, content_type="application/json")

    estimated = post("estimate/", pairs=5, changes=list(CHANGES))
    assert estimated.status_code == 200
    assert (estimated.json()["presentations"], JudgeAudit.objects.count()) == (20, 1)
    started = post("", pairs=5, max_cost="2.5")
    assert started.status_code == 202
    audit = JudgeAudit.objects.exclude(pk=tested.pk).get()
    assert started.headers["Location"] == f"/api/v1/audits/{audit.pk}/"
    listed = researcher.get("/api/v1/audits/", {"study": "facts"}).json()["results"]
    assert {(row["id"], row["judge"], row["question"]) for row in listed} == {
        (audit.pk, "judy", "overall"),
        (tested.pk, "judy", "overall"),
    }
    shown = researcher.get(f"/api/v1/audits/{tested.pk}/").json()
    assert shown["found"]["changes"][0]["all"]["towards"]["value"] == 1
