"""The letters' part of a token's probability: stored with a judgment, whatever came of it, shown and exported."""

import math
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from judging.methods import AskingMethod, find_method
from judging.models import JudgeRun, Judgment
from judging.outcomes.judgment_rows import judgment_rows
from judging.runs.cells import reparse_run
from tests.fakes import ScriptedClient, chat_completion
from tests.judging.builders import judge_with, make_endpoint, make_judge, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def letter(**probabilities: float) -> dict[str, Any]:
    """Write an answer of one token, the likeliest of its alternatives."""
    name = max(probabilities, key=lambda other: probabilities[other])
    listed = [{"token": other, "logprob": math.log(p)} for other, p in probabilities.items()]
    answer = chat_completion(name)
    answer["choices"][0]["logprobs"] = {"content": [{**listed[0], "token": name, "top_logprobs": listed}]}
    return answer


@pytest.fixture
def run() -> JudgeRun:
    """Run a judge on two pairs: one answer is clear, the other one noise."""
    study, judge = make_study(instances=2, k=1), make_judge("token-preference", endpoint=make_endpoint(), order="ab")
    noise = [letter(So=0.7, A=0.2, B=0.05)] * 3
    judge_with(ScriptedClient([letter(A=0.72, B=0.18), *noise]), study, judge, in_flight=1)
    return judge.runs.get()


def test_mass_is_stored_with_a_verdict_and_without_one(run: JudgeRun) -> None:
    rows = run.judgments.order_by("pk").values_list("status", "p_b", "token_mass")
    assert list(rows) == [("parsed", pytest.approx(0.2), pytest.approx(0.9)), ("unparsed", None, pytest.approx(0.25))]
    assert [row["token_mass"] for row in judgment_rows(run.study)] == [pytest.approx(0.9), pytest.approx(0.25)]


def test_a_newer_parser_stores_the_mass_of_stored_answers(run: JudgeRun) -> None:
    cells = run.judgments.all()
    before = list(cells.order_by("pk").values_list("status", "token_mass"))
    cells.update(parser_version="answers.9", token_mass=None)
    method = find_method("token-preference")
    assert isinstance(method, AskingMethod)
    assert reparse_run(run, method) == 2
    assert list(cells.order_by("pk").values_list("status", "token_mass")) == before


@pytest.mark.parametrize("status", ["parsed", "unparsed"])
def test_mass_is_on_the_page_of_a_judgment(run: JudgeRun, admin_client: Client, status: str) -> None:
    judgment = Judgment.objects.get(run=run, status=status)
    page = admin_client.get(reverse("judging:judgment", args=[run.study.slug, judgment.pk]))
    shown = re.search(r'data-fact="token-mass">\s*([0-9.]+)', page.content.decode())
    assert shown is not None
    assert shown[1] == f"{judgment.token_mass:.4f}"
