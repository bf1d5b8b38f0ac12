"""The client against a real server: what it sends along, what it keeps to itself, files and batches."""

import asyncio
import json
import socket
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import pytest

from judging.core.errors import BadSettings, EndpointRefused, RejectedCall, TransientFailure
from judging.endpoints import checks
from judging.endpoints.chat_answers import ChatAnswer, Secrets
from judging.endpoints.checks import UnresolvedHost, check_headers, check_host, proxy_of, resolve
from judging.endpoints.client import OpenAIClient
from judging.models import Endpoint
from tests.fakes import Reply, StandIn, chat_completion
from tests.standin.process import StandInProcess

T = TypeVar("T")
BODY = {"model": "small", "messages": [{"role": "user", "content": "Preferred: <A or B>"}], "seed": 5, "top_k": 3}
SECRET = "very-secret-value-1"


@pytest.fixture(autouse=True)
def _allow_loopback(settings: Any) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]


def at(base_url: str, work: Callable[[OpenAIClient], Awaitable[T]], **endpoint: Any) -> T:

    async def with_client() -> T:
        made = Endpoint(**{"name": "e", "base_url": base_url, "model": "small", "headers": {}, **endpoint})
        client = OpenAIClient(made)
        try:
            return await work(client)
        finally:
            await client.close()

    return asyncio.run(with_client())


def using(
    standin: StandInProcess, work: Callable[[OpenAIClient], Awaitable[T]], *, base_url: str = "", **endpoint: Any
) -> T:
    return at(base_url or standin.base_url, work, **endpoint)


def complete(client: OpenAIClient) -> Awaitable[ChatAnswer]:
    return client.complete(BODY)


def last_headers(standin: StandInProcess) -> dict[str, str]:
    """Return the headers of the last call, their names in lower case."""
    return {name.lower(): value for name, value in standin.requests()[-1]["headers"].items()}


