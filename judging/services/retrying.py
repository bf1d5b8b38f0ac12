"""Calling again when that may help: back-off with jitter, and the endpoint's own word on how long to wait."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from judging.clients import Answer, ChatClient
from judging.errors import TransientFailure

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how patiently to ask again. Times are in seconds."""

    attempts: int = 6
    first_pause: float = 1.0
    longest_pause: float = 30.0
    longest_retry_after: float = 600.0

    def pause(self, attempt: int, rng: random.Random) -> float:
        """Return how long to wait after the given failed attempt (from 0): doubling, spread over its upper half."""
        ceiling = min(self.longest_pause, self.first_pause * 2**attempt)
        return ceiling * (0.5 + rng.random() / 2)


class RetryingClient:
    """A client that asks again after transient failures. While it waits, its caller's slot in flight stays taken."""

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
        self.sleep = sleep
        self.calls = 0

    async def complete(self, body: Mapping[str, Any]) -> Answer:
        """Return the first answer; after the last attempt the failure is the caller's."""
        attempt = 0
        while True:
            self.calls += 1
            try:
                return await self.client.complete(body)
            except TransientFailure as failure:
                attempt += 1
                if attempt >= self.policy.attempts:
                    raise TransientFailure(f"{failure} (tried {attempt} times)") from None
                await self._wait(failure, attempt - 1)

    async def _wait(self, failure: TransientFailure, attempt: int) -> None:
        if failure.retry_after is None:
            await self.sleep(self.policy.pause(attempt, self.rng))
            return
        if failure.retry_after > self.policy.longest_retry_after:
            raise TransientFailure(f"{failure} (the endpoint asks to wait {failure.retry_after:.0f} s)")
        await self.sleep(failure.retry_after + self.policy.first_pause * self.rng.random() / 4)

    async def close(self) -> None:
        """Close the client."""
        await self.client.close()
