"""Every method at endpoints that misbehave: what was not answered is no verdict, and is asked again after a repair."""

from collections import Counter
from collections.abc import Iterable
from itertools import cycle
from typing import Any

import pytest

from annotation.core.tasks.stopping import StopFlag
from annotation.models import Study
from judging.endpoints.client import OpenAIClient
from judging.endpoints.retrying import RetryingClient
from judging.methods import AskingMethod, find_method, method_names
from judging.models import Completion, Judge, Judgment
from judging.runs.execution import ExecutionResult, execute
from judging.runs.services import start_run
from judging.runs.usage import usage_of
from tests.judging.builders import make_endpoint, make_judge, make_study, no_sleep
from tests.standin.chat import THOUGHTS
from tests.standin.process import StandInProcess

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
# One method of each kind: a call, samples, scores, calls that build on others, a function, tables. Then all others.
KINDS = ("direct", "self-consistency", "pointwise", "prepair-star", "ranked-function", "sc2")
METHODS = list(
    dict.fromkeys((*KINDS, *(name for name in method_names() if isinstance(find_method(name), AskingMethod))))
)
# Few calls of each kind, and several of those that a method can do without.
OPTIONS: dict[str, dict[str, Any]] = {
    "sc2": {"samples": 3, "aspects": "online", "aspect_samples": 2, "verdicts": 2},
    "self-consistency": {"samples": 3},
}
CELLS = 2
NO_ANSWER = {
    "dead": {"missing": ["chat"]},
    "no temperature": {"rejects": ["temperature"]},
    "no choices": {"no_choices": 1},
    "error body": {"error_body": 1},
    "error body for a while": {"error_body": 1, "error_code": "rate_limit_exceeded"},
}


def of_methods(*further: Iterable[Any]) -> list[Any]:
    """Return a case of each method with one of each of `further`; `make test` has one method of each kind."""
    cases = zip(METHODS, *further, strict=False)
    return [pytest.param(*case, marks=() if case[0] in KINDS else pytest.mark.weekly) for case in cases]


@pytest.fixture
def judge(standin: StandInProcess, request: pytest.FixtureRequest) -> Judge:
    """Make a judge with the method of the test; its endpoint's prices tell what was spent."""
    make_study(instances=1, k=CELLS)
    endpoint = make_endpoint(standin.base_url, price_prompt=1000, price_completion=1000)
    method = request.param
    return make_judge(method, endpoint=endpoint, params=OPTIONS.get(method, {}))


def work(judge: Judge) -> ExecutionResult:
    """Start the judge's run, or start it again, without waiting between tries."""
    run = start_run(study=Study.objects.get(), judge=judge, in_flight=4)
    return execute(
        run.pk, stop=StopFlag(), make_client=lambda endpoint: RetryingClient(OpenAIClient(endpoint), sleep=no_sleep)
    )


def statuses() -> Counter[str]:
    return Counter(Judgment.objects.values_list("status", flat=True))


# Each method at one of these endpoints, and each endpoint with methods: the whole product tells no more.
@pytest.mark.parametrize(("judge", "how"), of_methods(cycle(NO_ANSWER)), indirect=["judge"])
def test_no_answer_is_no_verdict_and_is_asked_again_after_a_repair(
    judge: Judge, how: str, standin: StandInProcess
) -> None:
    standin.behave(**NO_ANSWER[how])
    work(judge)
    assert set(statuses()) <= {"error", "pending"}
    standin.reset()
    ended = work(judge)
    assert (ended.status, statuses()) == ("done", {"parsed": CELLS})
    calls = standin.stats()["calls"]
    work(judge)
    assert (standin.stats()["calls"], standin.stats()["repeated"]) == (calls, 0)


@pytest.mark.parametrize("judge", of_methods(), indirect=True)
def test_content_in_parts_is_read_without_the_thoughts(judge: Judge, standin: StandInProcess) -> None:
    standin.behave(parts=1)
    ended = work(judge)
    assert (ended.status, statuses()) == ("done", {"parsed": CELLS})
    assert standin.stats()["repeated"] == 0
    assert not Completion.objects.filter(text__contains=THOUGHTS).exists()
    asked_for_function = Completion.objects.filter(request__has_key="tools")
    assert all(THOUGHTS in str(one.response) for one in Completion.objects.exclude(pk__in=asked_for_function))


SAYS_NOTHING = ["declined", "refuse", "thoughts"]


@pytest.mark.parametrize(("judge", "how"), of_methods(cycle(SAYS_NOTHING)), indirect=["judge"])
def test_answers_that_say_nothing_are_no_verdict(judge: Judge, how: str, standin: StandInProcess) -> None:
    standin.behave(**{how: 1})
    assert work(judge).status == "done"
    assert statuses() == {"unparsed" if how == "thoughts" else "refused": CELLS}


@pytest.mark.parametrize(
    ("refused", "unreadable", "status"), [(1, 0, "refused"), (0.1, 0.9, "unparsed"), (0.9, 0.1, "refused")]
)
def test_tables_are_refused_where_the_model_declines_most(
    standin: StandInProcess, refused: float, unreadable: float, status: str
) -> None:
    make_study(instances=1, k=1)
    judge = make_judge("sc2", endpoint=make_endpoint(standin.base_url), params={"samples": 20})
    standin.behave(refuse=refused, unreadable=unreadable, seed=1)
    assert work(judge).status == "done"
    assert statuses() == {status: 1}
    assert 0 < standin.stats()["outcomes"]["refuse"] <= 20


@pytest.mark.parametrize("judge", of_methods(), indirect=True)
def test_calls_and_money_are_those_that_the_endpoint_served(judge: Judge, standin: StandInProcess) -> None:
    standin.behave(no_choices=0.3, declined=0.1, thoughts=0.1, parts=0.2, error_body=0.1)
    work(judge)
    work(judge)
    spent = usage_of(Judgment.objects.all(), "USD")
    assert spent.calls == standin.stats()["answered"] == Completion.objects.count()
    every = Completion.objects.values_list("prompt_tokens", "completion_tokens", "cost")
    assert (spent.prompt_tokens, spent.completion_tokens, spent.cost) == tuple(map(sum, zip(*every, strict=True)))
