"""Tokens and prices that endpoints report, each in its own way."""

import json
from decimal import Decimal
from typing import Any

import pytest

from judging.endpoints.chat_answers import ChatAnswer, read_answer


def answer(usage: Any, text: str | None = "Preferred: A") -> ChatAnswer:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return read_answer(json.dumps({"object": "chat.completion", "choices": [choice], "usage": usage}))


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
    found = answer(usage)
    assert (found.prompt_tokens, found.completion_tokens) == tokens


def test_an_answer_without_text_may_have_no_tokens() -> None:
    assert answer(counts(490, 0, 490), text=None).completion_tokens == 0
    assert answer(counts(0, 0, 0), text=None).completion_tokens is None


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
    assert answer({**counts(490, 7, 497), **usage}).billed == (None if billed is None else Decimal(billed))
