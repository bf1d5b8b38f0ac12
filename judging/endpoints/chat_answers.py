"""Parsing a chat endpoint's response into an answer or an error. No network.

Besides OpenAI's format: content as a list of parts (Mistral), reasoning in a separate field (DeepSeek, vLLM), errors in
a body with status 200 or within a choice (OpenRouter), as plain text (Ollama) or at the top of the body (vLLM, Mistral).
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from annotation.core.reasons import Reason, reason
from judging.core.errors import CallFailed, RejectedCall, TransientFailure
from judging.endpoints.failures import ErrorDetails, details_of, failure_of, status_of
from judging.endpoints.reported_usage import read_usage
from judging.endpoints.waits import wait_of

TEXT_PARTS = frozenset({"text", "output_text"})
UNUSABLE = "unusable"  # finish reason of stored responses that were charged for and hold no answer
Scrub = Callable[[str], str]


@dataclass(frozen=True)
class ChatAnswer:
    """The answer to one call, or `None` for what the endpoint didn't report.

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
        failure.charged = _charged(response, latency_ms)
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
    return "".join(_text_of_part(part) for part in content)


def _text_of_part(part: str | dict[str, Any]) -> str:
    if isinstance(part, str):
        return part
    text = part.get("text") if part.get("type", "text") in TEXT_PARTS else None
    return text if isinstance(text, str) else ""


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
    usage = read_usage(response.get("usage"), is_empty=not text)
    tokens = usage.prompt_tokens, usage.completion_tokens
    return ChatAnswer(text, finish_reason, response, *tokens, latency_ms, usage.cached_tokens, usage.billed)


def _charged(response: dict[str, Any], latency_ms: float | None) -> ChatAnswer | None:
    """Return a response without an answer as a `ChatAnswer`, if the endpoint counted tokens for it."""
    answer = _answer(response, "", UNUSABLE, latency_ms)
    return answer if answer.prompt_tokens or answer.completion_tokens or answer.billed else None


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
