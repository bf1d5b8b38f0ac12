"""`plan`: its JSON, its text, its refusals, and the page that explains it."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.factories import make_study, output_of
from tests.howto import text_of

ROOT = Path(__file__).resolve().parent.parent.parent.parent
PAGE = text_of("docs/howto/plan_a_study.md#plan-its-size")

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    return output_of("plan", *arguments)


def test_json_is_one_document_with_inputs_components_and_designs() -> None:
    make_study(pay_per_hit="0.50", currency="EUR", minutes_per_hit=5)
    said = run(
        *("study", "--width", "0.1", "--pairs", "1,5", "--raters", "2,3", "--format", "json"),
        *("--assume-win-rate", "0.6", "--assume-tie-share", "0.2", "--assume-icc-instance", "0.3"),
        *("--judges", "2", "--judge-orders", "2", "--judge-calls-per-pair", "1.5", "--judge-cost-per-call", "0.002"),
    )
    found: dict[str, Any] = json.loads(said)
    assert (found["study"], found["measure"], found["width"], found["level"]) == ("study", "win-rate", 0.1, 0.95)
    assert found["variance"]["assumptions"]["shares"] == {"instance": 0.3, "pair": 0.05, "rater": 0.35}
    # 0.19 * (0.3 + 0.05 / 5 + 0.35 / 2 + 0.3 / 10) = 0.09785; times 1536.58: 150.4.
    five_pairs = found["designs"][2]
    assert (five_pairs["pairs"], five_pairs["raters"], five_pairs["instances"]) == (5, 2, 151)
    assert five_pairs["judge_calls"] == 151 * 5 * 2 * 2 * 1.5
    assert five_pairs["pay"] == 151 * 2 * 0.5
    assert found["cheapest"] == min(found["designs"], key=lambda one: one["cost"])
    assert len(found["designs"]) == 4
    best = found["cheapest"]
    assert found["sentence"].startswith(
        f"{best['instances']} instances × {best['pairs']} pair{'s' * (best['pairs'] > 1)} × {best['raters']} raters"
    )
    assert f"about {best['cost']:,.0f} EUR, interval ± 5 points" in found["sentence"]
    assert run("study").startswith("385 instances × 1 pair × 1 rater = 385 ratings")


@pytest.mark.slow
def test_the_howto_can_be_walked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    commands = [line for block in blocks for line in block.replace("\\\n", " ").strip().splitlines()]
    said = ""
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "./manage.py"
        said += output_of(*arguments)
    shown = [line for block in re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL) for line in block.strip().splitlines()]
    assert len(shown) > 10
    assert [line for line in shown if line.rstrip() not in said] == []