def test_headers_are_sent_and_the_body_stays_as_it_is(standin: StandInProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANDEM_TEST_TOKEN", SECRET)
    headers = {"X-Team": "owls", "X-Route": "env:TANDEM_TEST_TOKEN"}
    using(standin, complete, headers=headers)
    sent = last_headers(standin)
    assert (sent["x-team"], sent["x-route"]) == ("owls", SECRET)
    assert standin.requests()[-1]["body"] == {**BODY, "stream": False}


def test_header_may_take_the_place_of_the_keys_own(standin: StandInProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANDEM_TEST_TOKEN", f"Basic {SECRET}")
    using(standin, complete, headers={"Authorization": "env:TANDEM_TEST_TOKEN"})
    assert last_headers(standin)["authorization"] == f"Basic {SECRET}"


def test_environment_adds_no_headers(standin: StandInProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"X-Leak: {SECRET}\nAuthorization: Bearer {SECRET}")
    monkeypatch.setenv("OPENAI_PROJECT_ID", SECRET)
    monkeypatch.setenv("OPENAI_ORG_ID", SECRET)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    using(standin, complete)
    assert SECRET not in str(standin.requests())


def test_variable_of_a_header_that_is_not_set_is_said(standin: StandInProcess) -> None:
    with pytest.raises(BadSettings, match="takes the header X-Route from TANDEM_TEST_NO_TOKEN, which is not set"):
        using(standin, complete, headers={"X-Route": "env:TANDEM_TEST_NO_TOKEN"})
    assert standin.stats()["calls"] == 0


def test_secret_of_a_header_is_taken_out_of_answers(standin: StandInProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANDEM_TEST_TOKEN", SECRET)
    standin.behave(text=f"Preferred: A {SECRET}")
    answer = using(standin, complete, headers={"X-Route": "env:TANDEM_TEST_TOKEN"})
    assert answer.text == "Preferred: A [key]"
    assert SECRET not in str(answer.response)


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        pytest.param({"Authorization": f"Bearer {SECRET}"}, "seems to hold a secret", id="authorization"),
        pytest.param({"x-API-key": SECRET}, "seems to hold a secret", id="api key"),
        pytest.param({"Cookie": SECRET}, "seems to hold a secret", id="cookie"),
        pytest.param({"Ocp-Apim-Subscription-Key": SECRET}, "seems to hold a secret", id="another key"),
        pytest.param({"X-Whatever": f"Bearer {SECRET}"}, "seems to hold a secret", id="bearer"),
        pytest.param({"X-Whatever": "sk-0123456789abcdef"}, "seems to hold a secret", id="a key's form"),
        pytest.param({"Host": "other.example"}, "set by the client itself", id="host"),
        pytest.param({"Transfer-Encoding": "chunked"}, "set by the client itself", id="framing"),
        pytest.param({"X-Route": "env:SECRET_KEY"}, "an environment variable for this key", id="server's own variable"),
        pytest.param({"X-Route": "env:HOME"}, "an environment variable for this key", id="any variable"),
        pytest.param({"X-Route": "env:"}, "names no environment variable", id="no variable"),
        pytest.param({"X-Team": f"owls\r\nX-Other: {SECRET}"}, "one line of plain ASCII", id="line end"),
        pytest.param({"X-Team": 3}, "one line of plain ASCII", id="no text"),
        pytest.param({"X Team": "owls"}, "letters, digits and dashes", id="name"),
        pytest.param({"X-Team": "a", "x-team": "b"}, "given twice", id="twice"),
        pytest.param(["X-Team"], "must be an object", id="no object"),
    ],
)
def test_header_that_may_not_be_is_refused_and_its_value_not_repeated(headers: Any, reason: str) -> None:
    with pytest.raises(BadSettings, match=reason) as refused:
        check_headers(headers)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("name", ["OpenAI-Organization", "HTTP-Referer", "X-Title", "X-Monkey", "anthropic-version"])
def test_ordinary_header_is_taken(name: str) -> None:
    check_headers({name: "owls"})


def test_stored_headers_are_checked_again_before_they_are_sent(standin: StandInProcess) -> None:
    with pytest.raises(BadSettings, match="set by the client itself"):
        using(standin, complete, headers={"Host": "other.example"})
    assert standin.stats()["calls"] == 0


@pytest.mark.parametrize("name", ["../../control/reset", "..", "b1?x=1", "b1/cancel", "", "b1\n", None])
def test_name_of_a_batch_can_not_lead_elsewhere(standin: StandInProcess, name: Any) -> None:
    with pytest.raises(RejectedCall, match="not a name of a file or a batch"):
        using(standin, lambda client: client.batch(name))
    assert standin.stats()["routes"] == {}


def test_slow_body_runs_into_the_time_out(standin: StandInProcess) -> None:
    standin.behave(slow=1.0, slow_seconds=20)
    with pytest.raises(TransientFailure, match=r"no answer within 0\.3 s"):
        using(standin, complete, timeout_seconds=0.3)


def test_an_answer_without_an_end_is_not_read_to_it(standin: StandInProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("judging.endpoints.client.MAX_ANSWER", 100)
    with pytest.raises(RejectedCall, match="the answer is longer"):
        using(standin, complete)


@pytest.mark.parametrize(
    ("content", "clean"),
    [
        pytest.param('{"a": "nothing"}', True, id="nothing"),
        pytest.param('{"a": "k/y"}', False, id="plain"),
        pytest.param(r'{"a": "k\/y"}', False, id="escaped"),
        pytest.param(r'{"a": "k\\\\\\\/y"}', False, id="escaped many times"),
        pytest.param(r'{"a": "\u006b/y"}', False, id="any unicode escape"),
    ],
)
def test_whether_an_answer_needs_scrubbing_is_never_missed(content: str, clean: bool) -> None:
    assert Secrets(["k/y"]).is_clean(content) is clean
    assert Secrets([]).is_clean('{"a": "nothing"}')


@pytest.fixture
def server() -> Iterator[StandIn]:
    with StandIn() as stand_in:
        yield stand_in


AZURE = "/openai/deployments/gpt-4o?api-version=2024-10-21"


@pytest.mark.parametrize(
    ("base", "path"),
    [
        (AZURE, "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"),
        ("/openai?api-version=2024-10-21", "/openai/deployments/small/chat/completions?api-version=2024-10-21"),
        ("/openai/v1/?api-version=preview", "/openai/v1/chat/completions?api-version=preview"),
        ("/v1/?api-version=2024-10-21", "/v1/chat/completions?api-version=2024-10-21"),
        ("/v1?route=a", "/v1/chat/completions?route=a"),
    ],
)
def test_query_of_the_base_url_is_sent_with_each_request(base: str, path: str, server: StandIn) -> None:
    at(server.base_url.removesuffix("/v1") + base, complete)
    assert server.heads[0][0] == f"POST {path} HTTP/1.1"


def test_batches_at_azure_are_not_of_a_deployment(server: StandIn) -> None:
    at(server.base_url.removesuffix("/v1") + AZURE, lambda client: client.batches())
    method, url, _ = server.heads[0][0].split()
    assert (method, urlsplit(url).path) == ("GET", "/openai/batches")
    assert parse_qs(urlsplit(url).query) == {"limit": ["100"], "api-version": ["2024-10-21"]}


def test_azure_gets_its_key_in_its_own_header(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANDEM_TEST_TOKEN", SECRET)
    at(server.base_url.removesuffix("/v1") + AZURE, complete, key_env="TANDEM_TEST_TOKEN")
    headers = server.heads[0][1]
    assert (headers["api-key"], "authorization" in headers) == (SECRET, False)


def test_no_cookie_is_sent_back_and_nothing_is_told_of_this_machine(settings: Any) -> None:
    settings.ENDPOINT_ALLOWLIST = ["localhost"]

    async def ask_twice(client: OpenAIClient) -> None:
        await complete(client)
        await complete(client)

    with StandIn([Reply(200, json.dumps(chat_completion("A")), {"Set-Cookie": "a=b"})]) as server:
        at(server.base_url.replace("127.0.0.1", "localhost"), ask_twice)
    expected = {"host", "accept", "accept-encoding", "authorization", "content-length", "content-type", "user-agent"}
    assert [set(headers) for _, headers in server.heads] == [expected, expected]


def proxy_at(server: StandIn) -> str:
    return f"http://me:{SECRET}@localhost:{urlsplit(server.base_url).port}"


def test_proxy_is_asked_for_a_host_that_only_it_can_resolve(server: StandIn, settings: Any) -> None:
    settings.ENDPOINT_PROXY = proxy_at(server)
    at("http://models.example/v1", complete)
    line, headers = server.heads[0]
    assert line == "POST http://models.example/v1/chat/completions HTTP/1.1"
    assert headers["proxy-authorization"] == f"Basic {b64encode(f'me:{SECRET}'.encode()).decode()}"


def test_proxy_that_refuses_a_tunnel_is_no_answer_and_its_address_stays_secret(settings: Any) -> None:
    with StandIn([Reply(407)]) as server:
        settings.ENDPOINT_PROXY = proxy_at(server)
        with pytest.raises(TransientFailure) as failed:
            at("https://models.example/v1", complete)
    assert [line for line, _ in server.heads] == ["CONNECT models.example:443 HTTP/1.1"]
    assert failed.value.kind == "no connection"
    told = str(failed.value)
    assert [part for part in (SECRET, "localhost", "models.example", "127.0.0.1") if part in told] == [], told


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://models.example/v1", "http://proxy:3128"),
        ("http://models.example/v1", "http://proxy:3128"),
        ("http://127.0.0.1:8000/v1", None),
        ("https://models.inside.example/v1", None),
        ("https://gpu-box/v1", None),
        ("https://other-gpu-box/v1", "http://proxy:3128"),
    ],
)
def test_hosts_that_are_listed_need_no_proxy(url: str, expected: str | None, settings: Any) -> None:
    settings.ENDPOINT_PROXY, settings.NO_PROXY = "http://proxy:3128", ["gpu-box", ".inside.example"]
    assert proxy_of(url) == expected


def test_host_is_checked_behind_a_proxy_as_far_as_it_has_an_address_here(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "resolve", resolve)
    monkeypatch.setattr(socket, "getaddrinfo", unknown_name)
    with pytest.raises(UnresolvedHost):
        check_host("https://models.example/v1")
    settings.ENDPOINT_PROXY = "http://proxy:3128"
    check_host("https://models.example/v1")
    with pytest.raises(EndpointRefused):
        check_host("https://10.0.0.1/v1")


def unknown_name(*_: object, **__: object) -> None:
    raise socket.gaierror("Name or service not known")


def test_time_to_connect_has_its_own_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("judging.endpoints.client.CONNECT_SECONDS", 0.1)
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(TransientFailure, match=r"no connection within 0\.1 s") as failed,
    ):
        at(f"https://127.0.0.1:{silent.getsockname()[1]}/v1", complete, timeout_seconds=60)
    assert failed.value.kind == "no connection"
