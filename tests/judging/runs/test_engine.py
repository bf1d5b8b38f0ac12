"""The engine with a scripted client: what is stored, what is asked again, what comes from the cache, what stops it."""

import gc
from typing import Any
from unittest.mock import Mock
from weakref import ref

import pytest

from analysis.types import Verdict
from judging.calls import requests
from judging.calls.engine import carry_out
from judging.calls.requests import MAX_SAMPLES
from judging.calls.session import Session
from judging.core.errors import UnparsedVerdict
from judging.methods import Outcome, find_method
from judging.models import Completion, JudgeRun, Judgment
from judging.runs import execution
from judging.runs.status import count_judgments
from tests.fakes import ScriptedClient, chat_completion
from tests.judging.builders import judge_with, make_endpoint, make_judge, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]
CUT_OFF = chat_completion("Comparison: A is", finish_reason="length")


def counts() -> tuple[int, ...]:
    found = count_judgments(Judgment.objects.all())
    return (found.a, found.tie, found.b, found.unparsed, found.refused, found.errors, found.pending)


def test_every_presentation_is_asked_once_and_stored() -> None:
    client = ScriptedClient(then="Comparison: shorter.\nPreferred: B")
    ended = judge_with(client, make_study(), make_judge())
    assert (ended.status, ended.progress.calls, ended.progress.cached) == ("done", 6, 0)
    assert counts() == (0, 0, 6, 0, 0, 0, 0)
    judgment = Judgment.objects.earliest("pk")
    assert (judgment.rationale, judgment.prompt_version, judgment.parser_version, judgment.calls) == (
        "shorter.",
        "direct.v2+summarization.v1",
        find_method("direct").parser_version,
        1,
    )
    completion = judgment.completions.get()
    assert completion.request == client.bodies[0]
    assert (completion.prompt_tokens, completion.completion_tokens) == (11, 7)
    assert client.closed


def test_nothing_of_a_run_is_left_after_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions: list[ref[Session]] = []

    def noted(session: Session, *others: Any, **more: Any) -> None:
        sessions.append(ref(session))
        carry_out(session, *others, **more)

    monkeypatch.setattr(execution, "carry_out", noted)
    judge = make_judge()
    judge_with(ScriptedClient(), make_study(), judge)
    judge_with(ScriptedClient(), make_study("coffee"), judge)
    gc.collect()
    assert sessions[0]() is None


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"seed": 8}, id="seed"),
        pytest.param({"params": {"temperature": 1}}, id="temperature"),
        pytest.param({"order": "ba"}, id="order"),
    ],
)
@pytest.mark.any_engine
def test_another_request_is_not_answered_from_the_cache(other: dict[str, Any]) -> None:
    study, judge = make_study(instances=1, k=1), make_judge()
    judge_with(ScriptedClient(), study, judge)
    client = ScriptedClient()
    judge_with(client, study, make_judge(name="other", endpoint=judge.endpoint, **other))
    assert len(client.bodies) == 1


@pytest.mark.any_engine
def test_unreadable_answer_is_asked_again_with_another_seed() -> None:
    client = ScriptedClient(["Both are fine.", "Preferred: B"])
    judge_with(client, make_study(instances=1, k=1), make_judge())
    assert counts() == (0, 0, 1, 0, 0, 0, 0)
    first, second = client.bodies
    assert first["messages"] == second["messages"]
    assert first["seed"] != second["seed"]
    assert Judgment.objects.get().calls == 2


def test_answer_that_stays_unreadable_is_stored_as_unparsed() -> None:
    client = ScriptedClient(then="Both are fine.")
    judge_with(client, make_study(instances=1, k=1), make_judge())
    assert len(client.bodies) == MAX_SAMPLES
    assert counts() == (0, 0, 0, 1, 0, 0, 0)
    judgment = Judgment.objects.get()
    assert judgment.verdict is None
    assert (judgment.failure.code, judgment.failure.values["text"]) == ("no_verdict_in", "Both are fine.")
    assert judgment.completions.count() == MAX_SAMPLES


@pytest.mark.parametrize(
    ("answer", "status", "reason"),
    [
        pytest.param(chat_completion("Comparison: A is", finish_reason="length"), "unparsed", "cut off", id="cut off"),
        pytest.param(chat_completion("Preferred: A\n", finish_reason="length"), "parsed", "", id="cut off after it"),
        pytest.param(
            chat_completion("Comparison: alike.\nPreferred: A", finish_reason="length"),
            "unparsed",
            "cut off",
            id="within it",
        ),
        pytest.param(chat_completion("", finish_reason="content_filter"), "refused", "content filter", id="filter"),
        pytest.param(chat_completion(None, refusal="I will not."), "refused", "I will not.", id="refusal field"),
        pytest.param("I'm sorry, I can't help with that.", "refused", "I'm sorry", id="refusal in words"),
        pytest.param("I'm sorry for both.\nPreferred: A", "parsed", "", id="sorry, but with a verdict"),
        pytest.param("", "unparsed", "an empty answer", id="empty"),
    ],
)
@pytest.mark.any_engine
def test_answer_is_stored_under_what_it_is(answer: str | dict[str, object], status: str, reason: str) -> None:
    judge_with(ScriptedClient([answer] * MAX_SAMPLES), make_study(instances=1, k=1), make_judge())
    judgment = Judgment.objects.get()
    assert judgment.status == status
    assert reason in judgment.failure.text


