"""The page that makes comparison tables: an estimate first, then a run that a worker takes up."""

from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.models import ComparisonTable, Study
from judging.models import AspectSet, Completion, Judge, JudgeRun
from tests.judging.builders import make_endpoint, make_study
from tests.standin.process import StandInProcess

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
FORM = {"endpoint": "stand-in", "samples": "3", "scheme": "tournament", "aspects": "offline", "in_flight": "4"}


@pytest.fixture
def study(standin: StandInProcess) -> Study:
    make_endpoint(standin.base_url)
    return make_study(instances=2, k=1)


def send(researcher: Client, name: str = "make-tables", **changes: str) -> Any:
    return researcher.post(reverse(f"judging:{name}", args=["tea"]), {**FORM, **changes})


def test_page_offers_the_endpoints_and_names_the_aspects(researcher: Client, study: Study) -> None:
    AspectSet.objects.create(group=study.group, task=study.task_kind, version=3, aspects=["<b>kind</b>ness", "rhythm"])
    page = researcher.get(reverse("judging:make-tables", args=["tea"])).content.decode()
    assert '<option value="stand-in" selected>' in page
    assert "&lt;b&gt;kind&lt;/b&gt;ness" in page
    assert f"{study.task_kind}.v3" in page


def test_estimate_comes_first_and_makes_nothing(researcher: Client, standin: StandInProcess) -> None:
    answer = send(researcher)
    assert answer.status_code == 200
    assert "<strong>12 calls</strong>" in answer.content.decode()  # 3 tables, 2 comparisons and a choice for each of 2
    assert reverse("judging:start-tables", args=["tea"]) in answer.content.decode()
    assert not Judge.objects.exists()
    assert not JudgeRun.objects.exists()
    assert standin.stats()["calls"] == 0


@pytest.mark.django_db(transaction=True)
@pytest.mark.any_engine
def test_started_run_is_done_by_a_worker_and_hands_its_tables_on(researcher: Client) -> None:
    answer = send(researcher, "start-tables", variant="mine")
    run = JudgeRun.objects.get()
    assert answer.headers["Location"] == reverse("judging:run", args=["tea", run.pk])
    assert (run.tables_as, run.status, run.in_flight) == ("mine", "queued", 4)
    call_command("worker", "--batch")
    run.refresh_from_db()
    assert run.status == "done"
    assert ComparisonTable.objects.filter(variant="mine").count() == 2
    asked = Completion.objects.count()
    assert send(researcher, "start-tables", variant="mine").status_code == 302
    call_command("worker", "--batch")
    assert Completion.objects.count() == asked
    assert Judge.objects.count() == JudgeRun.objects.count() == 1


@pytest.mark.parametrize(
    ("name", "changes"),
    [("make-tables", {"samples": "3", "budget": "15"}), ("start-tables", {"params": "scheme=exact"})],
)
def test_wrong_input_is_said_at_the_form_and_starts_nothing(
    researcher: Client, name: str, changes: dict[str, str]
) -> None:
    answer = send(researcher, name, **changes)
    assert answer.status_code == 422
    assert not JudgeRun.objects.exists()
