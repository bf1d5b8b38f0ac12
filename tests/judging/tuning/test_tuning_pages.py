"""The page of tunings: the price beforehand, starting, progress, the result and its provenance."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Study
from judging.models import Judge, JudgeTuning
from tests.judging.builders import make_endpoint, make_judge
from tests.judging.tuning.test_tuning import make_voted_study, search

pytestmark = pytest.mark.django_db


def store() -> Study:
    return make_voted_study(30)


@pytest.fixture
def judge() -> Judge:
    return make_judge("direct", endpoint=make_endpoint(price_prompt=1, price_completion=1), order="random")


def address(name: str) -> str:
    return reverse(f"judging:{name}", args=["tea"])


def given(**more: Any) -> dict[str, Any]:
    asked = {
        "judge": "judy",
        "budget": 200,
        "methods": ["direct", "pairwise"],
        "held_out": 0.5,
        "seed": 0,
        "in_flight": 2,
    }
    return {**asked, **more}


@pytest.mark.slow
def test_a_tuning_is_started_shown_and_its_judge_offered(researcher: Client, judge: Judge) -> None:
    assert researcher.post(address("start-tuning"), given(budget=10)).status_code == 422
    answer = researcher.post(address("start-tuning"), given(max_cost="5"))
    assert (answer.status_code, answer["Location"]) == (302, address("tunings"))
    tuning = JudgeTuning.objects.get()
    assert (tuning.name, tuning.status, tuning.max_cost, tuning.in_flight) == ("judy-tuned", "queued", Decimal(5), 2)
    search(tuning).work()
    done = researcher.get(address("tunings")).content.decode()
    for text in (
        "On the held-out instances alone (15 instances; 15 pairs)",
        "100.0%",
        "stays as it is",
        "?judge=judy-tuned",
    ):
        assert text in done, text
    assert done.index("On the held-out") < done.index("These numbers are too high")
    judges = researcher.get(reverse("judging:judges", args=["tea"])).content.decode()
    assert "judy-tuned-try0" not in judges
    assert 'value="judy-tuned"' in judges
