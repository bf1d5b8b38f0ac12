"""The rate limiter of an endpoint: calls wait here for a free place, the limits per minute, and the circuit breaker."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from annotation.core.reasons import NO_REASON, reason
from judging.core.errors import CallFailed, RunStopped, TransientFailure

Sleep = Callable[[float], Awaitable[None]]
BURST_SECONDS = 0.25  # of the limit may be sent at once, to make up for timers that fire late
WINDOW = 20  # answers, at least, before the concurrency changes
THROTTLED_SHARE = 0.25  # of these may be "too many requests": some endpoints send it now and then at any rate
DECREASE = 0.6
INCREASE = 8  # by this fraction of the limit, and at least by one call
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


class TokenBucket:
    """A limit per minute, which only a single large request can exceed within 60 seconds. `None`: no limit."""

    def __init__(self, per_minute: float | None = None) -> None:
        self.per_minute: float | None = None
        self.level = 0.0
        self._at: float | None = None
        self.set_limit(per_minute)

    def set_limit(self, per_minute: float | None) -> None:
        """Change the limit. With its first limit a bucket starts full."""
        if per_minute is None:
            self.per_minute = None
            return
        fresh = self.per_minute is None
        self.per_minute = per_minute
        self.level = self.capacity if fresh else min(self.level, self.capacity)

    @property
    def capacity(self) -> float:
        """The largest burst."""
        return max(1.0, (self.per_minute or 0.0) * BURST_SECONDS // 60)

    @property
    def rate(self) -> float:
        """The refill per second, reduced by the burst so that a minute stays within the limit."""
        return ((self.per_minute or 0.0) - self.capacity + 0.999) / 60

    def wait(self, now: float, amount: float = 1.0) -> float:
        """Return the seconds until this amount may be sent."""
        if self.per_minute is None:
            return 0.0
        self._refill(now)
        missing = min(amount, self.capacity) - self.level
        return missing / self.rate if missing > 1e-9 else 0.0

    def take(self, now: float, amount: float = 1.0) -> None:
        """Take an amount that is sent. The level may become negative."""
        if self.per_minute is not None:
            self._refill(now)
            self.level -= amount

    def _refill(self, now: float) -> None:
        if self._at is not None:
            self.level = min(self.capacity, self.level + (now - self._at) * self.rate)
        self._at = now


class AdaptiveConcurrency:
    """The limit on concurrent calls: additive increase while calls succeed, multiplicative decrease when throttled."""

    def __init__(self, maximum: int) -> None:
        self.maximum = maximum
        self.limit = float(maximum)
        self.epoch = 0  # calls from before the last decrease tell nothing about the limit since
        self._answers = 0
        self._throttled = 0

    def set_maximum(self, maximum: int) -> None:
        """Change the bound. A limit that was at the bound follows it."""
        was_at_bound = self.limit >= self.maximum
        self.maximum = maximum
        self.limit = float(maximum) if was_at_bound else min(self.limit, float(maximum))

    @property
    def allowed(self) -> int:
        """Calls that may be in flight."""
        return min(self.maximum, max(1, int(self.limit)))

    def record(self, epoch: int, *, throttled: bool) -> bool:
        """Record how a call of an epoch ended and return whether that lowered the limit."""
        if epoch != self.epoch:
            return False
        self._answers += 1
        self._throttled += throttled
        window = max(WINDOW, self.allowed)
        if self._throttled > THROTTLED_SHARE * window:
            self.limit = max(1.0, self.limit * DECREASE)
            self.epoch += 1
            self._answers = self._throttled = 0
            return True
        if self._answers >= window:
            self.limit = min(float(self.maximum), self.limit + max(1.0, self.limit / INCREASE))
            self._answers = self._throttled = 0
        return False


@dataclass(frozen=True)
class ProbePolicy:
    """Times (in seconds) and number of a breaker's probes."""

    first_pause: float = 1.0
    longest_pause: float = 30.0
    probes: int = 8

    def pause(self, probe: int) -> float:
        """Return the pause before a probe (from 0)."""
        return min(self.longest_pause, self.first_pause * 2.0**probe)


class CircuitBreaker:
    """Opens when several different calls fail in a row, and then allows single probes until one is answered.

    Repeated failures of one call don't open it: they may be that request's fault.
    """

    def __init__(self, threshold: int, probe_policy: ProbePolicy | None = None) -> None:
        self.threshold = threshold
        self.probe_policy = probe_policy or ProbePolicy()
        self.is_open = False
        self.probing = False
        self.probes = 0
        self.until = 0.0
        self.opened_at = 0.0
        self._failed: set[object] = set()

    @property
    def has_given_up(self) -> bool:
        """Tell whether all probes failed."""
        return self.is_open and self.probes >= self.probe_policy.probes and not self.probing

    def wait(self, now: float) -> float | None:
        """Return the seconds until a call may be sent, or `None` while a probe is in flight."""
        if not self.is_open:
            return 0.0
        return None if self.probing else max(0.0, self.until - now)

    def record_call(self) -> bool:
        """Record that a call is sent and return whether it is a probe."""
        if self.is_open:
            self.probing = True
            self.probes += 1
        return self.is_open

    def record_success(self) -> None:
        """Record an answer and close the breaker."""
        self.is_open = self.probing = False
        self.probes = 0
        self._failed.clear()

    def record_failure(self, call: object, now: float, *, probe: bool, at_least: float = 0.0) -> None:
        """Record a failed call. `at_least` is how long the endpoint asks to wait."""
        if self.is_open:
            if probe:
                self.probing = False
                self.until = now + max(self.probe_policy.pause(self.probes), at_least)
            return
        self._failed.add(call)
        if len(self._failed) >= self.threshold:
            self.is_open, self.probing, self.probes = True, False, 0
            self.opened_at = now
            self.until = now + max(self.probe_policy.pause(0), at_least)


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
                        seconds = round(self.clock.now() - self.breaker.opened_at)
                        probes = self.breaker.probe_policy.probes
                        raise RunStopped(reason("endpoint_down", seconds=seconds, probes=probes, error=self._reason))
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
