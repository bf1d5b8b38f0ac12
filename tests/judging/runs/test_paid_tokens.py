"""What a run has spent at endpoints that count tokens in their own ways: reasoning apart, nothing at all, or a price."""

from decimal import Decimal
from typing import Any

import pytest

from annotation.core.tasks.stopping import StopFlag
from judging.models import Completion, JudgeRun
from judging.runs.estimates import estimate
from judging.runs.execution import ExecutionResult, execute
from judging.runs.services import start_run
from judging.runs.usage import usage_of
from tests.judging.builders import make_endpoint, make_judge, make_study
from tests.standin.process import StandInProcess

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

CAP = Decimal("0.03")
REASONING = 2000
BESIDE = ["beside", "total", "none"]


def make_run(standin: StandInProcess, *, currency: str = "USD", **settings: Any) -> JudgeRun:
    """Queue a run of 60 cells at an endpoint with the prices of 1 and 2 a million tokens."""
    endpoint = make_endpoint(standin.base_url, price_prompt=1, price_completion=2, currency=currency)
    judge = make_judge(endpoint=endpoint, params=settings.pop("params", {}))
    return start_run(study=make_study(instances=30, k=2), judge=judge, **settings)


def work_on(run: JudgeRun) -> ExecutionResult:
    return execute(run.pk, stop=StopFlag())


def true_bill() -> Decimal:
    """Return the price of everything that the stand-in counted."""
    rows = [one["usage"] for one in Completion.objects.values_list("response", flat=True)]
    written = sum(one["total_tokens"] - one["prompt_tokens"] for one in rows)
    return (sum(one["prompt_tokens"] for one in rows) + 2 * written) / Decimal(1_000_000)


@pytest.mark.parametrize("reasoning_in", ["within", *BESIDE])
def test_cap_holds_wherever_reasoning_is_counted(standin: StandInProcess, reasoning_in: str) -> None:
    standin.behave(reasoning=REASONING, reasoning_in=reasoning_in)
    run = make_run(standin, max_cost=CAP)
    assert work_on(run).status == JudgeRun.Status.PAUSED
    assert CAP / 2 < true_bill() <= CAP
    assert usage_of(run.judgments.all(), "USD").priced == true_bill()
    expected = estimate(study=run.study, judge=run.judge)  # which has learnt it
    assert expected.completion_tokens > REASONING * expected.calls


def test_a_limit_that_reasoning_passes_is_not_relied_on(standin: StandInProcess) -> None:
    standin.behave(reasoning=REASONING, reasoning_in="beside")
    run = make_run(standin, max_cost=CAP, in_flight=1, params={"max_tokens": 300})
    assert work_on(run).status == JudgeRun.Status.PAUSED
    assert CAP / 2 < true_bill() <= CAP


def test_counts_of_zero_are_unknown_and_stop_a_run_with_a_cap(standin: StandInProcess) -> None:
    standin.behave(no_counts=True)
    run = make_run(standin, max_cost=Decimal("0.001"), in_flight=1)
    assert work_on(run).status == JudgeRun.Status.FAILED
    spent = usage_of(run.judgments.all(), "USD")
    assert (spent.calls, spent.prompt_tokens, spent.cost) == (1, None, None)


@pytest.mark.parametrize(("currency", "counts"), [("USD", True), ("EUR", False)])
def test_price_that_the_endpoint_names_is_spent_in_its_currency(
    standin: StandInProcess, currency: str, counts: bool
) -> None:
    standin.behave(billed=0.004)
    run = make_run(standin, currency=currency, max_cost=Decimal("0.0205"), in_flight=1)
    work_on(run)
    spent = usage_of(run.judgments.all(), currency)
    assert (spent.priced == Decimal("0.004") * spent.calls) == counts
    assert (spent.calls == 5) == counts
