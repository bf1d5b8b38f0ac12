"""The stand-in for an endpoint itself: what tests and benchmarks build on has to behave as it says."""

import http.client
import json
import math
import signal
import subprocess
import sys
import time
from typing import Any
from urllib.parse import urlsplit

import pytest

from judging.jobs.stopping import StopFlag
from judging.methods import AskingMethod, Reply, Setting, find_method, method_names
from judging.methods.base import Presentation
from judging.methods.prompts import fenced, load_prompt
from judging.models import Judgment, PromptFile
from judging.runs.execution import execute
from judging.runs.services import start_run
from judging.runs.usage import usage_of
from judging.tables.entailment_calls import read_lines
from tests.judging.builders import make_endpoint, make_judge, make_study
from tests.standin import answers
from tests.standin.behaviour import Behaviour, asked_for, changed
from tests.standin.process import ROOT, StandInProcess, running
from tests.standin.state import State

pytestmark = pytest.mark.slow

MESSAGES = [{"role": "user", "content": "Which one?\nReason: <one sentence>\nPreferred: <A or B>"}]
SHOWN = Presentation("summarization", "", "A talk.", "Short.", "Much longer than that.", "i1")


def send(standin: StandInProcess, method: str, path: str, content: Any = None, **headers: str) -> tuple[int, Any]:
    """Put one request, and return the status and the JSON of the answer."""
    connection = http.client.HTTPConnection(urlsplit(standin.base_url).netloc, timeout=30)
    try:
        body = content if content is None or isinstance(content, bytes) else json.dumps(content)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        raw = answer.read()
        return answer.status, json.loads(raw)
    finally:
        connection.close()


def chat(standin: StandInProcess, **body: Any) -> tuple[int, Any]:
    """Ask one question."""
    return send(standin, "POST", "/v1/chat/completions", {"model": "small", "messages": MESSAGES, **body})


def content_of(answer: Any) -> str:
    """Return the text of the first choice."""
    text: str = answer["choices"][0]["message"]["content"]
    return text


@pytest.mark.django_db
def test_calls_about_the_same_texts_find_their_beginning_in_the_cache_and_cost_less(
    standin: StandInProcess, settings: Any
) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    standin.behave(prefix_cache=True)
    endpoint = make_endpoint(standin.base_url, price_prompt=1, price_completion=2, cached_discount=0.1)
    judge, study = make_judge(endpoint=endpoint, repeats=4, params={"temperature": 0.7}), make_study(instances=3, k=1)
    run = start_run(study=study, judge=judge)
    assert execute(run.pk, stop=StopFlag()).status == "done"
    told = standin.stats()
    # Of four equal prompts three come from the cache, but for the last part of a step.
    assert 0.6 < told["cached_tokens"] / told["prompt_tokens"] <= 0.75
    paid = told["prompt_tokens"] - 0.9 * told["cached_tokens"] + 2 * told["completion_tokens"]
    assert float(usage_of(run.judgments.all(), "USD").priced) * 1e6 == pytest.approx(paid)


@pytest.mark.django_db
def test_pointwise_judge_says_how_to_do_without_log_probabilities(standin: StandInProcess, settings: Any) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    standin.behave(rejects=["logprobs"])
    study, endpoint = make_study(instances=1, k=1), make_endpoint(standin.base_url)
    for name, params in (("weighted", {}), ("plain", {"weighted": False})):
        judge = make_judge("pointwise", name=name, endpoint=endpoint, params=params)
        execute(start_run(study=study, judge=judge).pk, stop=StopFlag())
    found = dict(Judgment.objects.values_list("run__judge__name", "status"))
    assert found == {"weighted": "error", "plain": "parsed"}
    assert "does without by weighted=false" in Judgment.objects.get(status="error").failure


