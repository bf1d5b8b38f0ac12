"""How errors of providers are classified, and how long they ask to wait."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from judging.core.errors import AccessDenied, CallFailed, RejectedCall, TransientFailure
from judging.endpoints.chat_answers import read_answer
from judging.endpoints.client import OpenAIClient
from judging.endpoints.failures import ErrorDetails, seconds_in, wait_of
from judging.models import Endpoint

GEMINI_LIMIT = {
    "code": 429,
    "message": "You exceeded your current quota, please check your plan and billing details. Please retry in 36.9s.",
    "status": "RESOURCE_EXHAUSTED",
    "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "36s"}],
}
GEMINI_KEY = {
    "code": 400,
    "message": "API key not valid. Please pass a valid API key.",
    "status": "INVALID_ARGUMENT",
    "details": [{"reason": "API_KEY_INVALID", "domain": "googleapis.com"}],
}
MOONSHOT = {
    "message": "Your account is suspended due to insufficient balance, please recharge your account",
    "type": "exceeded_current_quota_error",
}
AZURE = {
    "message": "The response was filtered",
    "code": "content_filter",
    "innererror": {"code": "ResponsibleAIPolicyViolation"},
}


def failure(status: int, error: Any, headers: dict[str, str] | None = None) -> CallFailed:
    """Return what an HTTP error becomes; an error that is an object stands in a body as OpenAI's."""
    client = OpenAIClient(Endpoint(name="e", base_url="https://models.example/v1", model="small"))
    content = error if isinstance(error, str) else json.dumps(error if isinstance(error, list) else {"error": error})
    return client.status_failure(status, content, headers or {})


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        pytest.param(429, {"code": "insufficient_quota"}, AccessDenied, id="quota in code"),
        pytest.param(429, {"type": "insufficient_quota", "code": None}, AccessDenied, id="quota in type"),
        pytest.param(429, MOONSHOT, AccessDenied, id="Moonshot's type"),
        pytest.param(429, {"message": MOONSHOT["message"]}, AccessDenied, id="a message only"),
        pytest.param(429, {"message": "Insufficient account balance"}, AccessDenied, id="balance"),
        pytest.param(400, {"message": "Your credit balance is too low to access it."}, AccessDenied, id="Anthropic"),
        pytest.param(400, GEMINI_KEY, AccessDenied, id="Gemini's key"),
        pytest.param(400, [{"error": GEMINI_KEY}], AccessDenied, id="Gemini's key in a list"),
        pytest.param(400, {"message": "Incorrect API key provided"}, AccessDenied, id="a wrong key"),
        pytest.param(429, GEMINI_LIMIT, TransientFailure, id="a limit per minute that mentions billing"),
        pytest.param(
            429,
            {"code": "rate_limit_exceeded", "message": "add a payment method at /billing"},
            TransientFailure,
            id="rate",
        ),
        pytest.param(500, {"message": "insufficient funds of memory"}, TransientFailure, id="a server error"),
        pytest.param(400, {"message": "the api key field is unknown"}, RejectedCall, id="no word of its validity"),
    ],
)
def test_accounts_and_keys_are_recognised_in_code_type_and_message(
    status: int, error: Any, kind: type[CallFailed]
) -> None:
    assert type(failure(status, error)) is kind
    if isinstance(error, dict):
        with pytest.raises(kind):
            read_answer(json.dumps({"error": {"code": status, **error}}))


@pytest.mark.parametrize(
    ("status", "error", "cause"),
    [
        pytest.param(400, AZURE, "filter", id="Azure"),
        pytest.param(400, {"message": "blocked", "innererror": AZURE["innererror"]}, "filter", id="Azure's inner code"),
        pytest.param(400, {"message": "finish_reason: PROHIBITED_CONTENT"}, "filter", id="Gemini"),
        pytest.param(400, {"code": "data_inspection_failed"}, "filter", id="DashScope"),
        pytest.param(400, {"message": "rejected as a result of our safety system"}, "filter", id="safety"),
        pytest.param(403, {"message": "Your input was flagged"}, "filter", id="OpenRouter"),
        pytest.param(400, {"code": "context_length_exceeded"}, "length", id="OpenAI"),
        pytest.param(413, "<html>Request Entity Too Large</html>", "length", id="a proxy"),
        pytest.param(400, {"message": "prompt is too long: 210000 tokens > 200000 maximum"}, "length", id="Anthropic"),
        pytest.param(
            400, {"message": "The input token count (9000) exceeds the maximum number of tokens"}, "length", id="Google"
        ),
        pytest.param(400, {"message": "the request exceeds the available context size"}, "length", id="llama.cpp"),
        pytest.param(500, {"message": "input exceeds the context length"}, "length", id="Ollama"),
        pytest.param(429, {"message": "Request too large for gpt-4o"}, "length", id="larger than a minute's limit"),
        pytest.param(422, {"message": "`inputs` must have less than 4096 tokens"}, "length", id="TGI"),
        pytest.param(400, {"message": "max_tokens is too large: 9000"}, "rejected", id="a parameter"),
        pytest.param(400, {"message": "unknown field safety_settings"}, "rejected", id="another parameter"),
        pytest.param(400, {"message": "unsupported parameter: seed"}, "rejected", id="no such parameter"),
    ],
)
def test_rejection_has_its_cause(status: int, error: Any, cause: str) -> None:
    found = failure(status, error)
    assert isinstance(found, RejectedCall)
    assert (found.cause, found.request_only) == (cause, True)


