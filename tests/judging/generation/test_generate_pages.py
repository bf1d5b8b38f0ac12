"""The page on which texts are sampled: who sees it, the estimate, the worker, and that nothing hostile gets out."""

import json
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django_tasks_db.models import DBTaskResult

from annotation.models import Generation, Matchup, Study
from judging.generation import engine
from judging.generation.prompt_templates import own_template
from judging.generation.services import Sampling, start_generating
from judging.models import Endpoint, GenerationRun
from tests.judging.builders import do_last_task, make_endpoint, make_study
from tests.judging.generation.test_sampling_systems import Writer

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PAGE = "/studies/tea/generate/"
ASKED = {
    "system": "owl-0.5",
    "endpoint": "stand-in",
    "samples": 2,
    "temperature": "0.5",
    "seed": 0,
    "template": "plain",
    "in_flight": 4,
}


@pytest.fixture
def study() -> Study:
    return make_study(instances=3)


@pytest.fixture
def endpoint(study: Study) -> Endpoint:
    return make_endpoint(price_prompt=Decimal(1), price_completion=Decimal(2))


def page(client: Client) -> str:
    return client.get(PAGE).content.decode()


@pytest.mark.parametrize(
    ("name", "change"),
    [("start", {"params": "n=5"}), ("estimate", {"wording": "Sum it up"}), ("start", {"instances": "i0\nnobody"})],
)
def test_what_cant_be_asked_is_said(researcher: Client, endpoint: Endpoint, name: str, change: dict[str, Any]) -> None:
    answered = researcher.post(f"{PAGE}{name}/", {**ASKED, **change})
    assert answered.status_code == 422
    assert not DBTaskResult.objects.exists()


def test_worker_samples_and_the_page_shows_how(researcher: Client, endpoint: Endpoint, study: Study) -> None:
    sent = {
        **ASKED,
        "wording": "Sum up:\r\n\r\n$source",
        "system_prompt": "Be brief.",
        "params": "stop=null",
        "max_cost": "1",
    }
    assert researcher.post(f"{PAGE}start/", sent).headers["Location"] == PAGE
    client = Writer()
    do_last_task(engine, "sample", client)
    run = GenerationRun.objects.get()
    assert (run.status, run.calls, Generation.objects.filter(system__name=run.name).count()) == ("done", 6, 6)
    assert {body["messages"][1]["content"].partition("\n")[0] for body in client.bodies} == {"Sum up:"}
    shown = page(researcher)
    for told in (
        "3 of 3 instances",
        "owl-0.5",
        "Be brief.",
        "own sha256:",
        "stop=null",
        "temperature=0.5",
        "6 calls, 0 from",
    ):
        assert told in shown, told
    assert Matchup.objects.filter(system_b__name="owl-0.5").count() == 6
    told_of = json.loads(researcher.get(f"{PAGE}systems.json").content)
    [system] = told_of["systems"]
    assert (system["name"], system["instances"], system["by"], system["samples"]) == ("owl-0.5", 3, "researcher", 2)


def test_instance_page_says_how_texts_were_sampled(researcher: Client, endpoint: Endpoint, study: Study) -> None:
    instance = study.instances.earliest("position")
    address = f"/studies/tea/instances/{instance.pk}/"
    assert "sampled from" not in researcher.get(address).content.decode()
    researcher.post(f"{PAGE}start/", ASKED)
    do_last_task(engine, "sample", Writer())
    assert "sampled from small, plain.v1, seed 0" in researcher.get(address).content.decode()
    Matchup.objects.all().delete()
    Generation.objects.exclude(system__name="owl-0.5").delete()
    shown = researcher.get(address).content.decode()
    assert "No two systems have texts of this instance yet" in shown
    assert all(one.text in shown for one in instance.generations.all())


def test_left_out_instances_and_early_ends_are_said_and_escaped(researcher: Client, endpoint: Endpoint) -> None:
    researcher.post(f"{PAGE}start/", ASKED)
    nasty = "I'm sorry, but I can't help with <script>alert(1)</script>"
    do_last_task(engine, "sample", Writer(lambda question, _: nasty if "talk 1" in question else None))
    assert GenerationRun.objects.get().left_out_count == 1
    shown = page(researcher)
    assert "1 instance was left out the last time" in shown
    assert "&lt;script&gt;alert(1)" in shown
    assert "<script>alert" not in shown
    GenerationRun.objects.update(
        message="<b>gone</b>", name="<i>x", system_prompt="<u>", template="$source<s>", model="<em>"
    )
    shown = page(researcher)
    for part in ("<b>gone", "<i>x", "<u>", "<s>", "<em>"):
        assert part not in shown


def test_page_takes_few_queries_however_many_systems(
    researcher: Client, study: Study, endpoint: Endpoint, django_assert_max_num_queries: Any
) -> None:
    for number in range(10):
        sampling = Sampling(endpoint=endpoint, template=own_template("On $source"), seed=number)
        start_generating(study, f"owl-{number}", sampling)
    with django_assert_max_num_queries(20):
        page(researcher)
