"""Verdicts by a JSON schema: what is asked and read, and calls to endpoints that take none."""

import json
from contextlib import nullcontext
from typing import Any

import pytest

from analysis.types import Verdict
from judging.calls.session import MIN_START
from judging.core.errors import RejectedCall, UnparsedVerdict
from judging.methods import Presentation, PromptedMethod, Reply, Setting, find_method
from judging.methods.base import SCHEMA_PARAM
from judging.models import Completion, Endpoint, Judgment
from judging.review.replaying import replay
from judging.runs.cells import reparse_run
from judging.runs.estimates import estimate
from tests.fakes import Body, ScriptedClient
from tests.judging.builders import judge_with, make_endpoint, make_judge, make_study

SHOWN = Presentation("summarization", "Which one?", "source", "first", "second", "i0")
SCHEMA = {"verdict_schema": True}


def call_of(method: str, shown: Presentation = SHOWN, **options: Any) -> Any:
    found = find_method(method)
    assert isinstance(found, PromptedMethod)
    return found.verdict_call(shown, Setting(options={**SCHEMA, **options}), {"table": "t"})


@pytest.mark.parametrize(
    ("method", "options", "properties"),
    [
        pytest.param("direct", {}, {"comparison": None, "verdict": ["A", "B"]}, id="reasons first"),
        pytest.param("direct", {"ties": True}, {"comparison": None, "verdict": ["A", "B", "C"]}, id="ties"),
        pytest.param("pairwise", {}, {"verdict": ["A", "B"]}, id="a letter alone"),
        pytest.param("pairwise-tie", {}, {"verdict": ["A", "B", "C"]}, id="a letter alone with ties"),
        pytest.param("sc2", {}, {"comparison": None, "verdict": ["A", "B"]}, id="with a table"),
    ],
)
def test_schema_holds_what_is_on_offer(method: str, options: dict[str, Any], properties: dict[str, Any]) -> None:
    call = call_of(method, **options)
    sent = call.params[SCHEMA_PARAM]["json_schema"]
    assert sent["strict"]
    assert {name: one.get("enum") for name, one in sent["schema"]["properties"].items()} == properties
    assert list(sent["schema"]["properties"]) == sent["schema"]["required"] == list(properties)
    assert "JSON object" in call.messages[0]["content"]
    assert call.read(Reply(call.example)).verdict == Verdict.A
    plain = call.without_schema()
    assert SCHEMA_PARAM not in plain.params
    asked_in_words = call_of(method, **options, verdict_schema=False)
    assert plain.messages == asked_in_words.messages
    assert asked_in_words.plain is None


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        pytest.param('{"comparison": "x", "verdict": "B"}', Verdict.B, id="object"),
        pytest.param('<think>{"verdict": "A"}</think>\n{"verdict": "B"}', Verdict.B, id="after thoughts"),
        pytest.param('```json\n{"comparison": "x", "verdict": "B"}\n```', Verdict.B, id="in a code block"),
        pytest.param("Comparison: x\nPreferred: B", Verdict.B, id="text of an endpoint that ignores schemas"),
        pytest.param('{"comparison": "Preferred: A", "verdict": "B"}', Verdict.B, id="a quoted verdict in the reasons"),
        pytest.param('{"comparison": "x", "verdict": "C"}', None, id="tie that is not offered"),
        pytest.param('{"comparison": "Preferred: A"}', None, id="no verdict, one in the reasons"),
        pytest.param('{"comparison": "x", "verdict": "b"}', None, id="not the letter"),
        pytest.param('{"verdict": "A", "verdict": "B"}', None, id="two verdicts"),
        pytest.param('{"comparison": "so long\nPreferred: A', None, id="cut off"),
        pytest.param('{"verdict": ["B"]}', None, id="a list"),
        pytest.param("", None, id="empty"),
    ],
)
def test_answer_is_read_strictly(text: str, verdict: Verdict | None) -> None:
    with pytest.raises(UnparsedVerdict) if verdict is None else nullcontext():
        assert call_of("direct").read(Reply(text)).verdict == verdict


