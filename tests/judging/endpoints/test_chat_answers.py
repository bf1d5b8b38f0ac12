"""What endpoints send with status 200: answers in the forms that are documented, errors, token counts and prices."""

import json
from decimal import Decimal
from typing import Any

import pytest

from annotation.core.reasons import reason
from judging.calls.requests import marked_refusal, unparsed
from judging.core.errors import AccessDenied, CallFailed, RejectedCall, TransientFailure
from judging.endpoints.chat_answers import UNUSABLE, read_answer
from judging.methods import Reply

USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
THINKING = {"type": "thinking", "thinking": [{"type": "text", "text": "Preferred: B?"}]}


def completion(message: dict[str, Any], usage: Any = USAGE, **choice: Any) -> str:
    whole = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}, **choice}
    return json.dumps({"object": "chat.completion", "choices": [whole], "usage": usage})


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param([THINKING, {"type": "text", "text": "Preferred: A"}], "Preferred: A", id="thoughts first"),
        pytest.param(
            [{"type": "text", "text": "Pre"}, {"type": "text", "text": "ferred: A"}], "Preferred: A", id="two"
        ),
        pytest.param([{"type": "output_text", "text": "Preferred: A", "annotations": []}], "Preferred: A", id="output"),
        pytest.param([{"type": "text", "text": "A"}, {"type": "reference", "reference_ids": [1]}], "A", id="reference"),
        pytest.param(["Preferred: ", {"text": "A"}], "Preferred: A", id="plain texts"),
        pytest.param([THINKING], "", id="nothing but thoughts"),
        pytest.param([{"type": "text", "text": None}], "", id="a part without text"),
        pytest.param([], "", id="no part"),
        pytest.param(None, "", id="null"),
    ],
)
def test_text_of_a_message_is_that_of_its_text_parts(content: Any, text: str) -> None:
    answer = read_answer(completion({"content": content}))
    assert (answer.text, answer.prompt_tokens, answer.completion_tokens) == (text, 11, 7)
    assert answer.response["choices"][0]["message"]["content"] == content


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        pytest.param({"prompt_tokens": "11", "completion_tokens": "7"}, (11, 7), id="texts"),
        pytest.param({"prompt_tokens": 11.0, "completion_tokens": 7.5}, (11, None), id="fractions"),
        pytest.param({"prompt_tokens": "-1", "completion_tokens": "many"}, (None, None), id="no numbers"),
        pytest.param({"prompt_tokens": True, "completion_tokens": 10**12}, (None, None), id="no counts"),
        pytest.param(None, (None, None), id="missing"),
        pytest.param([11, 7], (None, None), id="a list"),
    ],
)
def test_tokens_are_read_however_they_are_written(usage: Any, counts: tuple[int | None, int | None]) -> None:
    answer = read_answer(completion({"content": "A"}, usage))
    assert (answer.prompt_tokens, answer.completion_tokens) == counts


@pytest.mark.parametrize(
    ("told", "cached"),
    [
        pytest.param({"prompt_tokens_details": {"cached_tokens": 8}}, 8, id="OpenAI, vLLM, OpenRouter"),
        pytest.param({"prompt_cache_hit_tokens": "8", "prompt_cache_miss_tokens": 3}, 8, id="DeepSeek"),
        pytest.param({"prompt_tokens_details": None}, 0, id="null"),
        pytest.param({"prompt_tokens_details": {"cached_tokens": -8}}, 0, id="no count"),
        pytest.param({}, 0, id="nothing"),
    ],
)
def test_tokens_from_the_cache_of_prefixes_are_read(told: dict[str, Any], cached: int) -> None:
    assert read_answer(completion({"content": "A"}, {**USAGE, **told})).cached_tokens == cached


def test_finish_reason_that_is_no_text_loses_no_answer() -> None:
    assert read_answer(completion({"content": "A"}, finish_reason={"type": "stop"})).finish_reason == ""


