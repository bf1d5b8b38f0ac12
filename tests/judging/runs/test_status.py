"""What came of runs and what they took, as the command says it."""

import json
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.core.tasks.stopping import StopFlag
from judging.runs.execution import execute
from judging.runs.services import start_run
from tests.judging.builders import make_endpoint, make_judge, make_study
from tests.standin.process import StandInProcess

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]
PRICES = {"price_prompt": Decimal("1"), "price_completion": Decimal("2")}


def run(study: Any, method: str = "direct", **settings: Any) -> None:
    assert execute(start_run(study=study, judge=make_judge(method, **settings)).pk, stop=StopFlag()).status == "done"


def status(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    call_command("run_status", "tea", *arguments, "--format", "json")
    return json.loads(capsys.readouterr().out)


@pytest.mark.any_engine
def test_tokens_and_money_are_those_of_the_answers(standin: StandInProcess, capsys: pytest.CaptureFixture[str]) -> None:
    endpoint = make_endpoint(standin.base_url, **PRICES)
    study = make_study()
    run(study, "prepair", endpoint=endpoint)
    told = status(capsys, "--judge", "judy")
    assert told["tokens"] == told["prompt_tokens"] + told["completion_tokens"] > 0
    assert told["cost"] == pytest.approx((told["prompt_tokens"] + 2 * told["completion_tokens"]) / 1e6)
    assert told["cost_per_verdict"] == pytest.approx(told["cost"] / 6)
    assert {kind["kind"]: kind["answers"] for kind in told["calls_by_kind"]} == {"critique": 12, "verdict": 6}
    assert sum(kind["prompt_tokens"] for kind in told["calls_by_kind"]) == told["prompt_tokens"]
    run(study, "prepair", endpoint=endpoint, name="jack", seed=8)
    again = status(capsys, "--judge", "jack")
    assert (again["calls"], again["cached"], again["calls_per_verdict"]) == (6, 12, 1)


def test_runs_are_added_up_by_procedure(standin: StandInProcess, capsys: pytest.CaptureFixture[str]) -> None:
    study, endpoint = make_study(), make_endpoint(standin.base_url, **PRICES)
    for number, method in enumerate(["direct", "direct", "coin"]):
        more: dict[str, Any] = {"endpoint": endpoint} if method == "direct" else {}
        run(study, method, name=f"j{number}", seed=number, **more)
    told = status(capsys)
    assert [(one["method"], one["judges"], one["asked"]) for one in told["procedures"]] == [
        ("coin", 1, 6),
        ("direct", 2, 12),
    ]
    assert len(told["runs"]) == 3
    direct = told["procedures"][1]
    assert direct["cost"] == pytest.approx(sum(one["cost"] for one in told["runs"] if one["method"] == "direct"))


@pytest.mark.any_engine
def test_nothing_to_tell_is_said() -> None:
    make_study()
    make_judge("coin")
    with pytest.raises(CommandError, match="has no runs yet"):
        call_command("run_status", "tea")
    with pytest.raises(CommandError, match="judge judy has no run on tea"):
        call_command("run_status", "tea", judge="judy")