def test_unexpected_error_fails_the_run_and_is_not_hidden() -> None:
    study, judge = make_study(instances=1), make_judge()
    with pytest.raises(ZeroDivisionError):
        judge_with(ScriptedClient([ZeroDivisionError()]), study, judge)
    assert JudgeRun.objects.get().status == "failed"


@pytest.mark.any_engine
def test_better_parser_reads_old_completions_without_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    study, judge = make_study(instances=1, k=1), make_judge(order="ba")
    judge_with(ScriptedClient(then="I choose the first."), study, judge)
    assert counts() == (0, 0, 0, 1, 0, 0, 0)
    direct = type(find_method("direct"))
    monkeypatch.setattr(direct, "parser_version", "direct.2")
    monkeypatch.setattr(direct, "reader", lambda self, shown, setting: lambda reply: Outcome(Verdict.A, "so it is"))
    client = ScriptedClient()
    judge_with(client, study, judge)
    assert client.bodies == []
    found = Judgment.objects.values_list("verdict", "rationale", "parser_version", "calls", "cached").get()
    assert found == (Verdict.B, "so it is", "direct.2", MAX_SAMPLES, 0)


@pytest.mark.parametrize(
    ("answer", "reading", "before", "after"),
    [
        pytest.param("I'm sorry, but the second is awful.", Outcome(Verdict.A), "refused", "parsed", id="better"),
        pytest.param("Preferred: A", UnparsedVerdict("too vague"), "parsed", "unparsed", id="stricter"),
    ],
)
@pytest.mark.any_engine
def test_another_parser_reads_stored_answers_again(
    monkeypatch: pytest.MonkeyPatch, answer: str, reading: Outcome | UnparsedVerdict, before: str, after: str
) -> None:
    study, judge = make_study(instances=1, k=1), make_judge()
    judge_with(ScriptedClient([answer]), study, judge)
    assert Judgment.objects.get().status == before
    direct = type(find_method("direct"))
    monkeypatch.setattr(direct, "parser_version", "direct.2")
    monkeypatch.setattr(direct, "reader", lambda self, shown, setting: Mock(side_effect=[reading]))
    judge_with(ScriptedClient([ZeroDivisionError()]), study, judge)
    assert Judgment.objects.get().status == after


def test_answers_to_another_wording_stay_as_they_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    study, judge = make_study(instances=1, k=1), make_judge()
    judge_with(ScriptedClient(), study, judge)
    direct = type(find_method("direct"))
    monkeypatch.setattr(direct, "parser_version", "direct.2")
    monkeypatch.setattr(direct, "words", lambda *_: {"intro": "Another wording."})
    judge_with(ScriptedClient([ZeroDivisionError()]), study, judge)
    assert Judgment.objects.values_list("verdict", "parser_version").get()[0] == Verdict.A
    assert Judgment.objects.get().parser_version != "direct.2"


@pytest.mark.parametrize(
    "logprobs",
    [
        pytest.param([1], id="a list"),
        pytest.param({"content": [{"token": "A", "logprob": -1, "top_logprobs": 5}]}, id="no list of alternatives"),
        pytest.param({"content": [{"token": "A", "logprob": -(10**400)}]}, id="a number without an end"),
        pytest.param({"content": [{"token": "A", "logprob": float("-inf"), "bytes": float("nan")}]}, id="no numbers"),
    ],
)
@pytest.mark.any_engine
def test_oddly_shaped_answer_is_stored_and_stops_nothing(logprobs: Any) -> None:
    study, judge = make_study(instances=1, k=1), make_judge("token-preference", endpoint=make_endpoint())
    odd = chat_completion("A")
    odd["choices"][0]["logprobs"] = logprobs
    judge_with(ScriptedClient([odd] * MAX_SAMPLES), study, judge)
    assert Judgment.objects.get().status in ("unparsed", "parsed")
    assert Completion.objects.count() == Judgment.objects.get().calls > 0
    judge_with(ScriptedClient([ZeroDivisionError()]), study, judge)  # taken up again, it goes through them once more


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(CUT_OFF, "cut off at the length", id="cut off"),
        pytest.param("a" * (requests.LONGEST_ANSWER + 1), "characters; at most", id="too long to be read"),
    ],
)
@pytest.mark.any_engine
def test_answer_that_would_end_the_same_way_is_asked_for_once(answer: str | dict[str, Any], reason: str) -> None:
    study, judge = make_study(instances=1, k=1), make_judge()
    client = ScriptedClient([answer])
    judge_with(client, study, judge)
    judgment = Judgment.objects.get()
    assert (len(client.bodies), judgment.status, judgment.calls) == (1, "unparsed", 1)
    assert reason in judgment.failure.text


@pytest.mark.any_engine
def test_further_attempts_that_are_stored_still_count(monkeypatch: pytest.MonkeyPatch) -> None:
    study, judge = make_study(instances=1, k=1), make_judge()
    with monkeypatch.context() as patched:
        patched.setattr("judging.calls.cases.recurs", lambda reply: False)  # as before
        judge_with(ScriptedClient([CUT_OFF, CUT_OFF, "Preferred: B"]), study, judge)
    assert counts() == (0, 0, 1, 0, 0, 0, 0)
    client = ScriptedClient()
    judge_with(client, study, make_judge(name="twin", endpoint=judge.endpoint))
    monkeypatch.setattr(type(find_method("direct")), "parser_version", "direct.2")
    judge_with(client, study, judge)
    assert (client.bodies, counts()) == ([], (0, 0, 2, 0, 0, 0, 0))
