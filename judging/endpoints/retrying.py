"""Retries after transient failures: exponential back-off with jitter, and Retry-After."""

import asyncio
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judging.core.errors import CallFailed, TransientFailure
from judging.endpoints.chat_answers import ChatAnswer
from judging.endpoints.client import ChatClient
from judging.endpoints.rate_limiter import Clock, RateLimiter, Sleep


@dataclass(frozen=True)
class RetryPolicy:
    """How often to retry, and after which pauses in seconds."""

    attempts: int = 10
    first_pause: float = 1.0
    longest_pause: float = 30.0
    longest_retry_after: float = 600.0

    def pause(self, attempt: int, rng: random.Random) -> float:
        """Return the pause after a failed attempt (from 0): doubling, with jitter over its upper half."""
        ceiling = min(self.longest_pause, self.first_pause * 2.0**attempt)
        return ceiling * (0.5 + rng.random() / 2)


class RetryingClient:
    """A client that retries transient failures. While it waits, it holds no permit of the rate limiter.

    calls, errors : requests sent, and failures by kind
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
        self.rng = rng or random.Random()  # for jitter only: no result depends on it
        self.clock = Clock(sleep)
        self.calls = 0
        self.errors: Counter[str] = Counter()

    async def complete(
        self, body: Mapping[str, Any], *, limiter: RateLimiter | None = None, tokens: float = 0.0
    ) -> ChatAnswer:
        """Return the first answer; the caller has to release its place in the rate limiter once the answer is stored.

        Raises: CallFailed after the last attempt, or after one that was charged for; its place is then free again.
        """
        attempt = 0
        while True:
            try:
                return await self._once(body, limiter, tokens)
            except TransientFailure as failure:
                if failure.charged is not None:
                    raise  # the budget may not allow another call
                attempt += 1
                # While the breaker is open, the failure is not this request's fault.
                if attempt >= self.policy.attempts and not (limiter and limiter.breaker.is_open):
                    raise TransientFailure(f"{failure} (tried {attempt} times)", kind=failure.kind) from None
                await self._wait(failure, attempt - 1)

    async def _once(self, body: Mapping[str, Any], limiter: RateLimiter | None, tokens: float) -> ChatAnswer:
        permit = await limiter.acquire(tokens) if limiter else None
        self.calls += 1
        try:
            answer = await self.client.complete(body)
        except CallFailed as failure:
            self.errors[failure.kind] += 1
            if limiter and permit:
                limiter.record_failure(permit, id(body), failure)
            raise
        except BaseException:
            if limiter and permit:
                limiter.record_cancelled(permit)
            raise
        if limiter and permit:
            limiter.record_success(permit)
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
