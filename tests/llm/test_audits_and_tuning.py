"""A judge over a real small model, stress-tested and tuned: mechanics only, what it falls for or agrees with is no matter."""

import json
from typing import Any

import pytest
from django.core.management import call_command

from judging.audits.stress import CHANGES, PLAIN
from judging.models import AuditAnswer, Completion, Endpoint, Judge, JudgeTuning, Judgment
from tests.judging.tuning.test_tuning import make_voted_study
from tests.llm.conftest import SmallModel

INSTANCES, HELD_OUT = 16, 5  # the fewest that a judge can be tuned on, and one more
PAIRS = 2  # of the stress test
BUDGET = 2 * (INSTANCES - HELD_OUT) + 2 * HELD_OUT  # presentations: two candidates on all instances
JUDGE = [("verdict_schema", "auto"), ("max_tokens", 40)]


@pytest.fixture
def voted(transactional_db: None, small_model: SmallModel, key_name: str, settings: Any) -> SmallModel:
    """A study with votes, and a judge that asks the model; returns the server."""
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    make_voted_study(INSTANCES)
    call_command("add_endpoint", "small", base_url=small_model.base_url, model="smollm2", key_env=key_name, timeout=600)
    call_command("test_endpoint", "small")
    assert Endpoint.objects.get().supports["json_schema"] is True
    call_command("add_judge", "first", method="pairwise", endpoint="small", order="random", seed=7, param=JUDGE)
    return small_model


def said(capsys: pytest.CaptureFixture[str], command: str, **options: Any) -> dict[str, Any]:
    """Run a command on the study, and return its JSON."""
    capsys.readouterr()
    call_command(command, "tea", judge="first", format="json", **options)
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def test_stress_test_of_a_small_model_ends_and_asks_nothing_twice(
    voted: SmallModel, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {"sample": PAIRS, "seed": 1}
    before = voted.tokens()
    priced = said(capsys, "audit_judge", **asked, estimate=True)
    assert voted.tokens() == before
    told = said(capsys, "audit_judge", **asked, run=True, in_flight=2)

    assert (told["pairs"], told["open"], told["unread"]["error"]) == (PAIRS, 0, 0)
    assert told["answers"] == priced["pending"] == AuditAnswer.objects.count()
    assert [one["change"] for one in told["changes"]] == list(CHANGES)
    assert all(one["asked"] + one["not_made"] == PAIRS for one in told["changes"])
    read = AuditAnswer.objects.filter(status=Judgment.Status.PARSED)
    assert read.filter(change=PLAIN).count() == PAIRS
    assert read.count() + sum(told["unread"].values()) == told["answers"]
    assert told["calls"] == Completion.objects.count() >= priced["calls"] > 0

    done = voted.tokens()
    assert said(capsys, "audit_judge", **asked, run=True) == told
    assert said(capsys, "audit_judge", **asked) == told
    assert said(capsys, "audit_judge", **asked, estimate=True)["calls"] == 0
    assert voted.tokens() == done


def test_tuning_on_a_small_model_ends_within_its_budget_and_asks_nothing_twice(
    voted: SmallModel, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {"budget": BUDGET, "method": ["pairwise-tie"], "shots": [], "held_out": HELD_OUT / INSTANCES}
    before = voted.tokens()
    priced = said(capsys, "tune_judge", **asked, estimate=True)
    assert voted.tokens() == before
    assert (priced["candidates"], priced["held_out"], priced["presentations"]) == (2, HELD_OUT, BUDGET)
    told = said(capsys, "tune_judge", **asked, in_flight=2)

    assert (told["status"], told["tuned"], len(told["found"]["tried"])) == ("done", "first-tuned", 2)
    cells = Judgment.objects.all()
    assert 0 < cells.count() <= BUDGET
    assert not cells.filter(status__in=[Judgment.Status.PENDING, Judgment.Status.ERROR]).exists()
    assert cells.filter(status=Judgment.Status.PARSED).count() == cells.count()
    held = told["found"]["held_out"]
    assert (held["instances"], held["tuned"]["n"], held["untuned"]["n"]) == (HELD_OUT, 3 * HELD_OUT, 3 * HELD_OUT)
    assert held["people"]["value"] == 1.0
    plan, tuned = JudgeTuning.objects.get().plan, Judge.objects.get(name="first-tuned")
    assert set(plan["choosing"]).isdisjoint(plan["held_out"])
    assert len(tuned.tuned["instances"]) == INSTANCES - HELD_OUT

    done = voted.tokens()
    assert said(capsys, "tune_judge", **asked) == told
    assert voted.tokens() == done
