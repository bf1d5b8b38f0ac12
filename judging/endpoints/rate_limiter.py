"""The rate limiter of an endpoint: calls wait here for a free place, the limits per minute, and the circuit breaker."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from annotation.core.reasons import NO_REASON, Reason, reason
from judging.core.errors import CallFailed, RunStopped, TransientFailure
from judging.endpoints.adaptive_limits import AdaptiveConcurrency, CircuitBreaker, ProbePolicy, TokenBucket

Sleep = Callable[[float], Awaitable[None]]
MIN_THRESHOLD, MAX_THRESHOLD = 2, 10  # different failed calls in a row that open the breaker


class Clock:
    """A monotonic clock that counts sleeps in full, also where a test skips them."""

    def __init__(self, sleep: Sleep = asyncio.sleep) -> None:
        self._sleep = sleep
        self._skipped = 0.0

    def now(self) -> float:
        """Return a time in seconds."""
        return time.monotonic() + self._skipped

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        wake_at = self.now() + seconds
        await self._sleep(seconds)
        self._skipped += max(0.0, wake_at - self.now())


@dataclass(slots=True)
class Permit:
    """Permission for one call."""

    epoch: int
    probe: bool


class RateLimiter:
    """Admits calls in the order in which they arrive."""

    def __init__(self, maximum: int, *, clock: Clock | None = None, probe_policy: ProbePolicy | None = None) -> None:
        self.clock = clock or Clock()
        self.concurrency = AdaptiveConcurrency(maximum)
        self.requests = TokenBucket()
        self.tokens = TokenBucket()
        self.breaker = CircuitBreaker(max(MIN_THRESHOLD, min(maximum, MAX_THRESHOLD)), probe_policy)
        self.in_flight = 0
        self.waiting = 0
        self._held = False
        self._hold_until = 0.0
        self._turnstile = asyncio.Lock()
        self._changed = asyncio.Event()
        self._reason = NO_REASON

    @property
    def free_places(self) -> int:
        """The number of calls that could be admitted now."""
        return self.concurrency.allowed - self.in_flight - self.waiting

    def set_maximum(self, maximum: int) -> None:
        """Change how many calls may be in flight."""
        self.concurrency.set_maximum(maximum)
        self._changed.set()

    def hold(self, is_held: bool) -> None:
        """Admit no calls, or admit them again."""
        self._held = is_held
        self._changed.set()

    def set_limits(self, requests_per_minute: float | None, tokens_per_minute: float | None) -> None:
        """Change the limits per minute."""
        self.requests.set_limit(requests_per_minute)
        self.tokens.set_limit(tokens_per_minute)

    async def acquire(self, tokens: float = 0.0) -> Permit:
        """Wait until a call of about so many tokens may be sent.

        Raises: RunStopped when the breaker has given up.
        """
        self.waiting += 1
        try:
            async with self._turnstile:
                while True:
                    if self.breaker.has_given_up:
                        raise RunStopped(self._reason_given_up())
                    wait = self._wait(tokens)
                    if wait is None:
                        self._changed.clear()
                        await self._changed.wait()
                    elif wait > 0:
                        await self.clock.sleep(wait)
                    else:
                        break
                now = self.clock.now()
                self.requests.take(now)
                self.tokens.take(now, tokens)
                self.in_flight += 1
                return Permit(self.concurrency.epoch, self.breaker.record_call())
        finally:
            self.waiting -= 1

    def release(self, count: int = 1) -> None:
        """Release places."""
        self.in_flight -= count
        self._changed.set()

    def record_success(self, permit: Permit) -> None:
        """Record an answer. The call keeps its place until the answer is stored."""
        self.breaker.record_success()
        self.concurrency.record(permit.epoch, throttled=False)
        self._changed.set()

    def record_failure(self, permit: Permit, call: object, failure: CallFailed) -> None:
        """Record a failed call and release its place."""
        now = self.clock.now()
        if isinstance(failure, TransientFailure) and failure.charged is None:
            self._reason = failure.reason
            wait = failure.retry_after or 0.0
            self.breaker.record_failure(call, now, probe=permit.probe, at_least=wait)
            if self.concurrency.record(permit.epoch, throttled=failure.throttled) and wait:
                self._hold_until = max(self._hold_until, now + wait)
        else:
            self.breaker.record_success()  # a rejection is an answer too: the endpoint is up
        self.release()

    def record_cancelled(self, permit: Permit) -> None:
        """Record that a call was cancelled."""
        if permit.probe:
            self.breaker.probing = False
        self.release()

    def _wait(self, tokens: float) -> float | None:
        if self._held or self.in_flight >= self.concurrency.allowed:
            return None
        now = self.clock.now()
        wait = self.breaker.wait(now)
        if wait is None:
            return None
        return max(wait, self._hold_until - now, self.requests.wait(now), self.tokens.wait(now, tokens))

    def _reason_given_up(self) -> Reason:
        seconds = round(self.clock.now() - self.breaker.opened_at)
        probes = self.breaker.probe_policy.probes
        return reason("endpoint_down", seconds=seconds, probes=probes, error=self._reason)
