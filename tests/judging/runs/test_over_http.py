"""The judge over real HTTP, against a stand-in on this machine that misbehaves as endpoints do."""

import asyncio
import json
import logging
import random
import socket
import threading
from typing import Any

import pytest
from django.db import connection

from annotation.core.tasks.stopping import StopFlag
from judging.core.errors import CallFailed, RejectedCall, TransientFailure
from judging.endpoints import checks
from judging.endpoints.chat_answers import ChatAnswer, read_answer
from judging.endpoints.checks import resolve
from judging.endpoints.client import OpenAIClient
from judging.endpoints.retrying import RetryingClient, RetryPolicy
from judging.models import Completion, Endpoint, JudgeRun, Judgment
from judging.runs.execution import ExecutionResult, execute
from judging.runs.services import start_run
from judging.runs.status import count_judgments
from tests.fakes import Reply, ScriptedClient, StandIn, chat_completion, prefer_first
from tests.judging.builders import make_endpoint, make_judge, make_study, no_sleep

pytestmark = pytest.mark.slow

BODY = {"model": "small", "messages": [{"role": "user", "content": "?"}], "seed": 5, "top_k": 3}
KEY = "sk-very-secret-1234567890"
ODD_KEY = 'sk/very"secret\\1234567890'


@pytest.fixture(autouse=True)
def _allow_loopback(settings: Any) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]


def ask(stand_in: StandIn, *, timeout: float = 20, key_env: str = "") -> ChatAnswer:
    endpoint = Endpoint(name="e", base_url=stand_in.base_url, model="small", timeout_seconds=timeout, key_env=key_env)

    async def complete() -> ChatAnswer:
        client = OpenAIClient(endpoint)
        try:
            return await client.complete(BODY)
        finally:
            await client.close()

    return asyncio.run(complete())


def run_on(stand_in: StandIn, *, in_flight: int = 4, instances: int = 3, **judge_settings: Any) -> ExecutionResult:
    """Let a judge that asks the stand-in rate a new study, without waiting between tries."""
    judge = make_judge(endpoint=make_endpoint(stand_in.base_url), **judge_settings)
    run = start_run(study=make_study(instances=instances), judge=judge, in_flight=in_flight)
    return execute(
        run.pk, stop=StopFlag(), make_client=lambda endpoint: RetryingClient(OpenAIClient(endpoint), sleep=no_sleep)
    )


@pytest.mark.parametrize(
    ("reply", "kind", "reason"),
    [
        pytest.param(Reply(500, "oops"), TransientFailure, "HTTP 500: oops", id="500"),
        pytest.param(Reply(drop=True), TransientFailure, "no connection: ServerDisconnected", id="dropped"),
        pytest.param(
            Reply(200, "junk", {"Content-Encoding": "gzip"}), TransientFailure, "no connection", id="not gzip"
        ),
        pytest.param(Reply(302, "", {"Location": "http://10.0.0.1/"}), RejectedCall, "not followed", id="redirect"),
        pytest.param(Reply(200, "data: {}", {"Content-Type": "text/event-stream"}), RejectedCall, "stream", id="SSE"),
    ],
)
def test_failure_is_of_its_kind(reply: Reply, kind: type[CallFailed], reason: str) -> None:
    with StandIn([reply]) as stand_in, pytest.raises(kind, match=reason):
        ask(stand_in)
    assert stand_in.calls == 1


def test_endpoint_that_is_not_there_is_a_transient_failure() -> None:
    with StandIn() as stand_in:
        pass
    with pytest.raises(TransientFailure, match="no connection: ClientConnectorError"):
        ask(stand_in)


def test_retry_after_is_waited_for_and_other_pauses_double() -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    script = [TransientFailure("429", retry_after=7), *[TransientFailure("500")] * 3]
    client = RetryingClient(ScriptedClient(script), rng=random.Random(1), sleep=sleep)
    asyncio.run(client.complete(BODY))
    assert client.calls == 5
    assert 7 <= waited[0] < 7.5
    assert all(low <= pause <= 2 * low for pause, low in zip(waited[1:], (1, 2, 4), strict=True))


def test_endless_retry_after_is_not_waited_for() -> None:
    client = RetryingClient(ScriptedClient([TransientFailure("HTTP 429", retry_after=86400)]), sleep=no_sleep)
    with pytest.raises(TransientFailure, match="asks to wait 86400 s"):
        asyncio.run(client.complete(BODY))


@pytest.mark.django_db
def test_misbehaving_endpoint_costs_no_verdict() -> None:
    script = [
        Reply(429, "slow down", {"Retry-After": "30"}),
        Reply(500),
        Reply(drop=True),
        Reply(200, "{"),
        None,
        Reply(200, json.dumps(chat_completion(""))),
        Reply(200, json.dumps(chat_completion("Both are good."))),
    ]
    with StandIn(script) as stand_in:
        ended = run_on(stand_in, order="random", instances=10)
    found = count_judgments(Judgment.objects.all())
    assert (ended.status, found.asked, found.parsed, found.first) == ("done", 20, 20, 20)
    assert stand_in.calls == ended.progress.calls == 26
    assert found.a
    assert found.b


