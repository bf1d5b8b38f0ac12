"""Log-probabilities of answer tokens, where an endpoint gives them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from judging.judges.answers import MARKUP, QUOTES

AROUND = f" \t\n\r.:{MARKUP}{QUOTES}▁Ġ"  # what tokenizers put before a word or models around a letter


def tokens_in(response: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """List the tokens of an answer, each with its log-probability and those of the likeliest others."""
    choice = (response.get("choices") or [{}])[0]
    content = (choice.get("logprobs") or {}).get("content") if isinstance(choice, dict) else None
    return [token for token in content if isinstance(token, dict)] if isinstance(content, list) else []


def bare(token: object) -> str:
    """Return what a token says, without spaces and marks around it."""
    return str(token).strip(AROUND)


def probabilities(token: Mapping[str, Any], answers: Sequence[str]) -> dict[str, float]:
    """Sum the probability of each answer over the alternatives at one place, as ` A` and `A`; a missing one has 0."""
    seen: dict[str, float] = {}
    for entry in [token, *(token.get("top_logprobs") or [])]:
        if isinstance(entry, dict) and isinstance(value := entry.get("logprob"), int | float):
            seen[str(entry.get("token"))] = math.exp(min(value, 0.0))  # some round to a little above 0
    return {answer: sum(p for name, p in seen.items() if bare(name) == answer) for answer in answers}


def shares_of(response: Mapping[str, Any], said: str, answers: Sequence[str]) -> dict[str, float] | None:
    """Return each answer's share in their common probability at the last token that says `said`.

    `None` where the endpoint gave no probabilities or no token says it.
    """
    for token in reversed(tokens_in(response)):
        if bare(token.get("token")) == said:
            return shares_at(token, answers)
    return None


def shares_at(token: Mapping[str, Any], answers: Sequence[str]) -> dict[str, float] | None:
    """Return each answer's share in their common probability at one token; `None` if none of them has any."""
    found = probabilities(token, answers)
    total = sum(found.values())
    return {answer: p / total for answer, p in found.items()} if total > 0 else None
