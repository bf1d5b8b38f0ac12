"""Asking outside of a judge's run: what is asked how often, what it costs, and how it resumes after a stop."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from annotation.core.errors import Interrupted
from annotation.core.tasks.stopping import StopFlag
from judging.calls.adhoc import AdhocProcedure, ProcedureResult, run_procedure
from judging.calls.dry_run import estimate_procedure
from judging.calls.requests import AdhocRequests, Requests
from judging.core.constants import REJECTED, TOO_LONG
from judging.core.errors import (
    AccessDenied,
    BadSettings,
    CapReached,
    RejectedCall,
    RunStopped,
    TransientFailure,
    UnparsedVerdict,
)
from judging.endpoints.retrying import RetryingClient, RetryPolicy
from judging.methods import Call, Reply
from judging.models import Completion, Endpoint
from tests.fakes import Body, ScriptedClient, chat_completion
from tests.judging.builders import make_endpoint, make_judge, no_sleep
from tests.judging.methods.procedures import asking

pytestmark = [pytest.mark.django_db, pytest.mark.engine]
PRICES = {"price_prompt": Decimal("1"), "price_completion": Decimal("2")}
COST = Decimal("0.000025")  # 11 tokens sent and 7 written, as every answer of the fakes


def word(reply: Reply) -> str:
    if " " in reply.text.strip() or not reply.text:
        raise UnparsedVerdict(f"not one word: {reply.text}")
    return reply.text.strip()


def question(text: str, **settings: Any) -> Call:
    return Call("aspects", [{"role": "user", "content": text}], word, **{"example": "word", **settings})


def procedure(*rounds: Sequence[Call]) -> AdhocProcedure[list[Any]]:
    """Ask some rounds of questions; the result is all values."""
    values: list[Any] = []
    for calls in rounds:
        values += yield calls
    return values


def asked(*texts: str, **settings: Any) -> Sequence[Call]:
    return [question(text, **settings) for text in texts]


@pytest.fixture
def endpoint() -> Endpoint:
    return make_endpoint(**PRICES)


def held(
    procedure: AdhocProcedure[Any], endpoint: Endpoint, client: ScriptedClient, **settings: Any
) -> ProcedureResult[Any]:
    patient = RetryPolicy(attempts=2)
    return run_procedure(
        procedure,
        endpoint=endpoint,
        make_client=lambda _endpoint: RetryingClient(client, sleep=no_sleep, policy=patient),
        **settings,
    )


def test_rounds_are_asked_one_after_the_other_and_answers_stored(endpoint: Endpoint) -> None:
    client = ScriptedClient(["one", "two", "three"])
    found = held(procedure(asked("a", "b"), asked("c")), endpoint, client, in_flight=1)
    assert found.result == ["one", "two", "three"]
    assert [body["messages"][0]["content"] for body in client.bodies] == ["a", "b", "c"]
    assert (found.usage.calls, found.usage.cached, found.usage.failed) == (3, 0, 0)
    assert (found.usage.total.prompt_tokens, found.usage.total.completion_tokens) == (33, 21)
    assert found.usage.total.cost == 3 * COST
    assert Completion.objects.filter(kind="aspects", cost=COST).count() == 3
    assert client.closed


@pytest.mark.any_engine
def test_names_in_the_cache_are_those_of_a_judges_requests() -> None:
    judge = make_judge()
    assert judge.endpoint is not None
    call = replace(question("a"), reusable=True)
    theirs = Requests(judge, asking("direct")).request(call, repeat=0, attempt=1)
    assert AdhocRequests(judge.endpoint).request(call, repeat=0, attempt=1).key == theirs.key


@pytest.mark.any_engine
def test_same_question_twice_in_a_round_is_asked_once(endpoint: Endpoint) -> None:
    client = ScriptedClient(["one"])
    assert held(procedure(asked("a", "a")), endpoint, client).result == ["one", "one"]
    assert len(client.bodies) == 1


@pytest.mark.any_engine
def test_unreadable_answer_is_asked_again_with_another_seed(endpoint: Endpoint) -> None:
    client = ScriptedClient(["not one", "not two", "three"])
    found = held(procedure(asked("a")), endpoint, client)
    assert (found.result, found.usage.calls) == (["three"], 3)
    assert len({body["seed"] for body in client.bodies}) == 3
    assert held(procedure(asked("a")), endpoint, ScriptedClient()).usage.cached == 3


@pytest.mark.any_engine
def test_question_that_is_needed_ends_it(endpoint: Endpoint) -> None:
    with pytest.raises(UnparsedVerdict, match="not one word: not one"):
        held(procedure(asked("a")), endpoint, ScriptedClient(then="not one"))
    assert Completion.objects.count() == 3


def test_refusal_is_kept_and_never_reused(endpoint: Endpoint) -> None:
    found = held(procedure(asked("a", optional=True)), endpoint, ScriptedClient(then="I'm sorry, but I can't do that."))
    assert (found.result, found.usage.calls) == ([None], 1)
    assert Completion.objects.get().cache_key is None
    with pytest.raises(UnparsedVerdict, match="the model declined: I'm sorry"):
        held(procedure(asked("a")), endpoint, ScriptedClient(then="I'm sorry, but I can't do that."))


@pytest.mark.any_engine
@pytest.mark.parametrize(
    ("failure", "told"),
    [
        pytest.param(AccessDenied("HTTP 401"), "refuses access: HTTP 401", id="wrong key"),
        pytest.param(TransientFailure("busy"), r"got no answer: busy \(tried 2 times\); starting again", id="busy"),
        pytest.param(RejectedCall("HTTP 400"), "got no answer: HTTP 400", id="rejected"),
    ],
)
def test_failure_ends_it_and_what_was_answered_is_kept(endpoint: Endpoint, failure: Exception, told: str) -> None:
    with pytest.raises(RunStopped, match=told):
        held(procedure(asked("a", "b")), endpoint, ScriptedClient(["one", failure, failure]), in_flight=1)
    client = ScriptedClient(["two"])
    assert held(procedure(asked("a", "b")), endpoint, client).result == ["one", "two"]
    assert len(client.bodies) == 1


@pytest.mark.any_engine
def test_rejected_question_is_gone_without_where_it_is_optional(endpoint: Endpoint) -> None:
    client = ScriptedClient(["one", RejectedCall("too long"), "three"])
    found = held(procedure(asked("a", "b", "c", optional=True)), endpoint, client, in_flight=1)
    assert (found.result, found.usage.failed) == (["one", None, "three"], 1)


@pytest.mark.any_engine
@pytest.mark.slow
@pytest.mark.parametrize("cause", [TOO_LONG, REJECTED])
def test_rejections_of_requests_alone_stop_nothing(endpoint: Endpoint, cause: str) -> None:
    client = ScriptedClient([*[RejectedCall("HTTP 400: odd", cause=cause)] * 150, "last"])
    found = held(procedure(asked(*map(str, range(151)), optional=True)), endpoint, client, in_flight=1)
    assert (len(client.bodies), found.usage.failed) == (151, 150)


@pytest.mark.any_engine
@pytest.mark.parametrize("number", [1, 3])
def test_optional_questions_of_which_none_got_an_answer_end_it(endpoint: Endpoint, number: int) -> None:
    client = ScriptedClient([RejectedCall("HTTP 400: temperature")] * number)
    with pytest.raises(RunStopped, match="got no answer: HTTP 400: temperature"):
        held(procedure(asked(*"abc"[:number], optional=True)), endpoint, client)


@pytest.mark.any_engine
def test_endpoint_that_is_gone_ends_it_at_once(endpoint: Endpoint) -> None:
    client = ScriptedClient(["one", *[RejectedCall("HTTP 404", request_only=False)] * 9])
    with pytest.raises(RunStopped, match="got no answer: HTTP 404"):
        held(procedure(asked(*"abcdef", optional=True)), endpoint, client, in_flight=1)
    assert len(client.bodies) == 2


def test_answers_of_no_use_are_paid_for_and_asked_again_twice(endpoint: Endpoint) -> None:
    endpoint.price_prompt = endpoint.price_completion = Decimal(1000)  # 0.018 a call
    empty = {**chat_completion("one"), "choices": []}
    found = held(procedure(asked("a")), endpoint, ScriptedClient([empty, empty, "one"]))
    assert (found.result, found.usage.calls, found.usage.total.cost) == (["one"], 3, Decimal("0.054"))
    client = ScriptedClient([empty] * 9)
    with pytest.raises(CapReached, match=r"0\.0360 USD spent"):
        held(procedure(asked("b")), endpoint, client, max_cost=Decimal("0.04"))
    assert len(client.bodies) == 2
    with pytest.raises(RunStopped, match="without a choice"):
        held(procedure(asked("b")), endpoint, client)
    assert (len(client.bodies), Completion.objects.filter(cache_key=None).count()) == (5, 7)


@pytest.mark.any_engine
def test_host_is_checked_before_anything_is_sent(settings: Any) -> None:
    client = ScriptedClient()
    with pytest.raises(RunStopped, match="host is not public") as told:
        held(procedure(asked("a")), make_endpoint("http://10.0.0.7/v1"), client)
    assert "10.0.0.7" not in str(told.value)
    with pytest.raises(BadSettings, match="give the name of an environment variable"):
        held(procedure(asked("a")), make_endpoint(name="other", key_env="DATABASE_URL"), client)
    assert not client.bodies


def test_cap_is_kept_and_a_higher_one_resumes(endpoint: Endpoint) -> None:
    endpoint.price_prompt = endpoint.price_completion = Decimal(1000)  # 0.018 a call
    client = ScriptedClient(then="one")
    texts = [f"question {number}" for number in range(10)]
    with pytest.raises(CapReached, match=r"the cap of 0\.0500 USD is reached: 0\.0360 USD spent"):
        held(procedure(asked(*texts)), endpoint, client, in_flight=1, max_cost=Decimal("0.05"))
    assert len(client.bodies) == 2
    more = held(procedure(asked(*texts)), endpoint, client, max_cost=Decimal(1))
    assert (more.usage.calls, more.usage.cached, len(client.bodies)) == (8, 2, 10)


def test_what_was_paid_since_counts_towards_the_cap(endpoint: Endpoint) -> None:
    endpoint.price_prompt = endpoint.price_completion = Decimal(1000)
    held(procedure(asked("old")), endpoint, ScriptedClient(["one"]))
    since = timezone.now()
    held(procedure(asked("a", "b")), endpoint, ScriptedClient(["one", "two"]))
    client = ScriptedClient(then="three")
    with pytest.raises(CapReached):
        held(procedure(asked("old", "a", "b", "c")), endpoint, client, since=since, max_cost=Decimal("0.036"))
    assert not client.bodies
    found = held(procedure(asked("old", "a", "b", "c")), endpoint, client, since=since, max_cost=Decimal(1))
    assert (found.usage.calls, found.usage.cached) == (3, 1)
    assert found.usage.total.cost == Decimal("0.054")


@pytest.mark.any_engine
def test_cap_needs_prices() -> None:
    with pytest.raises(BadSettings, match="prices of endpoint stand-in are unknown"):
        held(procedure(asked("a")), make_endpoint(), ScriptedClient(), max_cost=Decimal(1))


def test_forecast_counts_what_is_asked_and_what_is_there(endpoint: Endpoint) -> None:
    held(procedure(asked("a")), endpoint, ScriptedClient(["one"]))
    found = estimate_procedure(
        procedure(asked("a", "b"), asked("c")), endpoint=endpoint, requests=AdhocRequests(endpoint)
    )
    assert (found.calls, found.cached) == (2, 1)
    assert found.cost == (found.prompt_tokens + 2 * found.completion_tokens) / Decimal(1_000_000)
    assert found.as_dict()["kinds"][0]["kind"] == "aspects"


@pytest.mark.any_engine
def test_forecast_knows_that_an_unreadable_answer_was_given_up(endpoint: Endpoint) -> None:
    held(procedure(asked("a", optional=True)), endpoint, ScriptedClient(then="not one"))
    found = estimate_procedure(
        procedure(asked("a", optional=True)), endpoint=endpoint, requests=AdhocRequests(endpoint)
    )
    assert (found.calls, found.cached) == (0, 3)


@pytest.mark.any_engine
def test_stop_is_heeded_between_calls(endpoint: Endpoint) -> None:
    stop = StopFlag()

    class Stopping(ScriptedClient):
        async def complete(self, body: Body) -> Any:
            if len(self.bodies) == 1:
                stop.set()
            return await super().complete(body)

    with pytest.raises(Interrupted):
        held(procedure(asked(*"abcdefgh")), endpoint, Stopping(then="one"), in_flight=1, stop=stop)
    assert 1 <= Completion.objects.count() <= 2