@pytest.mark.django_db
def test_calls_in_flight_reach_their_bound_and_never_pass_it() -> None:
    together = threading.Barrier(
        5
    )  # 40 requests, answered five at a time: a sixth would be seen, a fifth is waited for

    def think(body: Any) -> str:
        together.wait(timeout=60)
        return prefer_first(body)

    with StandIn(answer=think) as stand_in:
        ended = run_on(stand_in, in_flight=5, instances=20)
    assert (ended.status, stand_in.calls, stand_in.most_in_flight) == ("done", 40, 5)


@pytest.mark.django_db
@pytest.mark.parametrize("in_flight", [1, 4])
def test_endpoint_that_always_fails_stops_the_run_with_its_reason(in_flight: int) -> None:
    with StandIn([Reply(500, "out of memory")] * 1000) as stand_in:
        ended = run_on(stand_in, instances=20, in_flight=in_flight)
    assert ended.status == "failed"
    message = JudgeRun.objects.get().message
    assert (message.code, message.values["probes"], message.values["error"].values) == (
        "endpoint_down",
        8,
        {"status": 500, "text": "out of memory"},
    )
    # When the run is stopped, the others in flight are cut off: they may have been received, and are no errors.
    counted = ended.progress.errors["HTTP 500"]
    assert counted <= stand_in.calls < counted + in_flight
    assert stand_in.calls < 40
    # Only a question that had all its tries is an error: with one call at a time the first one has, before a second fails.
    errors = Judgment.objects.filter(status="error").count()
    assert errors * RetryPolicy().attempts <= counted
    assert errors == 1 or in_flight > 1
    assert Judgment.objects.filter(status="pending").count() == 40 - errors


