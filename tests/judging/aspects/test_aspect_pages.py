"""The page of a task's aspects: who sees it, changing them, distilling by a worker, and that nothing gets out."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django_tasks_db.models import DBTaskResult

from annotation.models import Study
from judging.aspects import distillation
from judging.aspects.aspect_sets import edit_aspects
from judging.models import AspectSet, Distillation, Endpoint
from tests.fakes import ScriptedClient
from tests.judging.aspects.test_aspect_sets import FIVE, Answering
from tests.judging.builders import do_last_task, make_endpoint, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PAGE = "/studies/tea/aspects/"
ASKED = {"endpoint": "stand-in", "pairs": 4, "seed": 0}


@pytest.fixture
def study() -> Study:
    return make_study(instances=5)


@pytest.fixture
def endpoint(study: Study) -> Endpoint:
    return make_endpoint(price_prompt=Decimal(1), price_completion=Decimal(2))


def page(client: Client) -> str:
    return client.get(PAGE).content.decode()


def test_list_is_saved_as_the_next_version(researcher: Client) -> None:
    sent = {"aspects": "tone\r\n\r\n order ", "seen": 0}
    answered = researcher.post(f"{PAGE}edit/", sent, follow=True)
    shown = answered.content.decode()
    assert answered.redirect_chain == [(PAGE, 302)]
    assert "summarization.v1 is the current version." in shown
    assert "Edited from summarization (built in) by" in shown
    version = AspectSet.objects.get()
    assert (version.aspects, version.made_by["by"]) == (["tone", "order"], "researcher")
    again = researcher.post(f"{PAGE}edit/", {"aspects": "tone\norder", "seen": 1}, follow=True)
    assert "summarization.v1 is this list already." in again.content.decode()
    researcher.post(f"{PAGE}edit/", {"aspects": "order", "seen": 1})
    assert list(AspectSet.objects.values_list("version", "aspects")) == [(1, ["tone", "order"]), (2, ["order"])]


@pytest.mark.parametrize(
    "sent",
    [
        {"aspects": "tone\nTone", "seen": 0},
        {"aspects": "x" * 201, "seen": 0},
        {"aspects": "tone\x00", "seen": 0},
        {"aspects": "tone", "seen": 7},
    ],
)
def test_list_that_cant_be_kept_is_said_to_and_still_there(researcher: Client, sent: dict[str, Any]) -> None:
    answered = researcher.post(f"{PAGE}edit/", sent)
    assert answered.status_code == 422
    assert sent["aspects"].partition("\n")[0].strip("\x00") in answered.content.decode()
    assert not AspectSet.objects.exists()


@pytest.mark.parametrize("name", ["estimate", "distil"])
def test_what_cant_be_asked_is_said(researcher: Client, endpoint: Endpoint, name: str) -> None:
    assert researcher.post(f"{PAGE}{name}/", {**ASKED, "params": "n=2"}).status_code == 422
    assert not DBTaskResult.objects.exists()


def test_worker_distils_and_the_page_shows_the_result(researcher: Client, endpoint: Endpoint, study: Study) -> None:
    sent = {**ASKED, "params": "max_tokens=300"}
    assert researcher.post(f"{PAGE}distil/", sent).headers["Location"] == PAGE
    client = Answering()
    do_last_task(distillation, "distil", client)
    assert Distillation.objects.get().found == {"version": "summarization.v1", "new": True, "calls": 9, "cached": 0}
    assert {body["max_tokens"] for body in client.bodies} == {300}
    shown = page(researcher)
    assert "Result: summarization.v1." in shown
    assert "Current version: summarization.v1" in shown
    assert all(f'<li dir="auto">{aspect}</li>' in shown for aspect in FIVE)
    assert "Texts: 8; without a readable answer: 0;" in shown
    assert AspectSet.objects.get().made_by["by"] == "researcher"
    assert "max_tokens=300" in shown
    researcher.post(f"{PAGE}distil/", sent)
    do_last_task(distillation, "distil", ScriptedClient())
    assert Distillation.objects.get().found == {"version": "summarization.v1", "new": False, "calls": 0, "cached": 9}
    assert "Result: summarization.v1, unchanged." in page(researcher)


def test_what_a_model_or_a_researcher_wrote_is_escaped(researcher: Client, study: Study, endpoint: Endpoint) -> None:
    edit_aspects(study, aspects=["<img src=x onerror=alert(1)>", "</textarea><b>"], by="<i>sam</i>")
    AspectSet.objects.create(
        group=study.group,
        task="summarization",
        version=2,
        aspects=["<u>"],
        made_by={"how": "distilled", "model": "<s>"},
    )
    shown = page(researcher)
    for part in ("<img src=x", "</textarea><b>", "<i>sam", "<u>", "<s>"):
        assert part not in shown


def test_page_takes_few_queries_however_many_versions(
    researcher: Client, study: Study, django_assert_max_num_queries: Any
) -> None:
    for number in range(10):
        edit_aspects(study, aspects=[f"aspect {number}"], by="rea")
    with django_assert_max_num_queries(20):
        page(researcher)