@pytest.mark.parametrize(
    ("body", "kind", "reason"),
    [
        pytest.param({"error": {"code": 429, "message": "slow down"}}, TransientFailure, "HTTP 429", id="a status"),
        pytest.param(
            {"error": {"code": "429", "message": "wait"}}, TransientFailure, "HTTP 429", id="a status as text"
        ),
        pytest.param({"error": {"code": "rate_limit_exceeded"}}, TransientFailure, "HTTP 429", id="rate limit"),
        pytest.param({"error": {"type": "RateLimitError", "code": None}}, TransientFailure, "HTTP 429", id="a type"),
        pytest.param({"error": "Rate limit reached"}, TransientFailure, "HTTP 429 .*Rate limit", id="a mere text"),
        pytest.param({"error": {"code": 502, "message": "down"}}, TransientFailure, "HTTP 502 .*down", id="down"),
        pytest.param({"error": {"type": "overloaded_error"}}, TransientFailure, "HTTP 503", id="overloaded"),
        pytest.param({"error": {"message": "who knows"}}, TransientFailure, "an error in .*who knows", id="unknown"),
        pytest.param({"error": {"code": "model_not_found"}}, RejectedCall, "HTTP 404 .*model_not_found", id="no model"),
        pytest.param({"error": "model 'x' not found"}, RejectedCall, "HTTP 404 .*model 'x'", id="no model, as a text"),
        pytest.param(
            {"object": "error", "message": "no x here", "type": "NotFoundError", "code": 404},
            RejectedCall,
            "HTTP 404 .*no x here",
            id="at the top",
        ),
        pytest.param({"error": {"code": 403, "message": "not for you"}}, AccessDenied, "HTTP 403", id="forbidden"),
        pytest.param({"error": {"code": "invalid_api_key"}}, AccessDenied, "HTTP 401", id="key"),
        pytest.param(
            {"choices": [], "object": "chat.completion"}, TransientFailure, "without a choice", id="no choice"
        ),
        pytest.param({"choices": None, "object": "chat.completion"}, TransientFailure, "without a choice", id="null"),
        pytest.param({"choices": [None]}, TransientFailure, "not a chat completion", id="a choice that is none"),
        pytest.param({"choices": [{"message": {"content": 5}}]}, TransientFailure, "not a chat", id="a number"),
        pytest.param({"hello": 1}, TransientFailure, "not a chat completion", id="something else"),
        pytest.param(
            {"choices": [{"error": {"code": 502, "message": "gone"}, "message": {"content": "Pref"}}]},
            TransientFailure,
            "HTTP 502 .*gone",
            id="an error in a choice",
        ),
        pytest.param(
            {"choices": [{"finish_reason": "error", "message": {"content": "Pref"}}]},
            TransientFailure,
            "broke off",
            id="broken off",
        ),
    ],
)
def test_what_holds_no_answer_is_the_failure_that_it_tells_and_its_tokens_are_known(
    body: dict[str, Any], kind: type[CallFailed], reason: str
) -> None:
    with pytest.raises(CallFailed, match=reason) as failed:
        read_answer(json.dumps(body))
    assert (type(failed.value), failed.value.charged) == (kind, None)
    with pytest.raises(kind) as failed:
        read_answer(json.dumps({**body, "usage": USAGE}))
    charged = failed.value.charged
    assert (charged.finish_reason, charged.prompt_tokens, charged.completion_tokens) == (UNUSABLE, 11, 7)


@pytest.mark.parametrize(
    ("body", "others_may_pass"),
    [
        pytest.param({"error": {"code": "context_length_exceeded"}}, True, id="too long"),
        pytest.param({"error": {"code": 422, "message": "temperature must be positive"}}, True, id="unprocessable"),
        pytest.param({"error": {"code": "model_not_found"}}, False, id="no model"),
    ],
)
def test_rejection_tells_whether_other_requests_may_pass(body: dict[str, Any], others_may_pass: bool) -> None:
    with pytest.raises(RejectedCall) as failed:
        read_answer(json.dumps(body))
    assert failed.value.request_only == others_may_pass


@pytest.mark.parametrize(
    "message",
    [
        pytest.param({"content": None, "refusal": "I'd rather not."}, id="field"),
        pytest.param({"content": [{"type": "refusal", "refusal": "I'd rather not."}]}, id="part"),
    ],
)
def test_refusal_is_found_in_its_field_and_in_a_part(message: dict[str, Any]) -> None:
    answer = read_answer(completion(message))
    assert marked_refusal(Reply(answer.text, answer.finish_reason, answer.response)) == reason(
        "text", text="I'd rather not."
    )