def test_auto_is_what_the_endpoints_test_found() -> None:
    found = find_method("direct")
    assert isinstance(found, PromptedMethod)
    for offered in (True, False):
        setting = Setting(options={"verdict_schema": "auto"}, verdict_schema=offered)
        assert found.uses_verdict_schema(setting) == offered
        assert ("+verdict-schema.v1+" in found.prompt_version("free", setting)) == offered


class Rejecting(ScriptedClient):
    async def complete(self, body: Body) -> Any:
        if SCHEMA_PARAM in body:
            self.bodies.append(body)
            raise RejectedCall("HTTP 400: response_format is not supported", kind="HTTP 400")
        return await super().complete(body)


@pytest.fixture
def endpoint(db: None) -> Endpoint:
    return make_endpoint(supports={"json_schema": True})


def test_verdicts_are_asked_for_by_schema_where_the_endpoint_has_them(endpoint: Endpoint) -> None:
    judge, study = make_judge(endpoint=endpoint, params={"verdict_schema": "auto"}), make_study(instances=1)
    client = ScriptedClient(then=json.dumps({"comparison": "It is short.", "verdict": "B"}))
    assert judge_with(client, study, judge).status == "done"
    assert all(SCHEMA_PARAM in body for body in client.bodies)
    made = Judgment.objects.all()
    assert {(one.verdict, one.rationale, one.calls) for one in made} == {(1, "It is short.", 1)}
    assert {one.prompt_version for one in made} == {"direct.v2+verdict-schema.v1+summarization.v1"}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["direct", "sc2"])
def test_endpoint_that_rejects_a_schema_is_asked_in_words(endpoint: Endpoint, method: str) -> None:
    table = json.dumps({"rows": [{"aspect": one, "only_a": "x", "both": "", "only_b": ""} for one in ("a", "b")]})
    texts = {"direct": "Preferred: A", "sc2": table}
    params = {"direct": SCHEMA, "sc2": {"samples": 1, "schema": True, "aspects": ["a", "b"], **SCHEMA}}[method]
    judge, study = make_judge(method, endpoint=endpoint, params=params), make_study(instances=20, k=1)
    client = Rejecting(then=lambda body: texts[method] if "only_a" in str(body["messages"]) else "Preferred: A")
    assert judge_with(client, study, judge, in_flight=1).status == "done"
    rejected = [body for body in client.bodies if SCHEMA_PARAM in body]
    assert 1 <= len(rejected) <= MIN_START  # what one call has shown, those prepared after it know
    made = list(Judgment.objects.all())
    assert {(one.verdict, one.status, one.calls) for one in made} == {(-1, "parsed", 1 if method == "direct" else 2)}
    assert not any("verdict-schema" in one.prompt_version for one in made)
    assert all(SCHEMA_PARAM not in one.request for one in Completion.objects.all())
    assert {step.status for step in replay(made[0]).steps} == {"read"}
    # Read again, and started again, nothing is asked and nothing changes.
    Judgment.objects.update(parser_version="older")
    found = find_method(method)
    assert isinstance(found, PromptedMethod)
    assert reparse_run(made[0].run, found) == len(made)
    again = Judgment.objects.all()
    assert {(one.verdict, one.prompt_version) for one in again} == {(-1, made[0].prompt_version)}
    assert estimate(study=study, judge=judge).pending == 0


def test_other_rejections_end_a_cell_after_both_ways(endpoint: Endpoint) -> None:
    judge, study = make_judge(endpoint=endpoint, params=SCHEMA), make_study(instances=1, k=1)
    client = ScriptedClient([RejectedCall("HTTP 400: too long", kind="HTTP 400")] * 2)
    judge_with(client, study, judge)
    [made] = Judgment.objects.all()
    assert (made.status, made.failure.text, len(client.bodies)) == ("error", "HTTP 400: too long", 2)
