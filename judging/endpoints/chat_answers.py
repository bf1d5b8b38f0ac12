"""Parsing a chat endpoint's response into an answer or an error, without secrets, and its usage. No network.

Besides OpenAI's format: content as a list of parts (Mistral), reasoning in a separate field (DeepSeek, vLLM), errors in
a body with status 200 or within a choice (OpenRouter), as plain text (Ollama) or at the top of the body (vLLM, Mistral).
Reasoning counts within the completion's tokens (OpenAI), beside them (xAI) or in the total alone (Gemini).
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from annotation.core.reasons import Reason, reason
from judging.core.errors import CallFailed, RejectedCall, TransientFailure
from judging.core.pricing import CAPS_BELOW, PLACES
from judging.endpoints.failures import ErrorDetails, details_of, failure_of, status_of, wait_of

TEXT_PARTS = frozenset({"text", "output_text"})
UNUSABLE = "unusable"  # finish reason of stored responses that were charged for and hold no answer
Scrub = Callable[[str], str]
TICKS = Decimal(10_000_000_000)  # of a US dollar, in which xAI writes prices


@dataclass(frozen=True)
class ChatAnswer:
    """The answer to one call, or `None` for what the endpoint didn't report.

    prompt_tokens, completion_tokens : those from its cache included; everything that was written, reasoning included
    cached_tokens : those of the prompt that it took from its cache of prefixes
    billed : the call's price by the endpoint, in US dollars
    """

    text: str
    finish_reason: str
    response: dict[str, Any]
    prompt_tokens: int | None
    completion_tokens: int | None
    latency_ms: float | None
    cached_tokens: int = 0
    billed: Decimal | None = None


def storable(text: str) -> str:
    """Replace what databases reject: NUL characters and lone surrogates."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()


def read_answer(content: str, *, latency_ms: float | None = None, scrub: Scrub | None = storable) -> ChatAnswer:
    """Parse a chat completion. `scrub` is applied to every string in it.

    Raises: the CallFailed that an error in it stands for; TransientFailure for anything else without an answer, such as
    a proxy's page or a truncated body. `charged` holds what has to be paid all the same.
    """
    try:
        response = parse_json(content)
        if scrub is not None:
            response = scrub_json(response, scrub)
    except (ValueError, RecursionError):
        response = None
    if not isinstance(response, dict):
        raise not_a_completion((scrub or storable)(content))
    try:
        text, finish_reason = _first_answer(response)
    except CallFailed as failure:
        unusable = _answer(response, "", UNUSABLE, latency_ms)
        is_charged = unusable.prompt_tokens or unusable.completion_tokens or unusable.billed
        failure.charged = unusable if is_charged else None
        raise
    return _answer(response, text, finish_reason, latency_ms)


def _first_answer(response: Mapping[str, Any]) -> tuple[str, str]:
    """Return text and finish reason of the first choice.

    Raises: CallFailed
    """
    choices = response.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if error := error_in(response) or (error_in(choice) if isinstance(choice, dict) else None):
        raise error
    if choices == [] or (choices is None and response.get("object") == "chat.completion"):
        raise TransientFailure(reason("no_completion_choice"), kind="no choice")
    message = choice.get("message") if isinstance(choice, dict) else None
    text = text_of(message.get("content")) if isinstance(message, dict) else None
    if text is None or not isinstance(choice, dict):
        raise not_a_completion(json.dumps(response, ensure_ascii=False))
    finish_reason = choice.get("finish_reason")
    if finish_reason == "error":
        raise TransientFailure(reason("broken_off"), kind="broken off")
    return text, finish_reason[:40] if isinstance(finish_reason, str) else ""


def text_of(content: object) -> str | None:
    """Return a message's content as text, with the text parts of a list joined, or `None` for anything else.

    Parts of other types, such as reasoning, stay in the raw completion only.
    """
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list) or not all(isinstance(part, str | dict) for part in content):
        return None
    parts = [{"text": part} if isinstance(part, str) else part for part in content]
    texts = [part.get("text") for part in parts if part.get("type", "text") in TEXT_PARTS]
    return "".join(text for text in texts if isinstance(text, str))


def error_in(body: Mapping[str, Any]) -> CallFailed | None:
    """Return the failure for an error in a body with status 200, as for the HTTP status, or `None` without an error."""
    error: Any = body.get("error")
    if not error and body.get("object") == "error":
        error = body
    if not error:
        return None
    details = details_of(error)
    status = status_of(details)
    label = "an error" if status is None else f"HTTP {status}"
    message = details.message or json.dumps(error, ensure_ascii=False)
    code = error.get("code") if isinstance(error, dict) else None
    suffix = f" ({code})"[:80] if code not in (None, "", status, str(status)) else ""
    why = with_raw(reason("error_in_answer", label=label, text=f"{one_line(message, 300)}{suffix}"), details)
    status = 500 if status is None else status
    return failure_of(status, why, kind=label, error=details, wait=wait_of(status, {}, details))


def with_raw(why: Reason, error: ErrorDetails) -> Reason:
    """Add what a provider behind the endpoint answered."""
    return reason("provider_said", why=why, text=one_line(error.raw, 300)) if error.raw else why


