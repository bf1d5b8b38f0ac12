"""Calling again when that may help: back-off with jitter, and the endpoint's own word on how long to wait."""

import asyncio
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judging.clients import Answer, ChatClient
from judging.errors import CallFailed, TransientFailure
from judging.services.gate import Clock, Gate, Sleep


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how patiently to ask again. Times are in seconds."""

    attempts: int = 10
    first_pause: float = 1.0
    longest_pause: float = 30.0
    longest_retry_after: float = 600.0

    def pause(self, attempt: int, rng: random.Random) -> float:
        """Return how long to wait after the given failed attempt (from 0): doubling, spread over its upper half."""
        ceiling = min(self.longest_pause, self.first_pause * 2**attempt)
        return ceiling * (0.5 + rng.random() / 2)


class RetryingClient:
    """A client that asks again after transient failures. While it waits for that, others may go through the gate.

    calls, errors : requests sent, and how many failed, by kind
    """

    def __init__(
        self,
        client: ChatClient,
        *,
        policy: RetryPolicy | None = None,
        rng: random.Random | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.client = client
        self.policy = policy or RetryPolicy()
        self.rng = rng or random.Random()  # spreads the load and nothing else: no result depends on it
        self.clock = Clock(sleep)
        self.calls = 0
        self.errors: Counter[str] = Counter()

    async def complete(self, body: Mapping[str, Any], *, gate: Gate | None = None, tokens: float = 0.0) -> Answer:
        """Return the first answer; after the last attempt the failure is the caller's.

        The place at the gate is then free again. With an answer it stays taken: give it back when that is stored.
        """
        attempt = 0
        while True:
            try:
                return await self._once(body, gate, tokens)
            except TransientFailure as failure:
                attempt += 1
                # While nothing gets through to the endpoint, that is no fault of this question's.
                if attempt >= self.policy.attempts and not (gate and gate.breaker.is_open):
                    raise TransientFailure(f"{failure} (tried {attempt} times)", kind=failure.kind) from None
                await self._wait(failure, attempt - 1)

    async def _once(self, body: Mapping[str, Any], gate: Gate | None, tokens: float) -> Answer:
        passed = await gate.enter(tokens) if gate else None
        self.calls += 1
        try:
            answer = await self.client.complete(body)
        except CallFailed as failure:
            self.errors[failure.kind] += 1
            if gate and passed:
                gate.failed(passed, id(body), failure)
            raise
        except BaseException:
            if gate and passed:
                gate.withdrawn(passed)
            raise
        if gate and passed:
            gate.succeeded(passed)
        return answer

    async def _wait(self, failure: TransientFailure, attempt: int) -> None:
        if failure.retry_after is None:
            await self.clock.sleep(self.policy.pause(attempt, self.rng))
            return
        if failure.retry_after > self.policy.longest_retry_after:
            wait = f"{failure} (the endpoint asks to wait {failure.retry_after:.0f} s)"
            raise TransientFailure(wait, kind=failure.kind)
        await self.clock.sleep(failure.retry_after + self.policy.first_pause * self.rng.random() / 4)

    async def close(self) -> None:
        """Close the client."""
        await self.client.close()