SHOWS = "[$fence begin] $source $first $second [$fence end] $question"
FORMS = (
    ("brackets", "Say [[A]] or [[B]]."),
    ("brackets", "Say [[A>B]], [[A=B]] or [[B>A]]."),
    ("brackets", "End with [RESULT] and A or B."),
    ("verdict-line", "End with \\boxed{A} or \\boxed{B}."),
    ("model-letter", "Say m or M, and nothing else."),
    ("letter", "<A or B>"),
)


@pytest.mark.django_db
@pytest.mark.parametrize("how", [pytest.param("first", marks=pytest.mark.weekly), "second"])
def test_every_method_reads_what_it_says(standin: StandInProcess, settings: Any, how: str) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    standin.behave(answer=how)
    study, endpoint = make_study(instances=1, k=1), make_endpoint(standin.base_url)
    asking = [name for name in method_names() if isinstance(find_method(name), AskingMethod)]
    assert {"direct", "prepair", "ranked-function", "token-preference"} <= set(asking)
    judges = [make_judge(name, name=f"j{number}", endpoint=endpoint) for number, name in enumerate(asking)]
    for number, (parser, form) in enumerate(FORMS if how == "second" else ()):
        wording = PromptFile.objects.create(name=f"p{number}", version=1, parser=parser, text=f"{SHOWS}\n{form}")
        judges.append(make_judge("direct", name=f"own{number}", endpoint=endpoint, prompt_file=wording))
    for judge in judges:
        run, name = start_run(study=study, judge=judge), judge.name
        assert execute(run.pk, stop=StopFlag()).status == "done"
        outcomes = set(run.judgments.values_list("status", "verdict"))
        wanted = {("parsed", -1 if how == "first" else 1)}
        assert outcomes == wanted or (judge.method == "pointwise" and {one[0] for one in outcomes} == {"parsed"}), (
            name,
            outcomes,
        )


def test_a_form_is_filled_in_and_counted(standin: StandInProcess) -> None:
    status, answer = chat(standin)
    assert (status, content_of(answer).splitlines()[-1]) == (200, "Preferred: A")
    assert answer["usage"]["prompt_tokens"] == len(MESSAGES[0]["content"]) // 4
    chat(standin)
    chat(standin, seed=2)
    told = standin.stats()
    assert (told["calls"], told["answered"], told["distinct"], told["repeated"]) == (3, 3, 2, 1)
    standin.forget()
    assert standin.stats()["calls"] == 0


def test_the_direct_method_reads_what_it_says() -> None:
    [call] = next(find_method("direct").ask(SHOWN, Setting()))  # type: ignore[attr-defined]
    body = {"model": "small", "messages": call.messages}
    for how, verdict in {"first": -1, "second": 1, "longer": 1}.items():
        said = answers.answer_text(body, Behaviour(answer=how), seed=1)
        assert call.read(Reply(said)).verdict == verdict


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        pytest.param("Verdict: <A, B or tie>", "Verdict: tie", id="tie"),
        pytest.param("Choice: [[<A or B>]]", "Choice: [[A]]", id="within brackets"),
        pytest.param("Say [[A>B]], [[A=B]] or [[B>A]].", f"Comparison: {answers.SENTENCE}.\n[[A=B]]", id="a mark"),
        pytest.param("Say A or B.", f"Comparison: {answers.SENTENCE}.\nPreferred: A", id="no form"),
        pytest.param("Old: <x>\n\nNow:\nBetter: <letter A or letter B>", "Better: A", id="last form"),
    ],
)
def test_answer_is_in_the_form_that_is_asked_for(question: str, answer: str) -> None:
    body = {"messages": [{"role": "user", "content": question}]}
    assert answers.answer_text(body, Behaviour(answer="tie"), seed=1) == answer


def test_lines_of_a_table_are_scored_one_by_one() -> None:
    listed = fenced("1: the heron\n2: the wren", "0123456789abcdef")
    content = load_prompt("table-entailment.v1.txt").template.template.replace("$notes", listed)
    said = answers.answer_text({"messages": [{"role": "user", "content": content}]}, Behaviour(), seed=1)
    assert len(read_lines(Reply(said), lines=2)) == 2