class Names:
    """A name service whose answer changes: each look-up takes the next address, and the last one stays."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = list(addresses)
        self.asked: list[str] = []

    def getaddrinfo(self, host: str, port: int, *_: object, **__: object) -> list[tuple[Any, ...]]:
        self.asked.append(host)
        address = self.addresses.pop(0) if len(self.addresses) > 1 else self.addresses[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port))]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    """Let every name be public at first and lead to this machine from then on."""
    service = Names("93.184.216.34", "127.0.0.1")
    monkeypatch.setattr(socket, "getaddrinfo", service.getaddrinfo)
    monkeypatch.setattr(checks, "resolve", resolve)
    return service


@pytest.mark.django_db
def test_name_that_leads_elsewhere_after_the_check_is_not_followed(
    names: Names, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.ENDPOINT_ALLOWLIST = []
    with StandIn() as stand_in:
        stand_in_url = stand_in.base_url.replace("127.0.0.1", "models.example")
        run = start_run(study=make_study(), judge=make_judge(endpoint=make_endpoint(stand_in_url)))
        ended = execute(run.pk, stop=StopFlag())
    assert (ended.status, stand_in.calls, len(names.asked)) == ("failed", 0, 2)
    assert "ENDPOINT_ALLOWLIST" in ended.message
    assert "models.example is at 127.0.0.1" in caplog.text


@pytest.mark.django_db
def test_listed_name_is_followed_to_this_machine(names: Names, settings: Any) -> None:
    settings.ENDPOINT_ALLOWLIST = ["models.example"]
    with StandIn() as stand_in:
        endpoint = make_endpoint(stand_in.base_url.replace("127.0.0.1", "models.example"))
        names.addresses = ["127.0.0.1"]
        run = start_run(study=make_study(instances=1), judge=make_judge(endpoint=endpoint))
        assert execute(run.pk, stop=StopFlag()).status == "done"
    assert stand_in.calls == 2


@pytest.mark.django_db
@pytest.mark.parametrize(
    "base_url",
    [
        pytest.param("http://10.20.30.40/v1", id="private"),
        pytest.param("http://no-such-host.example/v1", id="unknown"),
        pytest.param("http://127.0.0.1:1/v1", id="not there"),
    ],
)
def test_researchers_are_not_told_where_an_endpoint_is(base_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    monkeypatch.setattr(checks, "resolve", resolve)
    run = start_run(study=make_study(), judge=make_judge(endpoint=make_endpoint(base_url)))
    ended = execute(
        run.pk, stop=StopFlag(), make_client=lambda endpoint: RetryingClient(OpenAIClient(endpoint), sleep=no_sleep)
    )
    told = ended.message + "".join(map(str, Judgment.objects.values_list("failure", flat=True)))
    assert told
    for part in ("10.20.30.40", "no-such-host", "127.0.0.1"):
        assert part not in told


@pytest.mark.django_db
def test_variable_that_is_no_key_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANDEM_TEST_PASSWORD", KEY)
    with StandIn() as stand_in:
        judge = make_judge(endpoint=make_endpoint(stand_in.base_url, key_env="TANDEM_TEST_PASSWORD"))
        ended = execute(start_run(study=make_study(), judge=judge).pk, stop=StopFlag())
    assert (ended.status, stand_in.calls) == ("failed", 0)
    assert "KEY or TOKEN" in ended.message


def everything_stored() -> str:
    with connection.cursor() as cursor:
        rows = []
        for table in connection.introspection.table_names():
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            rows += cursor.fetchall()
    return repr(rows)


@pytest.mark.django_db
@pytest.mark.parametrize("right", [True, False])
def test_key_reaches_the_endpoint_and_nothing_else(
    right: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TANDEM_TEST_KEY", KEY)
    with (
        caplog.at_level(logging.DEBUG),
        StandIn(key=KEY if right else "another", answer=lambda body: f"Preferred: A\n{KEY}") as stand_in,
    ):
        endpoint = make_endpoint(stand_in.base_url, key_env="TANDEM_TEST_KEY")
        run = start_run(study=make_study(instances=1), judge=make_judge(endpoint=endpoint))
        ended = execute(run.pk, stop=StopFlag())
    assert ended.status == ("done" if right else "failed")
    printed = "".join(capsys.readouterr())
    assert KEY not in everything_stored() + caplog.text + printed + ended.message
    assert (
        ("[key]" in Completion.objects.get(pk=Completion.objects.earliest("pk").pk).text)
        if right
        else ("Incorrect API key: Bearer [key]" in ended.message)
    )


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("held", "code"),
    [
        pytest.param(None, "key_not_set", id="nothing"),
        pytest.param("sk-a\nb", "key_not_sendable", id="two lines"),
        pytest.param("sk-ä", "key_not_sendable", id="not ASCII"),
        pytest.param(f" {KEY}\n", "", id="with its file's line end"),
    ],
)
def test_key_that_can_not_be_sent_is_said_and_not_shown(
    held: str | None, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if held is not None:
        monkeypatch.setenv("TANDEM_TEST_KEY", held)
    with StandIn(key=KEY) as stand_in:
        endpoint = make_endpoint(stand_in.base_url, key_env="TANDEM_TEST_KEY")
        run = start_run(study=make_study(instances=1), judge=make_judge(endpoint=endpoint))
        ended = execute(run.pk, stop=StopFlag())
    message = JudgeRun.objects.get().message
    assert (ended.status, message.code) == ("failed" if code else "done", code)
    assert not code or message.values["variable"] == "TANDEM_TEST_KEY"
    assert "sk-" not in ended.message


def written(key: str, how: str) -> str:
    """Write a key as it may stand in a JSON text."""
    if how == "unicode":
        return "".join(f"\\u{ord(character):04X}" for character in key)
    if how == "nul":
        return "\\u0000".join(json.dumps(character)[1:-1] for character in key)
    plain = json.dumps(key)[1:-1].replace("/", "\\/")
    return json.dumps(plain)[1:-1] if how == "twice" else plain


@pytest.mark.parametrize("how", ["escaped", "unicode", "twice", "nul"])
def test_key_that_is_echoed_in_json_is_taken_out(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANDEM_TEST_KEY", ODD_KEY)
    echo = written(ODD_KEY, how)
    body = f'{{"choices": [{{"message": {{"content": "A {echo} B"}}}}], "{echo}": ["{echo}", {{"{echo}": 1}}]}}'
    with StandIn([Reply(200, body)]) as stand_in:
        answer = ask(stand_in, key_env="TANDEM_TEST_KEY")
    assert answer.text == "A [key] B"
    assert answer.response == {"choices": [{"message": {"content": "A [key] B"}}], "[key]": ["[key]", {"[key]": 1}]}


@pytest.mark.parametrize("how", ["escaped", "unicode", "twice"])
@pytest.mark.parametrize("status", [200, 400])
def test_key_that_is_echoed_in_an_error_is_taken_out(how: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANDEM_TEST_KEY", ODD_KEY)
    reply = Reply(status, f'{{"error": {{"message": "no {written(ODD_KEY, how)} here"}}}}')
    with StandIn([reply]) as stand_in, pytest.raises(CallFailed, match=r"no \[key\] here"):
        ask(stand_in, key_env="TANDEM_TEST_KEY")


@pytest.mark.parametrize("status", [200, 400])
def test_key_is_taken_out_before_a_reason_is_cut(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANDEM_TEST_KEY", KEY)
    for before in range(170, 300, 20):
        with StandIn([Reply(status, "x" * before + KEY)]) as stand_in, pytest.raises(CallFailed) as failed:
            ask(stand_in, key_env="TANDEM_TEST_KEY")
        assert "sk-v" not in str(failed.value)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param(r"a\u0000b", "ab", id="NUL"),
        pytest.param(r"a\\u0000b", r"a\u0000b", id="the escape as text"),
        pytest.param(r"a\ud800b", "a?b", id="half a surrogate pair"),
        pytest.param(r"a\ud83d\ude00b", "a😀b", id="a whole pair"),
    ],
)
def test_what_no_database_stores_is_taken_out(content: str, text: str) -> None:
    answer = read_answer(f'{{"choices": [{{"message": {{"content": "{content}"}}}}]}}')
    assert answer.text == answer.response["choices"][0]["message"]["content"] == text


def test_answer_nested_too_deeply_is_none() -> None:
    with pytest.raises(TransientFailure, match="not a chat completion"):
        read_answer('{"choices": ' + "[" * 100_000)