@pytest.mark.parametrize(
    "message",
    [
        pytest.param({"content": None, "reasoning_content": "Hm."}, id="DeepSeek's field"),
        pytest.param({"content": "", "reasoning": "Hm."}, id="OpenRouter's field"),
        pytest.param({"content": [THINKING]}, id="parts"),
    ],
)
def test_answer_that_is_nothing_but_thoughts_says_so(message: dict[str, Any]) -> None:
    answer = read_answer(completion(message, finish_reason="length"))
    reply = Reply(answer.text, answer.finish_reason, answer.response)
    assert unparsed(reply, reason("answer_empty")).failure == reason("cut_off", why=reason("thoughts_alone"))


def test_a_code_of_thousands_of_digits_is_no_status() -> None:
    with pytest.raises(TransientFailure, match="HTTP 503 in the body of an answer: overloaded"):
        read_answer(json.dumps({"error": {"code": "1" * 5000, "message": "overloaded"}}))


def counts(prompt: Any, completion: Any, total: Any, *, reasoning: int = 0, cached: int = 0) -> dict[str, Any]:
    return {
        **({} if prompt is None else {"prompt_tokens": prompt}),
        **({} if completion is None else {"completion_tokens": completion}),
        **({} if total is None else {"total_tokens": total}),
        **({"completion_tokens_details": {"reasoning_tokens": reasoning}} if reasoning else {}),
        **({"prompt_tokens_details": {"cached_tokens": cached}} if cached else {}),
    }


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        pytest.param(counts(490, 2007, 2497, reasoning=2000), (490, 2007), id="OpenAI: within the completion"),
        pytest.param(counts(490, 7, 2497, reasoning=2000), (490, 2007), id="xAI: beside the completion"),
        pytest.param(counts(490, 7, None, reasoning=2000), (490, 2007), id="beside it, without a total"),
        pytest.param(counts(490, 7, 2497), (490, 2007), id="Gemini: in the total alone"),
        pytest.param(counts(490, 0, 2497), (490, 2007), id="Gemini: a completion of none"),
        pytest.param(counts(490, None, 2497), (490, 2007), id="no completion tokens"),
        pytest.param(counts(10120, 1499, 14428, reasoning=2809, cached=128), (10120, 4308), id="xAI with cached ones"),
        pytest.param(counts(490, 7, 497, cached=400), (490, 7), id="cached within the prompt"),
        pytest.param(counts(90, 7, 497, cached=400), (490, 7), id="cached beside the prompt"),
        pytest.param(counts(90, 7, None, cached=400), (490, 7), id="more cached than the prompt has"),
        pytest.param(counts(490, 7, 12), (490, 7), id="a total that is too low"),
        pytest.param(counts(0, 0, 0), (None, None), id="zeros"),
        pytest.param(counts(0, 7, 7), (None, 7), id="a prompt of none"),
        pytest.param(counts(490, 0, 490), (490, None), id="a text of none"),
    ],
)
def test_every_token_that_is_paid_for_is_counted_once(usage: Any, tokens: tuple[int | None, int | None]) -> None:
    found = read_answer(completion({"content": "Preferred: A"}, usage))
    assert (found.prompt_tokens, found.completion_tokens) == tokens


def test_an_answer_without_text_may_have_no_tokens() -> None:
    assert read_answer(completion({"content": None}, counts(490, 0, 490))).completion_tokens == 0
    assert read_answer(completion({"content": None}, counts(0, 0, 0))).completion_tokens is None


@pytest.mark.parametrize(
    ("usage", "billed"),
    [
        pytest.param({"cost": 0.00375}, "0.00375", id="OpenRouter"),
        pytest.param({"cost": "0.00375"}, "0.00375", id="as a text"),
        pytest.param(
            {"cost": 0.0002, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.004}},
            "0.0042",
            id="own key",
        ),
        pytest.param({"cost": 0.0042, "cost_details": {"upstream_inference_cost": 0.004}}, "0.0042", id="its own key"),
        pytest.param({"cost_in_usd_ticks": 232856000}, "0.0232856", id="xAI"),
        pytest.param({"cost": 0}, None, id="nothing"),
        pytest.param({"cost": None}, None, id="null"),
        pytest.param({"cost": True}, None, id="no number"),
        pytest.param({"cost": -1}, None, id="below nothing"),
        pytest.param({"cost": "1e999999"}, None, id="too much"),
        pytest.param({"cost": {"total": 1}}, None, id="an object"),
        pytest.param({}, None, id="missing"),
    ],
)
def test_price_of_a_call_is_read(usage: Any, billed: str | None) -> None:
    assert read_answer(completion({"content": "A"}, {**counts(490, 7, 497), **usage})).billed == (
        None if billed is None else Decimal(billed)
    )