def test_score_lies_in_the_range_and_depends_on_the_text() -> None:
    questions = [f"Rate {text!r} from 1 to 5.\nScore: <a number from 1 to 5>" for text in "abcdefghijklmnop"]
    bodies = [{"messages": [{"role": "user", "content": question}]} for question in questions]
    said = {answers.answer_text(body, Behaviour(), seed=1) for body in bodies}
    assert len(said) > 2
    assert said <= {f"Score: {number}" for number in range(1, 6)}


def test_form_within_the_fenced_texts_is_not_filled_in() -> None:
    fence = "0123456789abcdef"
    question = f"[{fence} begin]\nObey me: <A or B>\n[{fence} end]\nPreferred: <A or B>"
    body = {"messages": [{"role": "user", "content": question}]}
    assert answers.answer_text(body, Behaviour(), seed=1) == "Preferred: A"


def test_rules_and_fixed_text_come_first(standin: StandInProcess) -> None:
    standin.behave(text="always this", rules=[["one[?]", "by rule"]])
    assert content_of(chat(standin)[1]) == "by rule"
    assert content_of(chat(standin, messages=[{"role": "user", "content": "else"}])[1]) == "always this"


@pytest.mark.parametrize(
    ("trouble", "status", "finish"),
    [
        pytest.param("too_many", 429, None, id="429"),
        pytest.param("error", 500, None, id="500"),
        pytest.param("empty", 200, "stop", id="empty"),
        pytest.param("cut", 200, "length", id="cut"),
        pytest.param("wrong_finish", 200, "because", id="wrong finish"),
        pytest.param("filtered", 200, "content_filter", id="filtered"),
    ],
)
def test_trouble_is_made_as_told(standin: StandInProcess, trouble: str, status: int, finish: str | None) -> None:
    standin.behave(**{trouble: 1.0})
    got, answer = chat(standin)
    assert (got, answer.get("choices", [{}])[0].get("finish_reason")) == (status, finish)
    assert standin.stats()["outcomes"] == {trouble: 1}
    assert standin.stats()["answered"] == (status == 200)


def test_dropped_connection_and_half_a_body(standin: StandInProcess) -> None:
    standin.behave(drop=1.0)
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        chat(standin)
    standin.behave(drop=0.0, malformed=1.0)
    with pytest.raises(json.JSONDecodeError):
        chat(standin)


def test_slow_body_comes_whole(standin: StandInProcess) -> None:
    standin.behave(slow=1.0, slow_seconds=0.05)
    started = time.monotonic()
    assert content_of(chat(standin)[1]).endswith("Preferred: A")
    assert time.monotonic() - started >= 0.05


def test_retry_after_goes_with_429(standin: StandInProcess) -> None:
    standin.behave(too_many=1.0, retry_after=2.5)
    connection = http.client.HTTPConnection(urlsplit(standin.base_url).netloc, timeout=30)
    connection.request("POST", "/v1/chat/completions", json.dumps({"model": "m", "messages": MESSAGES}))
    assert connection.getresponse().headers["Retry-After"] == "2.5"
    connection.close()


def test_share_of_trouble_is_about_what_was_set() -> None:
    state = State(Behaviour(too_many=0.1, error=0.05, seed=3))
    drawn = [state.behaviour.trouble(state.rng) for _ in range(4000)]
    assert 0.08 < drawn.count("too_many") / 4000 < 0.12
    assert 0.035 < drawn.count("error") / 4000 < 0.065
    assert set(drawn) == {"", "too_many", "error"}


def test_models_name_changes_what_happens_to_its_own_calls(standin: StandInProcess) -> None:
    assert chat(standin, model="small?error=1")[0] == 500
    assert chat(standin)[0] == 200
    assert asked_for("small?delay=0.5&answer=second") == {"delay": "0.5", "answer": "second"}
    assert chat(standin, model="small?eror=1")[0] == 400


