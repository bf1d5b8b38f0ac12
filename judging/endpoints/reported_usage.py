"""Reading the tokens and the price that an endpoint reports with an answer. No network.

Endpoints count differently: reasoning within the completion's tokens (OpenAI), beside them (xAI) or in the total alone
(Gemini); cached tokens within the prompt's, or beside them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from judging.core.pricing import CAPS_BELOW, PLACES

TICKS = Decimal(10_000_000_000)  # of a US dollar, in which xAI writes prices


@dataclass(frozen=True)
class ReportedUsage:
    """Tokens and price of one call, or `None` for anything that is not reported.

    prompt_tokens : those from the cache included; 0 is a count of nothing, since no prompt is empty
    completion_tokens : everything that was written, reasoning included
    cached_tokens : those of the prompt that the endpoint took from its cache of prefixes
    billed : in US dollars
    """

    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int
    billed: Decimal | None


def read_usage(usage: object, *, is_empty: bool) -> ReportedUsage:
    """Read the field `usage` of a completion. `is_empty`: its answer has no text, so that 0 written tokens are possible."""
    if not isinstance(usage, dict):
        return ReportedUsage(None, None, 0, None)
    completion, reasoning = token_count(usage.get("completion_tokens")), reasoning_tokens_in(usage)
    cached, total = cached_tokens_in(usage), token_count(usage.get("total_tokens"))
    prompt = token_count(usage.get("prompt_tokens")) or None
    cache_tokens = cached + (token_count(usage.get("cache_creation_input_tokens")) or 0)
    if prompt is not None and (
        cached > prompt or (cache_tokens and total == prompt + (completion or 0) + cache_tokens)
    ):
        prompt += cache_tokens
    written = completion
    if reasoning > (completion or 0):
        written = (completion or 0) + reasoning
    if prompt is not None and total is not None and total > prompt:
        written = max(written or 0, total - prompt)
    if written == 0 and (prompt is None or not is_empty):
        written = None
    return ReportedUsage(prompt, written, cached, billed_in(usage))


def cached_tokens_in(usage: Mapping[str, Any]) -> int:
    """Return the prompt tokens from the cache, as OpenAI, vLLM and OpenRouter report them, or DeepSeek."""
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else usage.get("prompt_cache_hit_tokens")
    return token_count(cached) or 0


def reasoning_tokens_in(usage: Mapping[str, Any]) -> int:
    """Return the tokens of the reasoning."""
    details = usage.get("completion_tokens_details")
    return (token_count(details.get("reasoning_tokens")) or 0) if isinstance(details, dict) else 0


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
