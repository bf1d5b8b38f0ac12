"""The one way to an endpoint: calls wait here for a free place, for the limits of a minute, and for better times."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from judging.errors import CallFailed, RunStopped, TransientFailure
from judging.services.limits import Breaker, Bucket, Flow, Patience

Sleep = Callable[[float], Awaitable[None]]
FEWEST_FAILED, MOST_FAILED = 2, 10  # different calls in a row that have to fail for the breaker to open


class Clock:
    """Time as it is for those who wait: a sleep has lasted as long as it was to, also where a test skips it."""

    def __init__(self, sleep: Sleep = asyncio.sleep) -> None:
        self._sleep = sleep
        self._skipped = 0.0

    def now(self) -> float:
        """Return a time in seconds."""
        return time.monotonic() + self._skipped

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        due = self.now() + seconds
        await self._sleep(seconds)
        self._skipped += max(0.0, due - self.now())


@dataclass(slots=True)
class Pass:
    """A call's leave to be under way."""

    epoch: int
    probe: bool


class Gate:
    """Lets calls through, in the order in which they come."""

    def __init__(self, most: int, *, clock: Clock | None = None, patience: Patience | None = None) -> None:
        self.clock = clock or Clock()
        self.flow = Flow(most)
        self.requests = Bucket()
        self.tokens = Bucket()
        self.breaker = Breaker(max(FEWEST_FAILED, min(most, MOST_FAILED)), patience)
        self.inside = 0
        self.waiting = 0
        self._hold_until = 0.0
        self._door = asyncio.Lock()
        self._changed = asyncio.Event()
        self._reason = ""

    @property
    def room(self) -> int:
        """How many more calls would find a free place at once."""
        return self.flow.allowed - self.inside - self.waiting

    def set_most(self, most: int) -> None:
        """Change how many calls may be under way."""
        self.flow.set_most(most)
        self._changed.set()

    def set_limits(self, requests_per_minute: float | None, tokens_per_minute: float | None) -> None:
        """Change the limits of a minute."""
        self.requests.set_limit(requests_per_minute)
        self.tokens.set_limit(tokens_per_minute)

    async def enter(self, tokens: float = 0.0) -> Pass:
        """Wait until a call that takes about so many tokens may be sent.

        Raises: RunStopped when the endpoint is given up.
        """
        self.waiting += 1
        try:
            async with self._door:
                while True:
                    if self.breaker.given_up:
                        raise RunStopped(self._given_up())
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
                self.inside += 1
                return Pass(self.flow.epoch, self.breaker.sent())
        finally:
            self.waiting -= 1

    def leave(self, places: int = 1) -> None:
        """Give places back."""
        self.inside -= places
        self._changed.set()

    def succeeded(self, passed: Pass) -> None:
        """Note that a call got an answer. Its place stays taken until the answer is stored."""
        self.breaker.succeeded()
        self.flow.note(passed.epoch, throttled=False)
        self._changed.set()

    def failed(self, passed: Pass, call: object, failure: CallFailed) -> None:
        """Note that a call failed, and give its place back."""
        now = self.clock.now()
        if isinstance(failure, TransientFailure):
            self._reason = str(failure)
            wait = failure.retry_after or 0.0
            self.breaker.failed(call, now, probe=passed.probe, at_least=wait)
            if self.flow.note(passed.epoch, throttled=failure.throttled) and wait:
                self._hold_until = max(self._hold_until, now + wait)
        else:
            self.breaker.succeeded()  # it said no, but it is there
        self.leave()

    def withdrawn(self, passed: Pass) -> None:
        """Note that a call was given up half-way."""
        if passed.probe:
            self.breaker.probing = False
        self.leave()

    def _wait(self, tokens: float) -> float | None:
        if self.inside >= self.flow.allowed:
            return None
        now = self.clock.now()
        wait = self.breaker.wait(now)
        if wait is None:
            return None
        return max(wait, self._hold_until - now, self.requests.wait(now), self.tokens.wait(now, tokens))

    def _given_up(self) -> str:
        seconds = self.clock.now() - self.breaker.opened_at
        return (
            f"the endpoint has given no answer for {seconds:.0f} s, and {self.breaker.patience.probes} single tries "
            f"failed as well, the last one: {self._reason}"
        )