def test_log_probabilities_are_of_the_text_and_sum_to_one() -> None:
    told = answers.log_probabilities("Preferred: B", 5, 0.8)["content"]
    assert "".join(one["token"] for one in told) == "Preferred: B"
    last = {one["token"]: math.exp(one["logprob"]) for one in told[-1]["top_logprobs"]}
    assert last[" B"] == pytest.approx(0.8)
    assert last[" A"] == pytest.approx(0.2)
    digit = answers.log_probabilities("4", 10, 0.6)["content"][0]["top_logprobs"]
    assert [len(last), len(digit)] == [5, 10]
    assert sum(math.exp(one["logprob"]) for one in digit) == pytest.approx(1)
    assert {one["token"] for one in digit[:5]} == set("12345")


def test_function_call_and_schema_keep_to_what_is_asked(standin: StandInProcess) -> None:
    rank = {
        "type": "object",
        "properties": {"model": {"type": "string", "enum": ["m", "M"]}, "rank": {"type": "integer"}},
    }
    schema = {"type": "object", "properties": {"why": {"type": "string"}, "ranks": {"type": "array", "items": rank}}}
    tool = {"type": "function", "function": {"name": "rank", "parameters": schema}}
    standin.behave(answer="second")
    choice = chat(standin, tools=[tool], tool_choice="required")[1]["choices"][0]
    arguments = json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"])
    assert choice["finish_reason"] == "tool_calls"
    assert arguments["ranks"] == [{"model": "M", "rank": 1}, {"model": "m", "rank": 2}]
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    answer = json.loads(content_of(chat(standin, response_format=wanted)[1]))
    assert answer["ranks"] == arguments["ranks"]


def test_seed_decides_random_answers_and_n_gives_several(standin: StandInProcess) -> None:
    standin.behave(answer="random")
    texts = [content_of(chat(standin, seed=seed)[1]) for seed in (1, 1, 2, 3, 4, 5, 6, 7)]
    assert texts[0] == texts[1]
    assert len(set(texts)) == 2
    assert len(chat(standin, n=3)[1]["choices"]) == 3
    standin.behave(ignores="n")
    assert len(chat(standin, n=3)[1]["choices"]) == 1


def test_what_it_is_told_to_reject_is_a_400(standin: StandInProcess) -> None:
    standin.behave(rejects=["logprobs"])
    status, answer = chat(standin, logprobs=True)
    assert (status, answer["error"]["message"]) == (400, "unsupported parameter: logprobs")
    assert chat(standin)[0] == 200


def test_only_the_right_key_is_let_in(standin: StandInProcess) -> None:
    standin.behave(key="sesame")
    assert chat(standin)[0] == 401
    assert send(standin, "GET", "/v1/models")[0] == 401
    assert send(standin, "GET", "/v1/models", Authorization="Bearer sesame")[0] == 200


def test_unknown_setting_is_refused(standin: StandInProcess) -> None:
    with pytest.raises(ValueError, match="no such settings: dely"):
        standin.behave(dely=1)
    assert changed(Behaviour(), {"delay": "0.5"}).delay == 0.5


def test_it_ends_with_the_one_who_started_it() -> None:
    script = "import subprocess, sys; p = subprocess.Popen([sys.executable, '-m', 'tests.standin', '--while-stdin'], "
    script += "stdin=subprocess.PIPE, stdout=sys.stdout); print(p.pid, flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        told = [parent.stdout.readline(), parent.stdout.readline()]
        assert any(line.startswith("http://127.0.0.1:") for line in told)
        parent.send_signal(signal.SIGKILL)
        assert parent.stdout.read() == ""  # the pipe ends only when the stand-in, which holds it as well, has ended


def test_command_line_sets_the_behaviour() -> None:
    with running(text="from the command line", rejects=["n"], rules=[["xyz", "rule"]]) as process:
        assert content_of(chat(process)[1]) == "from the command line"
        assert chat(process, n=2)[0] == 400
