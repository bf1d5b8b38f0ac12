"""Log-probabilities of answer tokens."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from judging.methods.answers import MARKUP, QUOTES

AROUND = f" \t\n\r.:{MARKUP}{QUOTES}▁Ġ"  # added by tokenizers before words, or by models around letters


def tokens_in(response: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the tokens of an answer with their log-probabilities and alternatives."""
    choice = (response.get("choices") or [{}])[0]
    content = (choice.get("logprobs") or {}).get("content") if isinstance(choice, dict) else None
    return [token for token in content if isinstance(token, dict)] if isinstance(content, list) else []


def bare(token: object) -> str:
    """Return a token's text without surrounding spaces and marks."""
    return str(token).strip(AROUND)


def probabilities(token: Mapping[str, Any], answers: Sequence[str]) -> dict[str, float]:
    """Sum the probability of each answer over a token's alternatives, such as ` A` and `A`; missing ones have 0."""
    seen: dict[str, float] = {}
    for entry in [token, *(token.get("top_logprobs") or [])]:
        if isinstance(entry, dict) and isinstance(value := entry.get("logprob"), int | float):
            seen[str(entry.get("token"))] = math.exp(min(value, 0.0))  # some round to a little above 0
    return {answer: sum(p for name, p in seen.items() if bare(name) == answer) for answer in answers}


def shares_of(response: Mapping[str, Any], said: str, answers: Sequence[str]) -> dict[str, float] | None:
    """Return each answer's share of their total probability at the last token equal to `said`.

    `None` without probabilities or such a token.
    """
    for token in reversed(tokens_in(response)):
        if bare(token.get("token")) == said:
            return shares_at(token, answers)
    return None


def shares_at(token: Mapping[str, Any], answers: Sequence[str]) -> dict[str, float] | None:
    """Return each answer's share of their total probability at one token; `None` if that is 0."""
    found = probabilities(token, answers)
    total = sum(found.values())
    return {answer: p / total for answer, p in found.items()} if total > 0 else None
