"""Testing an endpoint: what is found out, and in which words it is said."""

import json
from functools import partial
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.core.reasons import reason, restored
from annotation.core.tasks.stopping import StopFlag
from judging.core.errors import BadSettings
from judging.endpoints.probing import probe_endpoint
from judging.endpoints.services import shown_features, supported_by
from judging.models import Endpoint, TableMaking
from judging.runs.execution import execute
from judging.runs.judges import add_judge
from judging.runs.services import start_run
from tests.judging.builders import make_endpoint, make_study
from tests.standin.process import StandInProcess

pytestmark = pytest.mark.django_db
EVERYTHING = {"chat", "logprobs", "json_schema", "schema_lengths", "tools", "seed", "n", "batch"}
OF_SCHEMAS = {"json_schema", "schema_lengths"}
IGNORED = {  # reason of a feature whose parameter is taken without effect
    "logprobs": "logprobs_missing",
    "json_schema": "answer_not_json",
    "schema_lengths": "length_broken",
    "tools": "no_function_called",
    "n": "answers_few",
}


def found(standin: StandInProcess, **behaviour: Any) -> dict[str, Any]:
    """Test an endpoint at a stand-in that behaves like that; return what was stored."""
    standin.behave(**{"answer": "random", **behaviour})
    probe_endpoint(make_endpoint(standin.base_url))
    stored: dict[str, Any] = Endpoint.objects.get().supports
    return stored


def test_endpoint_that_supports_everything(standin: StandInProcess) -> None:
    supports = found(standin)
    assert {name for name in EVERYTHING if supports[name]} == EVERYTHING
    assert supports["why"] == {}
    assert 0 < supports["latency_ms"] <= supports["max_latency_ms"]
    assert Endpoint.objects.get().tested_at is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["logprobs", "json_schema", "schema_lengths", "tools", "n"])
@pytest.mark.parametrize("how", ["rejects", "ignores"])
def test_what_is_missing_is_named_with_its_reason(standin: StandInProcess, name: str, how: str) -> None:
    supports = found(standin, **{how: [name]})
    assert {one for one in EVERYTHING if not supports[one]} == (OF_SCHEMAS if name == "json_schema" else {name})
    code = "rejected" if how == "rejects" else IGNORED[name]
    assert supports["why"][name]["code"] == code
    assert set(supports["why"]) == (OF_SCHEMAS if name == "json_schema" else {name})
    shown = shown_features(Endpoint.objects.get())
    assert (shown["why"][name], shown["why_code"][name]) == (restored(supports["why"][name]).text, code)


def test_seed_without_effect_can_not_be_told_from_an_endpoint_that_never_varies(standin: StandInProcess) -> None:
    supports = found(standin, answer="first")
    assert supports["seed"] is None
    assert supports["why"]["seed"] == reason("seed_unclear").stored()


def test_endpoint_that_takes_no_seed_is_asked_without(standin: StandInProcess) -> None:
    supports = found(standin, rejects=["seed"])
    assert (supports["chat"], supports["seed"], supports["logprobs"]) == (True, False, True)
    assert "seed=null" in restored(supports["why"]["chat"]).text
    assert supports["why"]["seed"] == reason("seed_not_taken").stored()


@pytest.mark.parametrize(
    ("rejects", "length"),
    [
        pytest.param(["temperature", "max_tokens"], "max_completion_tokens", id="as reasoning models do"),
        pytest.param(["max_tokens", "max_completion_tokens"], "", id="no limit"),
    ],
)
def test_rejected_parameters_are_told_one_by_one(standin: StandInProcess, rejects: list[str], length: str) -> None:
    supports = found(standin, rejects=rejects)
    assert (supports["rejects"], supports["length"]) == ([name for name in rejects if "completion" not in name], length)
    assert (supports["chat"], supports["logprobs"], supports["n"]) == (True, True, True)
    why = restored(supports["why"]["chat"])
    assert f"takes no {', '.join(supports['rejects'])}" in why.text
    assert (why.values["parameters"], why.values.get("length", "")) == (
        supports["rejects"],
        "" if length == "max_tokens" else length,
    )


@pytest.mark.slow
def test_new_judges_leave_out_what_is_rejected_and_old_ones_stay(standin: StandInProcess) -> None:
    endpoint = make_endpoint(standin.base_url)
    add = partial(add_judge, endpoint=endpoint, seed=1, order="both")
    old, _ = add(name="old", method="direct", params={"max_tokens": 90})
    standin.behave(rejects=["temperature", "seed", "max_tokens"])
    endpoint.supports = probe_endpoint(endpoint).supports
    asked: dict[str, dict[str, Any]] = {
        "plain": {"method": "direct", "params": {"max_tokens": 90}},
        "repeated": {"method": "direct", "repeats": 2},
        "likely": {"method": "token-preference"},
        "warm": {"method": "direct", "params": {"temperature": 0.3}},
    }
    judges = {name: add(name=name, **settings)[0] for name, settings in asked.items()}
    none = {"temperature": None, "seed": None}
    assert {name: judge.params for name, judge in judges.items()} == {
        "plain": {**none, "max_completion_tokens": 90},
        "repeated": none,
        "likely": {**none, "max_tokens": None, "max_completion_tokens": 1},
        "warm": {"temperature": 0.3, "seed": None},  # given, so it is sent
    }
    study = make_study(instances=1)
    for name in ("plain", "repeated", "likely"):
        run = start_run(study=study, judge=judges[name])
        assert execute(run.pk, stop=StopFlag()).status == "done"
        assert set(run.judgments.values_list("status", flat=True)) == {"parsed"}
    endpoint.supports = {}  # whatever a later test finds, the same command is about the same judge
    for name, settings in asked.items():
        assert add(name=name, **settings) == (judges[name], False)
    assert add(name="old", method="direct", params={"max_tokens": 90}) == (old, False)
    with pytest.raises(BadSettings):
        add(name="plain", method="direct", params={"max_tokens": 80})


