"""What the stand-in remembers: how it is to behave, and what it was asked."""

import json
import time
from collections import Counter, deque
from hashlib import blake2b
from random import Random
from typing import Any

from tests.standin.behaviour import Behaviour, changed

STEP, CHARACTERS = 32, 4  # tokens that are kept together; characters of a token


class State:
    """One server's memory.

    answered : how often each body got an answer, a whole one or a bad one, by its hash; what a provider would charge
    prefixes : hashes of prompts' beginnings, in steps of `STEP` tokens
    """

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = self.initial = behaviour
        self.files: dict[str, dict[str, Any]] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.in_flight = 0
        self.forget()

    def behave(self, changes: dict[str, Any]) -> None:
        """Change the behaviour; another seed restarts its draws."""
        self.behaviour = changed(self.behaviour, changes)
        if "seed" in changes:
            self.rng = Random(self.behaviour.seed)

    def forget(self) -> None:
        """Restart counting and drawing."""
        self.rng = Random(self.behaviour.seed)
        self.outcomes: Counter[str] = Counter()
        self.routes: Counter[str] = Counter()
        self.answered: Counter[bytes] = Counter()
        self.prefixes: set[bytes] = set()
        self.tokens: Counter[str] = Counter()
        self.most_in_flight = self.in_flight
        self.first_at = self.last_at = 0.0
        self.recent: deque[dict[str, Any]] = deque(maxlen=self.behaviour.keep)

    def reset(self) -> None:
        """Be as at the start."""
        self.behaviour = self.initial
        self.files.clear()
        self.batches.clear()
        self.forget()

    def begin(self, headers: dict[str, str], body: dict[str, Any]) -> None:
        """Note a call that came in."""
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self.last_at = time.monotonic()
        self.first_at = self.first_at or self.last_at
        if self.behaviour.keep:
            self.recent.append({"headers": headers, "body": body})

    def answer(self, raw: bytes) -> None:
        """Note that a body gets an answer that a provider would charge for."""
        self.answered[blake2b(raw, digest_size=12).digest()] += 1

    def use(self, body: dict[str, Any], usage: dict[str, Any]) -> None:
        """Say in an answer's `usage` how many tokens of its prompt begin earlier ones, and keep this one's beginnings."""
        told = json.dumps(body["messages"]).encode()
        seen, beginning = 0, blake2b(digest_size=12)
        for end in range(STEP * CHARACTERS, len(told) + 1, STEP * CHARACTERS):
            beginning.update(told[end - STEP * CHARACTERS : end])
            if (key := beginning.digest()) in self.prefixes:
                seen = end // CHARACTERS
            self.prefixes.add(key)
        usage["prompt_tokens_details"] = {"cached_tokens": min(seen, usage["prompt_tokens"])}
        self.tokens += Counter(
            cached_tokens=min(seen, usage["prompt_tokens"]),
            prompt_tokens=usage["prompt_tokens"],
            completion_tokens=usage["completion_tokens"],
        )

    def stats(self) -> dict[str, Any]:
        """Return the counts: calls, what came of them, and how many answers were for a body answered before."""
        calls = sum(self.outcomes.values())
        answers = sum(self.answered.values())
        return {
            "calls": calls,
            "answered": answers,
            "distinct": len(self.answered),
            "repeated": answers - len(self.answered),
            "most_in_flight": self.most_in_flight,
            "in_flight": self.in_flight,
            **self.tokens,
            "seconds": self.last_at - self.first_at,
            "outcomes": dict(self.outcomes),
            "routes": dict(self.routes),
        }