def test_answer_of_a_provider_behind_a_router_is_shown_and_its_secrets_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "sesame-0123")
    raw = json.dumps({"detail": "the prompt is too long for sesame-0123"})
    error = {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw, "provider_name": "P"}}
    with pytest.raises(RejectedCall, match="the prompt is too long") as told:
        read_answer(json.dumps({"error": error}))
    assert told.value.cause == "length"
    endpoint = Endpoint(name="e", base_url="https://models.example/v1", model="small", key_env="MY_API_KEY")
    found = OpenAIClient(endpoint).status_failure(400, json.dumps({"error": error}), {})
    assert "the prompt is too long for [key]" in str(found)
    assert "sesame" not in str(found)


@pytest.mark.parametrize("content", ["data: {}\n\ndata: [DONE]\n", "event: message\ndata: {}\n", "\n\ndata: {}"])
def test_event_stream_is_final(content: str) -> None:
    with pytest.raises(RejectedCall) as found:
        read_answer(content)
    assert not found.value.request_only


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7m12s", 432.0),
        ("1h0m0.5s", 3600.5),
        ("6ms", 0.006),
        ("59.6s", 59.6),
        ("20", 20.0),
        ("-1", -1.0),
        ("soon", None),
        ("", None),
        ("nan", None),
        ("12 apples", None),
    ],
)
def test_duration_is_read(value: str, seconds: float | None) -> None:
    assert seconds_in(value) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("headers", "error", "seconds"),
    [
        pytest.param({"Retry-After-Ms": "1500"}, {}, 1.5, id="milliseconds"),
        pytest.param({"Retry-After": "-3"}, {}, 0, id="below nothing"),
        pytest.param({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, {}, 0, id="a date that has passed"),
        pytest.param({"Retry-After": "20", "x-ratelimit-reset-requests": "7m12s"}, {}, 20, id="Retry-After first"),
        pytest.param({"x-ratelimit-reset-requests": "7m12s"}, {}, 432, id="a daily cap"),
        pytest.param(
            {
                "x-ratelimit-reset-requests": "8.64s",
                "x-ratelimit-remaining-requests": "99",
                "x-ratelimit-reset-tokens": "3s",
                "x-ratelimit-remaining-tokens": "0",
            },
            {},
            3,
            id="the exhausted limit",
        ),
        pytest.param({}, GEMINI_LIMIT, 36, id="Gemini"),
        pytest.param({}, {"message": "Rate limit reached. Please try again in 7m12s."}, 432, id="a message"),
        pytest.param({}, {"message": "Please retry after 20 seconds."}, 20, id="seconds in a message"),
        pytest.param({}, {"message": "slow down"}, None, id="nothing"),
    ],
)
def test_time_to_wait_is_read(headers: dict[str, str], error: dict[str, Any], seconds: float | None) -> None:
    found = failure(429, error, headers)
    assert isinstance(found, TransientFailure)
    assert found.retry_after == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        pytest.param("anthropic-ratelimit-requests-reset", datetime.isoformat, id="Anthropic"),
        pytest.param("X-RateLimit-Reset", lambda at: f"{at.timestamp() * 1000:.0f}", id="OpenRouter"),
        pytest.param("Retry-After", lambda at: format_datetime(at, usegmt=True), id="a date of HTTP"),
    ],
)
def test_date_is_the_time_until_it(name: str, written: Callable[[datetime], str]) -> None:
    seconds = wait_of(429, {name: written(datetime.now(UTC) + timedelta(days=1))}, ErrorDetails())
    assert seconds == pytest.approx(timedelta(days=1).total_seconds(), rel=0.05)


@pytest.mark.parametrize("name", ["retry-after-ms", "retry-after"])
def test_a_time_without_end_is_none(name: str) -> None:
    assert wait_of(429, {name: "9" * 400}, ErrorDetails()) is None


def test_limits_in_headers_of_a_server_error_are_no_time_to_wait() -> None:
    assert wait_of(500, {"x-ratelimit-reset-requests": "7m12s"}, ErrorDetails()) is None
    assert wait_of(500, {"Retry-After": "2"}, ErrorDetails()) == 2