def _answer(response: dict[str, Any], text: str, finish_reason: str, latency_ms: float | None) -> ChatAnswer:
    """Return an answer with the usage that its response reports. An answer without text may have written 0 tokens."""
    usage = response.get("usage")
    if not isinstance(usage, dict):
        return ChatAnswer(text, finish_reason, response, None, None, latency_ms)
    completion, total = token_count(usage.get("completion_tokens")), token_count(usage.get("total_tokens"))
    details = usage.get("completion_tokens_details")
    reasoning = (token_count(details.get("reasoning_tokens")) or 0) if isinstance(details, dict) else 0
    details = usage.get("prompt_tokens_details")  # of OpenAI, vLLM and OpenRouter; DeepSeek has another field
    cached = details.get("cached_tokens") if isinstance(details, dict) else usage.get("prompt_cache_hit_tokens")
    cached_tokens = token_count(cached) or 0
    prompt = token_count(usage.get("prompt_tokens")) or None  # 0 is a count of nothing, since no prompt is empty
    cache_tokens = cached_tokens + (token_count(usage.get("cache_creation_input_tokens")) or 0)
    if prompt is not None and (
        cached_tokens > prompt or (cache_tokens and total == prompt + (completion or 0) + cache_tokens)
    ):
        prompt += cache_tokens
    written = completion
    if reasoning > (completion or 0):
        written = (completion or 0) + reasoning
    if prompt is not None and total is not None and total > prompt:
        written = max(written or 0, total - prompt)
    if written == 0 and (prompt is None or text):
        written = None
    return ChatAnswer(text, finish_reason, response, prompt, written, latency_ms, cached_tokens, billed_in(usage))


def not_a_completion(content: str) -> CallFailed:
    """Return the failure for a body that is no chat completion. An event stream would come again."""
    if content.lstrip().startswith(("data:", "event:")):
        return a_stream()
    return TransientFailure(reason("no_completion", text=one_line(content, 200)), kind="no completion")


def a_stream() -> RejectedCall:
    """Return the failure for an event stream: the endpoint streams all the same."""
    return RejectedCall(reason("event_stream"), kind="a stream", request_only=False)


def parse_json(content: str) -> Any:
    """Parse JSON. NaN, Infinity and numbers too large for a float become `None`, since databases reject them."""
    return json.loads(content, parse_constant=lambda _name: None, parse_float=finite_float)


def finite_float(digits: str) -> float | None:
    """Return a float, or `None` if it is too large."""
    value = float(digits)
    return value if math.isfinite(value) else None


def scrub_json(value: Any, scrub: Scrub) -> Any:
    """Apply `scrub` to every string in a JSON value, keys included."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, list):
        return [scrub_json(entry, scrub) for entry in value]
    if isinstance(value, dict):
        return {scrub(name): scrub_json(entry, scrub) for name, entry in value.items()}
    return value


def one_line(text: str, length: int) -> str:
    """Return the start of a text on one line."""
    return " ".join(text.split())[:length]


def billed_in(usage: Mapping[str, Any]) -> Decimal | None:
    """Return the price of the call, with what the account pays the provider itself (OpenRouter), or of xAI.

    A price of 0 is none: a proxy that knows no prices writes it too.
    """
    price = amount(usage.get("cost"))
    if price is None:
        ticks = amount(usage.get("cost_in_usd_ticks"))
        price = None if ticks is None else ticks / TICKS
    elif usage.get("is_byok") is True and isinstance(details := usage.get("cost_details"), dict):
        price += amount(details.get("upstream_inference_cost")) or 0
    return price.quantize(PLACES) if price and price < CAPS_BELOW else None


def amount(value: object) -> Decimal | None:
    """Return a number that is not negative, or `None` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() and 0 <= number < TICKS * CAPS_BELOW else None


def token_count(value: object) -> int | None:
    """Return a token count, also if it was sent as a string or a float, or `None` for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 11:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


class Secrets:
    """Secrets to scrub from answers: the endpoint's key, and header values from the environment."""

    def __init__(self, values: Iterable[str]) -> None:
        self.values = [value for value in values if value]
        self.echoes = [(echo_of(value), loose_echo_of(value)) for value in self.values]

    def scrub(self, text: str) -> str:
        """Replace every secret in a text, and what databases reject."""
        text = storable(text)
        for exact, _ in self.echoes:
            text = exact.sub("[key]", text)
        return text

    def is_clean(self, content: str) -> bool:
        """Tell whether nothing in a JSON document can need scrubbing, which is cheaper than scrubbing each string."""
        if "\\u" in content or "\x00" in content:
            return False
        return not any(loose.search(content) for _, loose in self.echoes)


def echo_of(secret: str) -> re.Pattern[str]:
    """Match a secret verbatim and as JSON may escape it, also in nested JSON: `\\/`, `\\u0073`."""
    return re.compile(
        "".join(rf"(?:\\{{0,4}}{re.escape(character)}|\\{{1,4}}u(?i:{ord(character):04x}))" for character in secret)
    )


def loose_echo_of(secret: str) -> re.Pattern[str]:
    """Match what `echo_of` could match once JSON without `\\u` is parsed: each nesting level doubles backslashes."""
    return re.compile("".join(rf"\\*{re.escape(character)}" for character in secret))