@pytest.mark.slow
def test_tables_of_new_judges_have_a_longest_cell_where_the_endpoint_keeps_to_it(standin: StandInProcess) -> None:
    endpoint = make_endpoint(standin.base_url)
    endpoint.supports = {"json_schema": True}
    endpoint.save()
    settings: dict[str, Any] = {"method": "sc2", "endpoint": endpoint, "seed": 1, "params": {"samples": 1}}
    old, _ = add_judge(name="old", **settings)
    standin.behave(answer="random", endless=True)
    endpoint.supports = probe_endpoint(endpoint).supports
    new, _ = add_judge(name="new", **settings)
    assert (old.params, new.params) == ({"samples": 1}, {"samples": 1, "longest_cell": 400})
    assert add_judge(name="old", **settings) == (old, False)
    assert "longest_cell" not in add_judge(name="stored", **{**settings, "params": {}}, table_variant="c8")[0].params
    study = make_study(instances=1)
    for judge, status in ((old, "unparsed"), (new, "parsed")):
        run = start_run(study=study, judge=judge)
        assert execute(run.pk, stop=StopFlag()).status == "done"
        assert set(run.judgments.values_list("status", flat=True)) == {status}
    rows = TableMaking.objects.earliest("pk").record["samples"][0]["rows"]
    assert max(len(row["only_a"]) for row in rows) > 350


def test_endpoint_without_batches(standin: StandInProcess) -> None:
    assert found(standin, missing=["batches"])["batch"] is False


@pytest.mark.parametrize(
    ("behaviour", "code", "part"),
    [
        pytest.param({"key": "sesame"}, "check_key", "check the key and the account: HTTP 401", id="key"),
        pytest.param(
            {"error": 1.0}, "check_service", "check the base URL and whether the service is up: HTTP 500", id="down"
        ),
        pytest.param({"malformed": 1.0}, "check_service", "not a chat completion", id="no completion"),
    ],
)
def test_endpoint_that_can_not_be_asked_says_why(standin: StandInProcess, behaviour: Any, code: str, part: str) -> None:
    supports = found(standin, **behaviour)
    assert supports["chat"] is False
    assert supports["why"]["chat"]["code"] == code
    assert part in restored(supports["why"]["chat"]).text
    assert {supports["why"][name]["code"] for name in EVERYTHING - {"chat"}} == {"not_tried"}
    assert {supports[name] for name in EVERYTHING - {"chat"}} == {None}


def test_address_that_is_refused_gets_no_call(standin: StandInProcess, settings: Any) -> None:
    settings.ENDPOINT_ALLOWLIST = []
    supports = found(standin)
    why = restored(supports["why"]["chat"])
    assert (why.code, why.values["host"], "ENDPOINT_ALLOWLIST" in why.text) == (
        "host_at_private_address",
        "127.0.0.1",
        True,
    )
    assert standin.stats()["calls"] == 0


def test_one_failure_on_the_way_is_tried_again(standin: StandInProcess) -> None:
    supports = found(standin, too_many=0.2, retry_after=0, seed=9)
    assert {name for name in EVERYTHING if supports[name]} == EVERYTHING
    assert standin.stats()["outcomes"]["too_many"] >= 1


@pytest.mark.slow
def test_command_prints_what_was_found(standin: StandInProcess, capsys: pytest.CaptureFixture[str]) -> None:
    make_endpoint(standin.base_url)
    standin.behave(answer="random", rejects=["logprobs"])
    call_command("test_endpoint", "stand-in")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "chat: yes"
    assert lines[1].startswith("logprobs: no (rejected: HTTP 400")
    assert lines[-1].startswith("latency: ")
    call_command("test_endpoint", "stand-in", format="json")
    assert json.loads(capsys.readouterr().out)["json_schema"] is True


def test_command_fails_when_there_is_no_answer(standin: StandInProcess) -> None:
    make_endpoint(standin.base_url)
    standin.behave(key="sesame")
    with pytest.raises(CommandError, match="check the key"):
        call_command("test_endpoint", "stand-in")


def test_endpoint_that_was_never_tested_shows_nothing() -> None:
    assert supported_by(make_endpoint()) == []
